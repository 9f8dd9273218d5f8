"""The watch without a cluster: calls a minute at 10,000 jobs, the cheap tick, own jobs, arrays that are opened."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from adapters.base import Delta, Interest, InterestCell, SourceState
from adapters.model import Job, Queue, Ref
from adapters.polling import CallMeter, Poller
from adapters.slurm.calls import SlurmCalls
from adapters.slurm.facts import Facts, Version
from adapters.slurm.jobs import JOB_FIELDS
from adapters.slurm.nodes import NODE_FIELDS
from adapters.slurm.options import SlurmOptions
from adapters.slurm.watch import CommandSource, Feed, sources
from tests.slurm.support import job

NEW, OLD = Version(24, 11, 5), Version(22, 5, 8)


class Cluster:
    """A stand-in for the commands: jobs and nodes in memory, a clock that moves by what each call costs."""

    def __init__(self, jobs: int, *, cost: float = 0.2) -> None:
        self.time = 0.0
        self.cost = cost
        self.calls: list[tuple[float, tuple[str, ...]]] = []
        self.states = {str(n): "PENDING" for n in range(1, jobs + 1)}
        self._shown: dict[str, str] = {}
        self._records: list[bytes] = []

    def record(self, id: str) -> bytes:
        known = {"JobID": id, "JobArrayID": id, "ArrayJobID": id, "UserName": f"u{int(id) % 50}", "Name": f"job-{id}",
                 "State": self.states[id], "Partition": "batch", "NumNodes": "1", "NumCPUs": "1", "TimeLimit": "60:00",
                 "tres-alloc": "cpu=1,mem=500M,node=1,billing=1", "SubmitTime": "1796006590"}  # fmt: skip
        return "\0".join(known.get(name, "N/A") for name in JOB_FIELDS).encode()

    def records(self) -> list[bytes]:
        if self._shown != self.states:
            self._shown, self._records = dict(self.states), [self.record(id) for id in self.states]
        return self._records

    def node(self, name: str) -> bytes:
        known = {"NodeList": name, "PartitionName": "batch", "Partition": "batch*", "Available": "up", "Time": "60:00",
                 "StateComplete": "mixed", "CPUsState": "4/4/0/8", "Memory": "1000", "Threads": "1"}  # fmt: skip
        return "\0".join(known.get(name, "N/A") for name in NODE_FIELDS).encode()


class FakeCalls(SlurmCalls):
    """Answers from a `Cluster`; counts and times each call."""

    def __init__(self, cluster: Cluster, meter: CallMeter) -> None:
        super().__init__(SlurmOptions("rig"), meter)
        self.cluster = cluster

    def _note(self, program: str, arguments: Sequence[str], cost: float, counted: bool) -> None:
        if not counted:
            self.meter.record()
        self.cluster.calls.append((self.cluster.time, (program, *arguments)))
        self.cluster.time += cost

    async def table(self, program: str, fields: Sequence[str], *arguments: str, counted: bool = False) -> list[bytes]:
        self._note(program, arguments, self.cluster.cost if program == "squeue" else 0.02, counted)
        if program == "sinfo":
            return [self.cluster.node(f"n{n}") for n in range(4)]
        if "-r" in arguments:
            return [self.cluster.record("1").replace(b"1\x001\x00", b"90\x00%d_7\x00" % 29, 1)]
        return self.cluster.records()

    async def read(self, program: str, *arguments: str, counted: bool = False) -> bytes:
        self._note(program, arguments, 0.02, counted)
        if "--only-job-state" not in arguments:
            return b"No reservations in the system\n"
        field, _, record = arguments[-1].partition(",")
        separator, end = field.partition(":")[2], record.partition(":")[2]
        return "".join(f"{id}{separator}{state}{end}\n" for id, state in self.cluster.states.items()).encode()


def feed(cluster: Cluster, version: Version = OLD, limit: float | None = None) -> tuple[Feed, FakeCalls]:
    calls = FakeCalls(cluster, CallMeter(limit=limit, clock=lambda: cluster.time))
    facts = Facts(calls)
    facts._version = version
    return Feed(CommandSource(calls, facts), clock=lambda: cluster.time), calls


async def run(cluster: Cluster, minutes: float, interest: Interest, version: Version) -> list[Any]:
    """What a watch yields in so many minutes of the cluster's own clock."""
    watched, calls = feed(cluster, version, limit=6)
    cell = InterestCell(interest)

    async def sleep(seconds: float) -> None:
        cluster.time += seconds
        await asyncio.sleep(0)

    poller = Poller(sources(watched), meter=calls.meter, clock=lambda: cluster.time, sleep=sleep)
    found: list[Any] = []
    async for item in poller.run(cell):
        found.append(item)
        if cluster.time > minutes * 60:
            return found
    raise AssertionError("the watch ended")


