"""The watch: its pace on a clock that the tests hold, silence of mbatchd, and looking again after a write."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Delta, Interest, InterestCell, SourceState, Unavailable, WatchItem
from adapters.command import Finished
from adapters.intents import CancelJob, DrainNode
from adapters.lsf import session as session_module
from adapters.lsf.facts import Facts
from adapters.lsf.options import Options
from adapters.lsf.session import Session
from adapters.lsf.watch import LsfWatch
from adapters.model import Job, Metrics, Node
from tests.adapters.test_polling import Time, take
from tests.lsf.data import text
from tests.lsf.support import add, lsf, opened, ref

EPOCH = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
SILENT = "batch system daemon not responding ... still trying"


class Recorded:
    """Answers each query from recordings and notes when it was asked, on a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.time = Time()
        self.start = self.time.now
        self.calls: list[tuple[float, list[str]]] = []
        self.dead: set[str] = set()
        self.limited = False
        monkeypatch.setattr(session_module, "run_read", self.run)
        self.session = Session(
            "lsf",
            Options(user="ana", environment={"PATH": "/nowhere"}, **options),
            clock=self.time,
            sleep=self.time.sleep,
            now=lambda: EPOCH + timedelta(seconds=self.time.now - self.start),
        )

    async def run(self, argv: Sequence[str], environment: object, *, timeout: float) -> Finished:
        self.calls.append((self.time.now - self.start, list(argv)))
        if argv[0] in self.dead:
            self.time.now += timeout
            raise Unavailable(f"{argv[0]} did not answer within {timeout:g} s.")
        if self.limited and argv[0].startswith("b"):
            return Finished(tuple(argv), 255, b"", b"Batch system concurrent query limit exceeded\n", 0.1)
        return Finished(tuple(argv), 0, self.answer(list(argv)).encode("utf-8", "surrogateescape"), b"", 0.1)

    def answer(self, argv: list[str]) -> str:
        if argv[:2] == ["bqueues", "-l"]:
            return text("volclava/bqueues_l.out")
        if argv[0] == "lshosts":
            return text("volclava/lshosts_w.out")
        if argv[0] == "bjobs":
            records = json.loads(text("volclava/bjobs_o_json.out"))["RECORDS"]
            mine = [record for record in records if record["USER"] == "ana"]
            return json.dumps({"COMMAND": "bjobs", "JOBS": 1, "RECORDS": mine if "ana" in argv else records})
        columns = [name.lower() for name in argv[2].split()]
        rows = {"bqueues": ["normal", "Open:Active"], "bhosts": ["node01", "ok"], "lsload": ["node01", "ok"]}[argv[0]]
        cells = rows + ["1"] * (len(columns) - 2)
        return json.dumps(
            {"COMMAND": argv[0], "N": 1, "RECORDS": [dict(zip(map(str.upper, columns), cells, strict=True))]}
        )

    def watch(self, interest: Interest | None = None) -> AsyncIterator[WatchItem]:
        return LsfWatch(self.session, Facts(self.session)).run(InterestCell(interest))

    async def until(self, seconds: float, items: AsyncIterator[WatchItem]) -> list[WatchItem]:
        """Everything the watch yields until so much time has passed."""
        seen: list[WatchItem] = []
        while self.time.now - self.start < seconds:
            seen += await take(items, self.time, 1)
        return seen

    def asked(self, matches: Callable[[list[str]], bool]) -> list[float]:
        return [at for at, argv in self.calls if matches(argv)]


def busiest_minute(calls: Sequence[tuple[float, list[str]]]) -> int:
    return max(sum(start <= at < start + 60 for at, _ in calls) for start, _ in calls)


async def test_the_pace_of_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    lsf = Recorded(monkeypatch)
    async with aclosing(lsf.watch()) as items:
        await lsf.until(1200, items)
    own = lsf.asked(lambda argv: argv[0] == "bjobs" and "ana" in argv)
    everybody = lsf.asked(lambda argv: argv[0] == "bjobs" and "all" in argv)
    assert busiest_minute(lsf.calls) <= 6
    assert 35 <= len(own) <= 41 and 17 <= len(everybody) <= 21
    assert all(b - a >= 29 for a, b in itertools.pairwise(own))
    assert all(b - a >= 59 for a, b in itertools.pairwise(everybody))
    for program in ("bqueues", "bhosts", "lsload"):
        found = lsf.asked(lambda argv, name=program: argv[0] == name and "-o" in argv)  # type: ignore[misc]
        assert 16 <= len(found) <= 21, program
        assert all(b - a >= 59 for a, b in itertools.pairwise(found)), program
    once = [lsf.asked(lambda argv: argv[0] == "lshosts"), lsf.asked(lambda argv: argv[:2] == ["bqueues", "-l"])]
    assert [len(times) for times in once] == [1, 1]
    assert not [argv for _, argv in lsf.calls if "-a" in argv and "all" in argv]


