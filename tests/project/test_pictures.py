"""The pictures of the README come from the running application."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from screenshots.make import PICTURES, make
from tests.project.tree import ROOT

SHOWN = {
    "main": ("Jobs", "Queues", "Nodes", "running", "node-3"),
    "node": ("Node node-3", "4/4/16", "New quota"),
    "confirm": ("POST /api/admin/nodes/node-3/quota", '{"admin_max_slots":2}', "If-Match: 3", "Cancel"),
    "job": ("Job 4107", "failed", "137", "Out of memory"),
    "map": ("Nodes by queue", "batch", "gpu", "short", "slots"),
    "chat": ("why is job 4104 pending", "Scope", "scheduler_set_node_quota", "1 to answer", "Jobs"),
    "inbox": ("Proposed, not sent", "Turn 2 of the chat", "4 -> 2", "admin_max_slots", "approve", "deny"),
}


def text_of(svg: str) -> str:
    """The text of a picture, entities and hard blanks resolved."""
    from html import unescape

    return unescape("".join(re.findall(r"<text [^>]*>([^<]*)</text>", svg))).replace("\xa0", " ")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    make(folder)
    return folder


@pytest.mark.parametrize("name", PICTURES)
def test_each_picture_can_be_made_and_shows_what_it_is_for(name: str, made: Path) -> None:
    text = text_of((made / f"{name}.svg").read_text())
    for part in SHOWN[name]:
        assert part in text


@pytest.mark.parametrize("name", PICTURES)
def test_each_picture_is_in_the_readme(name: str) -> None:
    assert f"(screenshots/{name}.svg)" in (ROOT / "README.md").read_text()
    assert (ROOT / "screenshots" / f"{name}.svg").stat().st_size > 10_000
