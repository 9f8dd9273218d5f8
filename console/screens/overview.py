"""From the store to the line of totals of each cluster."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime

from adapters.model import Kind, Metrics, Node, Row
from adapters.text import clean
from console.samples import Samples
from console.store import Store
from widgets.overview import ClusterLine


class Overview:
    """Totals of each cluster, and the last hour of its running jobs."""

    def __init__(self, store: Store, clusters: Iterable[str]) -> None:
        self._store = store
        self._hours = {cluster: Samples() for cluster in clusters}
        self._changes = store.cursor("job")
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        for row in store.rows("job"):
            self._counts[row.cluster][_status(row)] += 1

    def lines(self, now: datetime) -> list[ClusterLine]:
        self._count()
        return [self._line(cluster, samples, now) for cluster, samples in self._hours.items()]

    def _line(self, cluster: str, samples: Samples, now: datetime) -> ClusterLine:
        jobs = self._jobs(cluster)
        if self._store.state(cluster, "job").loaded:
            samples.add(now, jobs["running"])
        nodes = [row for row in self._store.rows("node", [cluster]) if isinstance(row, Node)]
        away = sum(node.status in ("down", "drain") for node in nodes)
        shares = (
            ("slots", *_sum(nodes, "slots_used", "slots_total")),
            ("gpus", *_sum(nodes, "gpus_used", "gpu_count")),
        )

        def told(kind: Kind, count: int) -> int | None:
            """None is only said once everything was read."""
            return count if count or self._store.state(cluster, kind).loaded else None

        return ClusterLine(
            name=clean(cluster, 30),
            hour=samples.line(now),
            counts=(
                ("run", told("job", jobs["running"]), "ok"), ("pend", told("job", jobs["pending"]), "warn"),
                ("fail", told("job", jobs["failed"]), "bad"), ("nodes", told("node", len(nodes)), "info"),
                ("away", told("node", away), "bad"),
            ),
            shares=tuple(share for share in shares if share[2]),
        )  # fmt: skip

    def _jobs(self, cluster: str) -> Counter[str]:
        """Jobs by status: the backend's own totals, else those that are counted here."""
        metrics = next((row for row in self._store.rows("metrics", [cluster]) if isinstance(row, Metrics)), None)
        if metrics is not None and metrics.jobs:
            return Counter(dict(metrics.jobs))
        return self._counts[cluster]

    def _count(self) -> None:
        """Take over what has changed: at 100,000 jobs counting all of them would cost 40 ms each time."""
        changes = self._changes.take()
        for ref in changes.gone:
            self._counts[ref.cluster][_status(changes.before[ref])] -= 1
        for ref in changes.changed:
            row, old = self._store.row(ref), changes.before.get(ref)
            if row is None or (old is None and ref not in changes.added):
                continue  # only its mark has changed
            if old is not None:
                self._counts[ref.cluster][_status(old)] -= 1
            self._counts[ref.cluster][_status(row)] += 1


def _status(row: Row) -> str:
    return str(getattr(row, "status", ""))


def _sum(nodes: Iterable[Node], used: str, total: str) -> tuple[int | None, int | None]:
    """Both sums over the nodes that tell both; None where none does."""
    known = [(getattr(n, used), getattr(n, total)) for n in nodes]
    told = [(u, t) for u, t in known if u is not None and t is not None]
    return (sum(u for u, _ in told), sum(t for _, t in told)) if told else (None, None)