async def test_the_pace_of_own_jobs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    lsf = Recorded(monkeypatch)
    interest = Interest(kinds=frozenset({"job"}), owner="mine")
    async with aclosing(lsf.watch(interest)) as items:
        seen = await lsf.until(300, items)
    assert [at for at, _ in lsf.calls] == [30.0 * n for n in range(len(lsf.calls))]
    jobs = {row.id for item in seen if isinstance(item, Delta) for row in item.upserts if isinstance(row, Job)}
    assert jobs and all("all" not in argv for _, argv in lsf.calls)


async def test_the_first_minute_brings_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    lsf = Recorded(monkeypatch)
    async with aclosing(lsf.watch()) as items:
        seen = await lsf.until(61, items)
    loaded = set().union(*(item.reset for item in seen if isinstance(item, Delta)))
    assert loaded == {"job", "queue", "node", "metrics"}
    assert lsf.calls[4][0] == 0.0, "jobs, queues, hosts and load come at once"
    rows = [row for item in seen if isinstance(item, Delta) for row in item.upserts]
    totals = next(row for row in rows if isinstance(row, Metrics))
    assert totals.jobs["pending"] > 0 and totals.slots_used == 1
    states = [item for item in seen if isinstance(item, SourceState) and item.label == "polling"]
    assert {state.interval for state in states if state.kinds == {"job"}} == {30.0}
    assert all(state.calls_per_minute is not None and state.calls_per_minute <= 6 for state in states)


async def test_while_mbatchd_is_silent_the_load_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    lsf = Recorded(monkeypatch)
    async with aclosing(lsf.watch()) as items:
        await lsf.until(65, items)
        lsf.dead = {"bjobs", "bqueues", "bhosts"}
        before = len(lsf.calls)
        seen = await lsf.until(900, items)
    loads = [at for at, argv in lsf.calls[before:] if argv[0] == "lsload"]
    assert len(loads) >= 10, "LIM is asked on"
    dead = [at for at, argv in lsf.calls[before:] if argv[0] in lsf.dead]
    assert len(dead) <= 8, "mbatchd is asked less and less"
    states = [item for item in seen if isinstance(item, SourceState)]
    nodes = [state for state in states if "node" in state.kinds]
    assert nodes[-1].label == "polling" and "states and slots are of the last answer" in nodes[-1].note
    jobs = [state for state in states if "job" in state.kinds]
    assert {state.label for state in jobs[1:]} <= {"stale", "failed"} and jobs[-1].error is not None
    assert not [item for item in seen if isinstance(item, Delta) and item.removals], "nothing vanishes from the panes"


async def test_polls_hold_back_when_lsf_asks_for_it_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    lsf = Recorded(monkeypatch)
    async with aclosing(lsf.watch(Interest(kinds=frozenset({"queue"})))) as items:
        await lsf.until(1, items)
        lsf.limited = True
        seen = await lsf.until(1000, items)
        lsf.limited = False
        back = await lsf.until(1400, items)
    gaps = [b - a for (a, _), (b, _) in zip(lsf.calls, lsf.calls[1:], strict=False)]
    assert gaps[:4] == [60.0, 60.0, 120.0, 300.0]
    failed = [item for item in seen if isinstance(item, SourceState) and item.error]
    assert "concurrent query limit exceeded" in str(failed[0].error) and failed[0].retry_at is not None
    assert isinstance(back[-1], SourceState) and back[-1].label == "polling"


async def test_without_mbatchd_from_the_start_hosts_are_those_of_lim(monkeypatch: pytest.MonkeyPatch) -> None:
    lsf = Recorded(monkeypatch)
    lsf.dead = {"bjobs", "bqueues", "bhosts"}
    async with aclosing(lsf.watch(Interest(kinds=frozenset({"node"})))) as items:
        seen = await lsf.until(25, items)
    (node,) = [row for item in seen if isinstance(item, Delta) for row in item.upserts if isinstance(row, Node)]
    assert (node.name, node.status, node.slots_used) == ("node01", "unknown", None)
    assert node.extensions["load_status"] == "ok"