@pytest.mark.parametrize("owner", ["all", "mine"])
@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("cost", [0.2, 2.0])
async def test_at_most_six_calls_in_any_minute_at_10000_jobs(owner: Any, version: Version, cost: float) -> None:
    cluster = Cluster(10_000, cost=cost)
    found = await run(cluster, 6, Interest(owner=owner), version)
    times = [time for time, _ in cluster.calls]
    assert len(times) > 18
    for start in times:
        assert sum(start <= time < start + 59.9 for time in times) <= 6
    rates = [item.calls_per_minute for item in found if isinstance(item, SourceState)]
    assert max(rates) <= 6 and rates[-1] > 0
    first = next(item for item in found if isinstance(item, Delta) and any(isinstance(r, Job) for r in item.upserts))
    assert sum(isinstance(row, Job) for row in first.upserts) == 10_000


async def test_a_dear_list_is_asked_for_seldom(version: Version = OLD) -> None:
    cluster = Cluster(100, cost=5.0)
    await run(cluster, 10, Interest(), version)
    lists = [time for time, argv in cluster.calls if argv[0] == "squeue"]
    assert all(later - earlier >= 100 for earlier, later in pairwise(lists))


async def test_the_tick_stands_in_for_a_dear_list_and_carries_states() -> None:
    cluster = Cluster(100, cost=2.0)
    watched, _ = feed(cluster, NEW)
    first = await watched.jobs(Interest())
    cluster.time += 15
    cluster.states["7"] = "RUNNING"
    del cluster.states["8"]
    second = await watched.jobs(Interest())
    assert "--only-job-state" in cluster.calls[-1][1] and "-a" not in cluster.calls[-1][1]
    jobs = {row.id: row for row in second.rows if isinstance(row, Job)}
    assert jobs["7"].status == "running" and "8" not in jobs
    assert jobs["9"] is next(row for row in first.rows if row.id == "9"), "what has not changed is the same row"
    queue = next(row for row in second.rows if isinstance(row, Queue))
    assert (queue.running_jobs, queue.pending_jobs) == (1, 98)


async def test_new_jobs_bring_a_full_list_as_soon_as_its_cost_allows() -> None:
    cluster = Cluster(10, cost=2.0)
    watched, _ = feed(cluster, NEW)
    await watched.jobs(Interest())
    cluster.states["11"] = "PENDING"
    for wait, full in ((15, False), (30, True)):
        cluster.time += wait
        fetched = await watched.jobs(Interest())
        assert ("11" in {row.id for row in fetched.rows}) == full


async def test_without_news_a_full_list_comes_every_two_minutes() -> None:
    cluster = Cluster(10, cost=2.0)
    watched, _ = feed(cluster, NEW)
    await watched.jobs(Interest())
    cluster.time += 121
    await watched.jobs(Interest())
    assert "--only-job-state" not in cluster.calls[-1][1]


async def test_cheap_lists_and_old_releases_need_no_tick() -> None:
    for version, cost in ((NEW, 0.1), (OLD, 5.0)):
        cluster = Cluster(10, cost=cost)
        watched, _ = feed(cluster, version)
        for _ in range(3):
            await watched.jobs(Interest())
            cluster.time += 15
        assert not [argv for _, argv in cluster.calls if "--only-job-state" in argv]


async def test_own_jobs_say_that_the_counts_are_not_known() -> None:
    cluster = Cluster(3)
    watched, _ = feed(cluster)
    fetched = await watched.jobs(Interest(owner="mine"))
    assert "--me" in cluster.calls[-1][1] and "need everybody's" in fetched.note
    queue = next(row for row in fetched.rows if isinstance(row, Queue))
    assert queue.running_jobs is queue.pending_jobs is None


async def test_a_folded_array_is_opened_on_demand() -> None:
    cluster = Cluster(3)
    watched, _ = feed(cluster)
    plain = await watched.jobs(Interest())
    opened = await watched.jobs(Interest(detail=(job("29_[3-49%3]"), Ref("rig", "node", "n1"))))
    assert cluster.calls[-1][1] == ("squeue", "-a", "-t", "all", "-r", "-j", "29")
    assert {row.id for row in opened.rows} - {row.id for row in plain.rows} == {"29_7"}


async def test_rows_that_have_not_changed_stay_the_same_objects() -> None:
    cluster = Cluster(50)
    watched, _ = feed(cluster)
    before = {row.id: row for row in (await watched.jobs(Interest())).rows if isinstance(row, Job)}
    cluster.states["5"] = "RUNNING"
    after = {row.id: row for row in (await watched.jobs(Interest())).rows if isinstance(row, Job)}
    assert [id for id in after if after[id] is not before[id]] == ["5"]
