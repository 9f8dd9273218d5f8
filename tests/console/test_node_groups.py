"""Which node stands in which group of the map, and as what."""

from __future__ import annotations

import pytest

from adapters.model import Delta, Node, Queue, Row
from console.node_groups import cell_of, groups, used_share
from console.store import Store


def _store(*rows: Row, cluster: str = "a") -> Store:
    store = Store()
    store.apply(cluster, Delta(tuple(row._replace(cluster=cluster) for row in rows)))
    return store


def _shown(store: Store, *clusters: str) -> dict[str, list[str]]:
    return {group.title: [cell.ref.id for cell in group.cells] for group in groups(store, clusters or ("a",))}


def test_a_queue_names_its_hosts_and_a_node_may_serve_several() -> None:
    store = _store(
        Queue("short", "active", running_jobs=3, extensions={"hosts": ("n2", "n10")}),
        Queue("long", "draining", pending_jobs=4, extensions={"hosts": ("n2",)}),
        Queue("empty", "active"),
        Node("n10", "busy", slots_used=2, slots_total=8), Node("n2", "idle", slots_used=0, slots_total=8),
        Node("spare", "down"),
    )  # fmt: skip
    assert _shown(store) == {"long": ["n2"], "short": ["n2", "n10"], "in no queue": ["spare"]}
    facts = {group.title: group.facts for group in groups(store, ["a"])}
    assert facts["short"] == "2 nodes, 1 idle, 1 busy, slots 2/16, 3 running"
    assert facts["long"] == "1 nodes, 1 idle, slots 0/8, 4 pending, draining"
    assert facts["in no queue"] == "1 nodes, 1 down"


def test_a_node_names_its_partitions() -> None:
    store = _store(Queue("gpu", "active"), Node("g1", "idle", extensions={"partitions": ("gpu", "gone")}))
    assert _shown(store) == {"gpu": ["g1"]}


def test_every_host_of_lsf_and_a_backend_that_tells_nothing() -> None:
    assert _shown(_store(Queue("normal", extensions={"hosts": ("all",)}), Node("h1"))) == {"normal": ["h1"]}
    assert _shown(_store(Queue("batch", "active"), Node("h1"))) == {"all nodes": ["h1"]}


def test_two_clusters_are_told_apart() -> None:
    store = _store(Node("n1"))
    store.apply("b", Delta((Node("n1", cluster="b"),)))
    assert _shown(store, "a", "b") == {"a/all nodes": ["n1"], "b/all nodes": ["n1"]}


@pytest.mark.parametrize(
    ("node", "share", "sign"),
    [
        (Node("n", "idle", slots_used=0, slots_total=8), 0.0, "·"),
        (Node("n", "busy", slots_used=1, slots_total=8), 0.125, "▁"),
        (Node("n", "busy", slots_used=4, slots_total=8), 0.5, "▄"),
        (Node("n", "busy", slots_used=8, slots_total=8), 1.0, "█"),
        (Node("n", "busy", slots_used=9, slots_total=8), 1.0, "█"),
        (Node("n", "busy", slots_used=4, slots_total=16, slots_quota=4), 1.0, "█"),
        (Node("n", "busy", slots_used=0, slots_total=16, slots_quota=0, cores_used=2, cores_total=4), 0.5, "▄"),
        (Node("n", "busy", cores_used=3, cores_total=4), 0.75, "▆"),
        (Node("n", "busy"), None, "b"),
        (Node("n", "drain", slots_used=4, slots_total=8), 0.5, "D"),
        (Node("n", "down"), None, "X"),
        (Node("n", "unknown"), None, "?"),
    ],
)  # fmt: skip
def test_share_and_sign(node: Node, share: float | None, sign: str) -> None:
    assert used_share(node) == share
    assert cell_of(node).sign == sign