async def test_after_a_write_its_targets_are_read_once(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, stat="RUN")
    reader, writer = opened(double, check_after_write=0.2, own_interval=600, interval=600)
    async with aclosing(reader.watch(InterestCell())) as items:
        loaded: set[str] = set()
        async for item in items:
            loaded |= item.reset if isinstance(item, Delta) else set()
            if {"job", "queue", "node"} <= loaded:
                break
        asked = len(double.asked())
        for intent in (
            CancelJob(cluster="lsf", refs=(ref(id),)),
            DrainNode(cluster="lsf", refs=(ref("node02", "node"),), reason="test"),
        ):
            plan = await writer.plan(intent)
            await writer.send(plan.steps[0])
        seen: dict[str, str] = {}
        async for item in items:
            seen |= {row.id: str(getattr(row, "status", "")) for row in item.upserts} if isinstance(item, Delta) else {}
            if {id, "node02"} <= seen.keys():
                break
    assert (seen[id], seen["node02"]) == ("cancelled", "drain")
    again = [argv for argv in double.asked()[asked:] if argv[-1] == id and argv[0] == "bjobs"]
    assert len(again) == 2, "once for the plan, once after the write"


async def test_what_somebody_else_reads_is_shown_and_not_read_twice(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id, other = add(double, stat="RUN"), add(double, stat="RUN", user="ben")
    reader, writer = opened(
        double, check_after_write=5.0, own_interval=0.5, interval=0.5, floor=0.0, calls_per_minute=None
    )
    cell = InterestCell(Interest(kinds=frozenset({"job"})))
    async with aclosing(reader.watch(cell)) as items:
        async for item in items:
            if isinstance(item, SourceState) and item.label == "polling":
                break
        for step in (await writer.plan(CancelJob(cluster="lsf", refs=(ref(id), ref(other))))).steps:
            await writer.send(step)
        assert len(reader.session.written) == 2
        seen = await reader.observe([ref(id), ref(other)])
        assert all(target is not None and target.finished for target in seen.values())
        assert reader.session.written == [], "the verification has read them"
        shown: dict[str, str] = {}
        gone: set[str] = set()
        async for item in items:
            cell.refresh()
            if isinstance(item, Delta):
                shown |= {row.id: row.status for row in item.upserts if isinstance(row, Job)}
                gone |= {gone.id for gone in item.removals}
            if shown.get(id) == "cancelled" and other in gone:
                break
    assert shown == {id: "cancelled", other: "cancelled"}, "another's job that is over is shown, then leaves the list"


async def test_a_host_in_detail_shows_its_comment_and_thresholds_in_every_tier(tmp_path: Path) -> None:
    double = lsf(tmp_path, "classic")
    with double.world() as world:
        world["hosts"]["node02"] |= {"closed": True, "comment": "disk [b]x[/b] \x1b"}
    reader, _ = opened(double)
    cell = InterestCell(Interest(kinds=frozenset({"node"}), detail=(ref("node02", "node"),)))
    async with aclosing(reader.watch(cell)) as items:
        async for item in items:
            if isinstance(item, Delta):
                rows = {row.id: row for row in item.upserts if isinstance(row, Node)}
                break
    assert rows["node02"].extensions["comment"] == "disk [b]x[/b] ␛"
    assert rows["node02"].reason == "closed_Adm: closed by the administrator (disk [b]x[/b] ␛)"
    assert rows["node02"].extensions["thresholds"] == ("r1m loadSched 3.5",)
    assert "thresholds" not in rows["node01"].extensions
    assert ["bhosts", "-l", "node02"] in double.asked()


async def test_a_pane_says_that_its_answer_came_in_another_form(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double)
    double.set_mode(invalid_json=True)
    reader, _ = opened(double, own_interval=0.2, interval=0.2, floor=0.0, calls_per_minute=None)
    notes: list[str] = []
    cell = InterestCell(Interest(kinds=frozenset({"job"})))
    async with aclosing(reader.watch(cell)) as items:
        async for item in items:
            if isinstance(item, Delta):
                assert [row.id for row in item.upserts] == [id]
            elif item.label == "polling":
                notes.append(item.note)
                double.set_mode()
                cell.refresh()
                if not item.note:
                    break
    assert notes[0].startswith("read in tier B this time: bjobs gave an answer that cannot be read")
