"""More than 200 sentences, English and Chinese, each with the one thing it means; negatives included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from console.chat.grammar import understand
from console.chat.said import Ask, NotUnderstood, Said
from console.tools import TOOLS, tool

GROUPS: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "sentences.yaml").read_text())
SENTENCES = [(sentence, group) for group in GROUPS for sentence in group["say"].splitlines()]


def test_there_are_enough_and_enough_of_each() -> None:
    assert len(SENTENCES) >= 200 and len({sentence for sentence, _ in SENTENCES}) == len(SENTENCES)
    assert sum(not sentence.isascii() for sentence, _ in SENTENCES) >= 60
    assert sum("tool" not in group for _, group in SENTENCES) >= 50
    named = {group["tool"] for group in GROUPS if "tool" in group}
    assert {name for name, one in TOOLS.items() if one.kind == "write"} <= named


@pytest.mark.parametrize(("sentence", "group"), SENTENCES, ids=[repr(sentence) for sentence, _ in SENTENCES])
def test_a_sentence(sentence: str, group: dict[str, Any]) -> None:
    meant = understand(sentence)
    if "ask" in group:
        assert isinstance(meant, Ask) and group["ask"] in meant.question
    elif group.get("unknown"):
        assert isinstance(meant, NotUnderstood | Ask)
        assert not isinstance(meant, Said)
    else:
        assert meant == Said(group["tool"], group.get("args", {}), group.get("select"))
        if meant.select is None:
            tool(group["tool"]).parse(dict(meant.args))


@pytest.mark.parametrize("sentence", ["", " ", "\n", "\x1b[2J", "a" * 5000, "取" * 5000])
def test_nothing_is_nothing(sentence: str) -> None:
    assert isinstance(understand(sentence), NotUnderstood)
