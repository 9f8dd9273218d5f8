"""The recordings of a real API server in tests/data/k8s, and a double's world made of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.doubles.kube_api.server import KubeDouble

FOLDER = Path(__file__).parents[2] / "data" / "k8s"
WORLD = (
    ("namespaces", "list-namespaces"),
    ("nodes", "list-nodes"),
    ("resourcequotas", "list-resourcequotas-all"),
    ("limitranges", "list-limitranges-team-a"),
    ("priorityclasses", "list-priorityclasses"),
    ("jobs", "list-jobs-team-a"),
    ("jobs", "list-jobs-team-b-with-deleting"),
    ("cronjobs", "list-cronjobs-team-a"),
    ("pods", "list-pods-team-a"),
    ("events", "list-events-reason-failedcreate"),
    ("clusterqueues", "crd-kueue-clusterqueues"),
    ("localqueues", "crd-kueue-localqueues"),
    ("workloads", "crd-kueue-workloads"),
    ("queues", "crd-volcano-queues"),
)


@cache
def _read(name: str) -> str:
    return (FOLDER / f"{name}.json").read_text()


def recording(name: str) -> dict[str, Any]:
    """One recorded exchange: request, status, headers, body; a copy of its own."""
    loaded: dict[str, Any] = json.loads(_read(name))
    return loaded


def body(name: str) -> Any:
    return recording(name)["body"]


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def watch_lines(name: str) -> list[bytes]:
    """The raw lines of a recorded watch, without the line about how it was recorded."""
    return [line for line in (FOLDER / f"{name}.jsonl").read_bytes().split(b"\n")[1:] if line]


def fill(double: KubeDouble, *, keep_version: bool = False) -> None:
    """Put the recorded cluster into a double, as far as its kinds are served."""
    served = {kind.plural for kind in double.kinds}
    for plural, name in WORLD:
        if plural in served:
            for item in body(name)["items"]:
                double.put(plural, item, keep_version=keep_version)


def answer_bytes(name: str) -> bytes:
    """The body of a recorded answer as it went over the wire."""
    found = body(name)
    return found.encode() if isinstance(found, str) else json.dumps(found).encode()
