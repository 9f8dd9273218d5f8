"""The watch of a native cluster on a server that does what real ones do rarely."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from adapters.base import Interest, InterestCell, ProtocolError, Unauthenticated
from adapters.model import Metrics, Ref
from tests.doubles.scripted_native import ScriptedNative, job_row
from tests.doubles.serving import closed_port, serve_app
from tests.native.watching import until, watching


@pytest_asyncio.fixture
async def server() -> AsyncIterator[tuple[ScriptedNative, str]]:
    double = ScriptedNative()
    double.put(job_row(1))
    async with serve_app(double.app()) as url:
        yield double, url
        double.cut()


Server = tuple[ScriptedNative, str]


async def test_a_snapshot_then_events(server: Server) -> None:
    double, url = server
    async with watching(url) as told:
        await until(lambda: "live" in told.labels)
        double.put(job_row(2, "RUN"))
        await until(lambda: told.jobs() == {"1": "PEND", "2": "RUN"})
        double.put(job_row(2, "DONE"))
        double.remove(1)
        await until(lambda: told.jobs() == {"2": "DONE"})
    assert told.snapshots == 1 and told.deltas[0].snapshot and not told.deltas[-1].snapshot
    assert told.deltas[-1].position == str(double.log[-1][0])
    assert told.labels[0] == "connecting" and told.labels[-1] == "live"


async def test_nothing_is_lost_between_the_list_and_the_stream(server: Server) -> None:
    """The job is made after the list has taken its rows and before the answer arrives."""
    double, url = server

    async def meanwhile() -> None:
        double.before_list = None
        double.put(job_row(7, "RUN"))

    double.before_list = meanwhile
    async with watching(url) as told:
        await until(lambda: told.jobs() == {"1": "PEND", "7": "RUN"})
    assert told.snapshots == 1


async def test_what_the_list_knew_already_is_not_told_twice(server: Server) -> None:
    double, url = server

    async def meanwhile() -> None:
        double.before_list = None
        double.say("job", '{"kind": "updated", "object": {"jobid": 1, "user": "ann", "status": "PEND",'
                          ' "jobname": "job1", "queue": "normal"}}')  # fmt: skip

    double.before_list = meanwhile
    async with watching(url) as told:
        await until(lambda: "live" in told.labels)
        double.put(job_row(2))
        await until(lambda: "2" in told.jobs())
    assert told.told_of_jobs() == [["1"], ["2"]]


async def test_a_cut_is_resumed_and_not_listed_again(server: Server) -> None:
    double, url = server
    async with watching(url) as told:
        await until(lambda: "live" in told.labels)
        for number in range(10, 15):
            double.cut()
            double.put(job_row(number))
            await until(lambda number=number: str(number) in told.jobs())
    assert told.snapshots == 1 and "stale" in told.labels
    stale = next(state for state in told.states if state.label == "stale")
    assert stale.error is not None and stale.retry_at is not None


async def test_a_cut_before_the_position_is_known_lists_again(server: Server) -> None:
    double, url = server
    double.greet = False
    async with watching(url) as told:
        await until(lambda: "live" in told.labels)
        double.put(job_row(5), say=False)
        double.cut()
        await until(lambda: "5" in told.jobs())
    assert told.snapshots == 2


async def test_a_reset_lists_again(server: Server) -> None:
    double, url = server
    async with watching(url) as told:
        await until(lambda: "live" in told.labels)
        double.jobs.clear()
        double.put(job_row(9, "DONE"), say=False)
        double.say("reset", "{}")
        await until(lambda: told.jobs() == {"9": "DONE"})
        double.put(job_row(9, "EXIT"))
        await until(lambda: told.jobs() == {"9": "EXIT"})
    assert told.snapshots == 2


async def test_an_event_that_cannot_be_read_is_said_and_the_rows_are_listed_again(server: Server) -> None:
    double, url = server
    for text in ("no json", "[]", '{"kind": "updated"}', '{"kind": "updated", "object": {"strange": 1}}'):
        async with watching(url) as told:
            await until(lambda: "live" in told.labels)
            double.put(job_row(1, "RUN"), say=False)
            double.say("job", text)
            await until(lambda: told.jobs().get("1") == "RUN")
            double.put(job_row(1, "PEND"))
            await until(lambda: told.jobs().get("1") == "PEND")
        assert any(isinstance(state.error, ProtocolError) for state in told.states)


async def test_an_event_of_an_unknown_kind_is_passed_over(server: Server) -> None:
    double, url = server
    async with watching(url) as told:
        await until(lambda: "live" in told.labels)
        double.say("licence", '{"kind": "updated", "object": {}}')
        double.put(job_row(2))
        await until(lambda: "2" in told.jobs())
    assert told.snapshots == 1 and all(state.error is None for state in told.states)


async def test_a_list_that_fails_is_a_state_and_is_tried_again(server: Server) -> None:
    double, url = server
    double.fail["/xce/v1/jobs"] = (503, "the controller starts")
    async with watching(url) as told:
        await until(lambda: "failed" in told.labels)
        failed = next(state for state in told.states if state.label == "failed")
        assert failed.error is not None and "the controller starts" in failed.error.message and failed.retry_at
        assert told.jobs() == {} and told.rows.keys() >= {("queue", "normal"), ("node", "h1")}
        double.fail.clear()
        await until(lambda: told.jobs() == {"1": "PEND"})
        await until(lambda: told.labels[-1] == "live")


async def test_a_kind_that_is_not_for_us_keeps_nobody_from_the_rest(server: Server) -> None:
    double, url = server
    double.fail["/xce/v1/hosts"] = (403, "no permission host:view")
    async with watching(url) as told:
        await until(lambda: "live" in told.labels)
        double.put(job_row(2))
        await until(lambda: told.jobs() == {"1": "PEND", "2": "PEND"})
    live = next(state for state in told.states if state.label == "live")
    failed = next(state for state in told.states if state.label == "failed")
    assert "node" not in live.kinds and failed.kinds == {"node"}
    assert failed.error is not None and "host:view" in failed.error.message


async def test_rows_that_cannot_be_read_are_an_error_and_not_an_empty_list(server: Server) -> None:
    double, url = server
    double.jobs = {1: {"unheard": 1}}
    async with watching(url) as told:
        await until(lambda: "failed" in told.labels)
    assert told.snapshots == 0 and any(isinstance(state.error, ProtocolError) for state in told.states)


async def test_a_wrong_key_is_said_and_a_right_one_is_used_when_it_is_there(server: Server) -> None:
    double, url = server
    double.fail["/xce/v1/version"] = (401, "the key is not valid")
    async with watching(url) as told:
        await until(lambda: "failed" in told.labels)
        assert isinstance(told.states[-1].error, Unauthenticated)
        double.fail.clear()
        await until(lambda: "live" in told.labels)


async def test_a_server_that_is_not_there_is_a_state() -> None:
    async with watching(closed_port()) as told:
        await until(lambda: told.labels.count("failed") > 2)
    assert all(state.error is None or state.error.code == "unreachable" for state in told.states)


async def test_while_the_stream_cannot_be_opened_the_rows_are_listed_now_and_then(server: Server) -> None:
    double, url = server
    double.fail["/xce/v1/events"] = (503, "too many subscribers")
    async with watching(url) as told:
        await until(lambda: told.jobs() == {"1": "PEND"})
        double.put(job_row(2), say=False)
        await until(lambda: "2" in told.jobs())
        assert "live" not in told.labels
        double.fail.clear()
        await until(lambda: told.labels[-1] == "live")


async def test_without_the_right_to_events_it_polls_and_says_why(server: Server) -> None:
    double, url = server
    double.fail["/xce/v1/events"] = (403, "no permission event:subscribe")
    async with watching(url) as told:
        await until(lambda: "polling" in told.labels)
        polling = next(state for state in told.states if state.label == "polling")
        assert "event:subscribe" in polling.note and polling.interval
        await until(lambda: told.jobs() == {"1": "PEND"})


async def test_mine_is_whoami_and_others_events_are_passed_over(server: Server) -> None:
    double, url = server
    double.put(job_row(2) | {"user": "bob"})
    cell = InterestCell(Interest(owner="mine"))
    async with watching(url, cell) as told:
        await until(lambda: "live" in told.labels)
        double.put(job_row(3) | {"user": "bob"})
        double.put(job_row(4))
        await until(lambda: told.jobs() == {"1": "PEND", "4": "PEND"})
        cell.set(Interest(owner="all"))
        await until(lambda: set(told.jobs()) == {"1", "2", "3", "4"})


async def test_only_the_kinds_of_interest_are_read(server: Server) -> None:
    double, url = server
    cell = InterestCell(Interest(kinds=frozenset({"queue"})))
    async with watching(url, cell) as told:
        await until(lambda: "live" in told.labels)
        assert "/xce/v1/jobs" not in double.calls and "/xce/v1/hosts" not in double.calls
        cell.set(Interest(kinds=frozenset()))
        await asyncio.sleep(0.05)
        cell.set(Interest())
        await until(lambda: told.jobs() == {"1": "PEND"})


async def test_a_person_may_ask_for_fresh_rows(server: Server) -> None:
    double, url = server
    cell = InterestCell()
    async with watching(url, cell) as told:
        await until(lambda: "live" in told.labels)
        double.put(job_row(8), say=False)
        cell.refresh()
        await until(lambda: "8" in told.jobs())


async def test_looking_at_a_row_in_detail_lists_nothing_again(server: Server) -> None:
    double, url = server
    cell = InterestCell()
    async with watching(url, cell) as told:
        await until(lambda: "live" in told.labels)
        listed = double.calls.count("/xce/v1/jobs")
        cell.set(Interest(detail=(Ref("c", "job", "1"),)))
        double.put(job_row(2))
        await until(lambda: "2" in told.jobs())
        assert double.calls.count("/xce/v1/jobs") == listed


async def test_totals_follow_the_events(server: Server) -> None:
    double, url = server

    def totals() -> Metrics | None:
        row = told.rows.get(("metrics", "metrics"))
        return row if isinstance(row, Metrics) else None

    async with watching(url) as told:
        await until(lambda: totals() is not None)
        double.put(job_row(2, "RUN"))
        await until(lambda: (found := totals()) and found.jobs == {"pending": 1, "running": 1})
        double.put(job_row(1, "EXIT"))
        await until(lambda: (found := totals()) and found.jobs == {"failed": 1, "running": 1})
        double.remove(2)
        await until(lambda: (found := totals()) and found.jobs == {"failed": 1})
    last = totals()
    assert last is not None and last.nodes == {"idle": 1} and last.slots_total == 4


async def test_a_snapshot_of_many_rows_comes_in_pieces(server: Server) -> None:
    double, url = server
    double.jobs = {number: job_row(number) for number in range(1, 4501)}
    async with watching(url, InterestCell(Interest(kinds=frozenset({"job"})))) as told:
        await until(lambda: "live" in told.labels)
    first, *_, last = pieces = told.deltas
    assert sum(len(piece.upserts) for piece in pieces) == 4500 and all(piece.snapshot for piece in pieces)
    assert first.reset == {"job"} and not any(piece.reset for piece in pieces[1:])
    assert [piece.more for piece in pieces] == [True] * (len(pieces) - 1) + [False] and last.position is not None


async def test_an_id_that_was_given_again_removes_the_old_job(server: Server) -> None:
    double, url = server
    double.put(job_row(1, submittime=1_700_000_000))
    async with watching(url) as told:
        await until(lambda: "live" in told.labels)
        double.put(job_row(1, submittime=1_800_000_000))
        await until(lambda: told.deltas[-1].removals)
    assert [ref.id for ref in told.deltas[-1].removals] == ["1"]
    assert told.deltas[-1].removals[0].born != told.deltas[-1].upserts[0].ref.born
