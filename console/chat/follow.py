"""Wishes to hear of a job: what is watched, on whose line of work, and what a watch has seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from adapters.text import clean
from console.gate import Proposal

Until: TypeAlias = Literal["started", "finished"]


@dataclass(frozen=True, slots=True)
class Follow:
    """A wish to hear when a job has started or ended, without asking again and again.

    Args:
        only_failed: of its end only where it failed.
        arguments: of the call that submits the job, where this chat does: what a fix begins with.
        proposal: the submission that still waits in the inbox; `id` is then known once it is sent.
    """

    cluster: str
    id: str
    until: Until = "finished"
    only_failed: bool = False
    arguments: Mapping[str, Any] | None = None
    proposal: Proposal | None = None


@dataclass(slots=True)
class Work:
    """A line of work: a job, and those that were submitted because one of it failed.

    Args:
        failures: how many of its jobs have failed. After the second nothing more is proposed.
        arguments: of the call that submitted the job, where this chat did.
    """

    id: str = field(default_factory=lambda: uuid4().hex[:12])
    failures: int = 0
    arguments: dict[str, Any] | None = None


@dataclass(slots=True, eq=False)
class Watch:
    """One job, and what is waited for.

    `born` tells it from a later job of the same id, once it was seen. Some schedulers renew it when they requeue a job:
    one of the same `name` and `owner` is still the same.
    """

    cluster: str
    id: str
    until: Until = "finished"
    only_failed: bool = False
    born: str | None = None
    name: str | None = None
    owner: str | None = None
    work: Work = field(default_factory=Work)

    def words(self) -> str:
        """``job 12 of demo, until it ends``."""
        what = "until it starts" if self.until == "started" else "until it ends"
        return f"job {clean(self.id, 80)} of {clean(self.cluster, 64)}, {what}"

    def record(self) -> dict[str, Any]:
        work = {"id": self.work.id, "failures": self.work.failures, "arguments": self.work.arguments}
        return {
            "cluster": self.cluster, "id": self.id, "until": self.until, "only_failed": self.only_failed,
            "born": self.born, "name": self.name, "owner": self.owner, "work": work,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fired:
    """What a watch has seen. `status` is of the model, or ``gone`` where the scheduler knows the job no more."""

    watch: Watch
    status: str
    exit_code: int | None = None

    @property
    def failed(self) -> bool:
        return self.status == "failed"

    def words(self) -> str:
        """``job 12 of demo failed, exit 1``: our own words and figures only."""
        job = f"job {clean(self.watch.id, 80)} of {clean(self.watch.cluster, 64)}"
        what = {"gone": "is not known any more", "running": "has started"}.get(self.status, self.status)
        exit_code = f", exit {self.exit_code}" if self.exit_code is not None and self.status == "failed" else ""
        return f"{job} {what}{exit_code}"


def watch_of(wanted: Follow, work: Work | None = None) -> Watch:
    """The watch that a wish means."""
    made = work or Work()
    if wanted.arguments is not None:
        made.arguments = dict(wanted.arguments)
    return Watch(wanted.cluster, wanted.id, wanted.until, wanted.only_failed, work=made)


def restored(record: Mapping[str, Any]) -> Watch | None:
    """A watch from a file, or None for what is none."""
    work, until = record.get("work"), record.get("until")
    cluster, id, born = record.get("cluster"), record.get("id"), record.get("born")
    if not (isinstance(cluster, str) and isinstance(id, str) and isinstance(work, Mapping)):
        return None
    if not isinstance(born, str | None) or until not in ("started", "finished"):
        return None
    name, owner = (value if isinstance(value := record.get(key), str) else None for key in ("name", "owner"))
    failures, arguments = work.get("failures"), work.get("arguments")
    line = Work(
        str(work.get("id", ""))[:32], failures if isinstance(failures, int) else 0,
        dict(arguments) if isinstance(arguments, Mapping) else None,
    )  # fmt: skip
    return Watch(cluster, id, until, record.get("only_failed") is True, born, name, owner, line)
