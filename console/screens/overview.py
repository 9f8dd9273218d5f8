"""From the store to the line of totals of each cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from adapters.model import Metrics, Node
from adapters.text import clean
from console.samples import Samples
from console.store import Store
from widgets.overview import ClusterLine


class Overview:
    """Totals of each cluster, and the last hour of its running jobs."""

    def __init__(self, store: Store, clusters: Iterable[str]) -> None:
        self._store = store
        self._hours = {cluster: Samples() for cluster in clusters}
        self._counted: dict[str, tuple[tuple[int, int], Counter[str]]] = {}

    def lines(self, now: datetime) -> list[ClusterLine]:
        return [self._line(cluster, samples, now) for cluster, samples in self._hours.items()]

    def _line(self, cluster: str, samples: Samples, now: datetime) -> ClusterLine:
        jobs = self._jobs(cluster, now)
        if self._store.state(cluster, "job").loaded:
            samples.add(now, jobs["running"])
        nodes = [row for row in self._store.rows("node", [cluster]) if isinstance(row, Node)]
        away = sum(node.status in ("down", "drain") for node in nodes)
        shares = (
            ("slots", *_sum(nodes, "slots_used", "slots_total")),
            ("gpus", *_sum(nodes, "gpus_used", "gpu_count")),
        )
        return ClusterLine(
            name=clean(cluster, 30),
            hour=samples.line(now),
            counts=(
                ("run", jobs["running"], "ok"), ("pend", jobs["pending"], "warn"), ("fail", jobs["failed"], "bad"),
                ("nodes", len(nodes), "info"), ("away", away, "bad"),
            ),
            shares=tuple(share for share in shares if share[2]),
        )  # fmt: skip

    def _jobs(self, cluster: str, now: datetime) -> Counter[str]:
        """Jobs by status: the backend's own totals, else counted here, once a second and when jobs come or go."""
        metrics = next((row for row in self._store.rows("metrics", [cluster]) if isinstance(row, Metrics)), None)
        if metrics is not None and metrics.jobs:
            return Counter(dict(metrics.jobs))
        moment = (int(now.timestamp()), self._store.count("job", [cluster]))
        at, counts = self._counted.get(cluster, ((-1, -1), Counter[str]()))
        if at != moment:
            counts = Counter(str(getattr(row, "status", "")) for row in self._store.rows("job", [cluster]))
            self._counted[cluster] = (moment, counts)
        return counts


def _sum(nodes: Iterable[Node], used: str, total: str) -> tuple[int | None, int | None]:
    """Both sums over the nodes that tell both; None where none does."""
    known = [(getattr(n, used), getattr(n, total)) for n in nodes]
    told = [(u, t) for u, t in known if u is not None and t is not None]
    return (sum(u for u, _ in told), sum(t for _, t in told)) if told else (None, None)
