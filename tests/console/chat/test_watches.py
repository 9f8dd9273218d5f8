"""Watches: what is seen in the store or looked up, told once; turns that begin by themselves; the second failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.base import Unavailable
from adapters.model import ArrayInfo, Job, Ref
from console.audit import AuditLog
from console.chat import watches as module
from console.chat.events import Called, Ended, Event, Notice, Reply, Waiting
from console.chat.follow import Fired, Follow, Watch, Work, watch_of
from console.chat.session import Chat
from console.chat.watches import MOST, Watches
from console.engine import Engine
from console.gate import Approval
from tests.console.conftest import config
from tests.console.waiting import until
from tests.doubles.memory_backend import MemoryBackend, MemoryReader

LIMIT = 20.0


@pytest.fixture
async def engine(backend: MemoryBackend, audit: AuditLog) -> AsyncIterator[Engine]:
    """With a feed: the store is as the backend tells."""
    async with Engine(config(), audit=audit, open_with=backend.open) as engine:
        await until(lambda: engine.store.state("demo", "job").loaded, LIMIT)
        yield engine


@pytest.fixture
async def seen(engine: Engine) -> AsyncIterator[tuple[Watches, list[Fired]]]:
    fired: list[Fired] = []
    watches = Watches(engine, fired.append, lambda: None)
    yield watches, fired
    await watches.close()


@pytest.fixture
async def chat(engine: Engine, tmp_path: Path) -> AsyncIterator[Chat]:
    chat = Chat(engine, folder=tmp_path / "chats")
    yield chat
    await chat.close()


def told(chat: Chat) -> list[Event]:
    events: list[Event] = []
    chat.listen(events.append)
    return events


async def collect(chat: Chat, text: str) -> list[Event]:
    return [event async for event in chat.say(text)]


def ends(backend: MemoryBackend, id: str, status: str = "failed", exit_code: int | None = 1) -> None:
    backend.put(backend.job(id)._replace(status=status, exit_code=exit_code))  # type: ignore[arg-type]


async def test_an_end_is_seen_in_the_store(seen: tuple[Watches, list[Fired]], backend: MemoryBackend) -> None:
    watches, fired = seen
    watches.add(Watch("demo", "1"))
    ends(backend, "1")
    await until(lambda: fired, LIMIT)
    assert (fired[0].status, fired[0].exit_code, len(watches)) == ("failed", 1, 0)
    assert fired[0].words() == "job 1 of demo failed, exit 1"
    ends(backend, "1", "succeeded", 0)
    assert len(fired) == 1


async def test_the_scheduler_is_asked_once_for_what_the_store_shows(
    seen: tuple[Watches, list[Fired]], backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = MemoryReader.get_job

    async def counted(self: MemoryReader, id: str) -> Job:
        asked.append(id)
        return await real(self, id)

    monkeypatch.setattr(MemoryReader, "get_job", counted)
    watches, fired = seen
    watches.add(Watch("demo", "2"))
    for number in range(20):
        backend.put(Job(str(500 + number), "noise", "running"))
    ends(backend, "2", "succeeded", 0)
    await until(lambda: fired, LIMIT)
    assert asked == []  # the one look at the beginning is a list


async def test_a_start_is_seen(seen: tuple[Watches, list[Fired]], backend: MemoryBackend) -> None:
    watches, fired = seen
    watches.add(Watch("demo", "2", "started"))
    ends(backend, "2", "running", None)
    await until(lambda: fired, LIMIT)
    assert fired[0].words() == "job 2 of demo has started"


async def test_what_is_over_already_fires_at_once(seen: tuple[Watches, list[Fired]]) -> None:
    watches, fired = seen
    watches.add(Watch("demo", "4"))
    await until(lambda: fired, LIMIT)
    assert fired[0].status == "succeeded"


async def test_a_job_that_leaves_the_list_is_looked_up(
    seen: tuple[Watches, list[Fired]], backend: MemoryBackend
) -> None:
    watches, fired = seen
    watches.add(Watch("demo", "1"))
    await until(lambda: watches.all[0].born is None, LIMIT)
    backend.remove(Ref("demo", "job", "1"))
    await until(lambda: fired, LIMIT)
    assert (fired[0].status, fired[0].words()) == ("gone", "job 1 of demo is not known any more")


async def test_a_job_that_is_none_is_gone(seen: tuple[Watches, list[Fired]]) -> None:
    watches, fired = seen
    watches.add(Watch("demo", "77"))
    await until(lambda: fired, LIMIT)
    assert fired[0].status == "gone"


async def test_a_job_that_the_store_hides_is_asked_for(
    seen: tuple[Watches, list[Fired]], backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_AGAIN", 0.01)
    watches, fired = seen
    backend.rows["job", "90"] = Job("90", "hidden", "running", owner="bob", cluster="demo")
    watches.add(Watch("demo", "90"))
    backend.error = Unavailable("silent")
    await until(lambda: watches._again is not None, LIMIT)
    backend.error = None
    backend.rows["job", "90"] = Job("90", "hidden", "failed", owner="bob", cluster="demo", exit_code=3)
    await until(lambda: fired, LIMIT)
    assert (fired[0].status, fired[0].exit_code) == ("failed", 3)


async def test_an_array_has_ended_when_all_its_elements_have(
    seen: tuple[Watches, list[Fired]], backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_AGAIN", 0.01)

    async def elements(self: MemoryReader, filter: object = None) -> list[Job]:
        return [job for job in self._rows(Job) if job.array is not None]

    monkeypatch.setattr(MemoryReader, "list_jobs", elements)
    rows = [Job(f"50_{n}", "sweep", "running", array=ArrayInfo("50", n)) for n in range(3)]
    backend.put(*rows)
    watches, fired = seen
    watches.add(Watch("demo", "50"))
    backend.put(*(row._replace(status="succeeded") for row in rows[:2]))
    assert fired == []
    backend.put(rows[2]._replace(status="failed", exit_code=2))
    await until(lambda: fired, LIMIT)
    assert (fired[0].status, fired[0].exit_code) == ("failed", 2)


async def test_another_job_of_that_id_is_not_taken_for_it(
    seen: tuple[Watches, list[Fired]], backend: MemoryBackend
) -> None:
    watches, fired = seen
    backend.put(Job("60", "old", "running", extensions={"uid": "a"}))
    watches.add(Watch("demo", "60"))
    await until(lambda: watches.all[0].born == "a", LIMIT)
    backend.remove(Ref("demo", "job", "60", "a"))
    backend.put(Job("60", "new", "failed", exit_code=1, extensions={"uid": "b"}))
    await until(lambda: fired, LIMIT)
    assert fired[0].status == "gone"


async def test_a_job_that_was_requeued_is_the_same(seen: tuple[Watches, list[Fired]], backend: MemoryBackend) -> None:
    """Slurm gives a requeued job a new time of submission."""
    watches, fired = seen
    job = Job("61", "sim", "running", owner="alice", extensions={"uid": "a"})
    backend.put(job)
    watches.add(Watch("demo", "61"))
    await until(lambda: watches.all[0].born == "a", LIMIT)
    backend.remove(Ref("demo", "job", "61", "a"))
    backend.put(job._replace(status="pending", extensions={"uid": "b"}))
    await until(lambda: watches.all and watches.all[0].born == "b", LIMIT)
    backend.put(job._replace(status="succeeded", exit_code=0, extensions={"uid": "b"}))
    await until(lambda: fired, LIMIT)
    assert fired[0].status == "succeeded"


async def test_watches_are_bounded_and_not_doubled(seen: tuple[Watches, list[Fired]]) -> None:
    watches, _ = seen
    assert watches.add(Watch("demo", "1")) and watches.add(Watch("demo", "1")) and len(watches) == 1
    for number in range(MOST - 1):
        watches._watches.append(Watch("demo", f"x{number}"))
    assert not watches.add(Watch("demo", "2"))
    assert watches.remove("demo", "1") and not watches.remove("demo", "1")


# -- turns that begin by themselves


async def test_a_failure_begins_a_turn_that_says_why_and_marks_it_untrusted(
    chat: Chat, backend: MemoryBackend, engine: Engine
) -> None:
    events = told(chat)
    chat.follow(Follow("demo", "1"))
    ends(backend, "1")
    await until(lambda: Ended("done") in events, LIMIT)
    assert events[0] == Notice("Job 1 of demo failed, exit 1.", "warning")
    assert [event.call.tool for event in events if isinstance(event, Called)] == ["scheduler_analyze_failure"]
    first = chat.messages[0]
    assert first["role"] == "user" and first["content"][0]["text"].startswith(
        "[watch] Pilothouse reports: job 1 of demo"
    )
    assert "Nobody has said this" in first["content"][0]["text"]
    assert "watch of job 1" in engine.gate.agents.untrusted


async def test_an_end_without_a_failure_is_told_and_nothing_called(chat: Chat, backend: MemoryBackend) -> None:
    events = told(chat)
    chat.follow(Follow("demo", "1"))
    ends(backend, "1", "succeeded", 0)
    await until(lambda: Ended("done") in events, LIMIT)
    assert not any(isinstance(event, Called) for event in events)


async def test_only_a_failure_begins_a_turn_where_that_was_asked(chat: Chat, backend: MemoryBackend) -> None:
    events = told(chat)
    chat.follow(Follow("demo", "1", only_failed=True))
    ends(backend, "1", "succeeded", 0)
    await until(lambda: events, LIMIT)
    await chat.keep()
    assert events == [Notice("Job 1 of demo succeeded.")] and chat.messages == []


async def test_what_fires_while_a_turn_goes_on_is_told_in_one_turn_after_it(chat: Chat, backend: MemoryBackend) -> None:
    events = told(chat)
    backend.put(Job("5", "more", "running", owner="alice"))
    for id in ("2", "5"):
        chat.follow(Follow("demo", id))
    async for event in chat.say("cancel job 1"):
        if isinstance(event, Waiting):
            for id in ("2", "5"):
                ends(backend, id, "succeeded", 0)
            await until(lambda: len([e for e in events if isinstance(e, Notice)]) == 2, LIMIT)
            await chat.engine.gate.deny(event.proposals[0])
    await until(lambda: Ended("done") in events, LIMIT)
    assert events.count(Ended("done")) == 1
    told_ = [m["content"][-1]["text"] for m in chat.messages if "[watch]" in str(m["content"])]
    assert len(told_) == 1 and "job 2" in told_[0] and "job 5" in told_[0]


async def test_a_report_that_was_stopped_does_not_keep_the_next_one_back(chat: Chat, backend: MemoryBackend) -> None:
    events = told(chat)
    chat.follow(Follow("demo", "1"))
    chat.follow(Follow("demo", "2"))
    async for event in chat.say("cancel job 1"):
        if isinstance(event, Waiting):
            ends(backend, "1")
            await until(lambda: events, LIMIT)
            await chat.stop()
    assert Ended("stopped") in events
    ends(backend, "2")
    await until(lambda: Ended("done") in events, LIMIT)


async def test_a_report_does_not_end_the_wait_for_the_person(chat: Chat, backend: MemoryBackend) -> None:
    events = told(chat)
    chat.follow(Follow("demo", "2"))
    said = asyncio.create_task(collect(chat, "run ./a, then ./b"))
    await until(lambda: chat.waiting, LIMIT)
    ends(backend, "2")
    await until(lambda: events, LIMIT)
    for number in (1, 2):
        await until(lambda: chat.waiting, LIMIT)
        await (await chat.engine.gate.approve(chat.waiting[0], Approval("dialog"))).wait()
        await until(lambda number=number: len(backend.sent) == number, LIMIT)
    assert Ended("done") in await said
    await until(lambda: Ended("done") in events, LIMIT)


async def test_after_the_second_failure_nothing_is_proposed(
    chat: Chat, backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of memory twice: one fix is proposed, then the person is asked."""
    events = told(chat)
    oom = {"exit_code": 137, "reason": "OUT_OF_MEMORY", "raw_status": "OUT_OF_MEMORY"}
    arguments = {"command": ["./sim"], "queue": "gpu", "memory_bytes": 1_000_000_000}
    work = Work(arguments=arguments)
    chat.watches.add(watch_of(Follow("demo", "1"), work))
    backend.put(backend.job("1")._replace(status="failed", **oom))
    await until(lambda: chat.waiting, LIMIT)
    (proposal,) = chat.waiting
    assert proposal.prepared.intent.parameters()["spec"]["memory_bytes"] == 2_000_000_000
    await chat.engine.gate.approve(proposal, Approval("dialog"))
    await until(lambda: Ended("done") in events, LIMIT)
    (watch,) = chat.watches.all
    assert watch.work is work and work.failures == 1
    backend.put(backend.job(watch.id)._replace(status="failed", **oom))
    await until(lambda: events.count(Ended("done")) == 2, LIMIT)
    assert work.failures == 2 and not chat.waiting and not chat.watches.all
    assert "second failure" in "".join(event.text for event in events if isinstance(event, Reply))
    assert len(backend.sent) == 1


async def test_watches_go_on_with_the_session_and_fire_once(
    chat: Chat, backend: MemoryBackend, engine: Engine, tmp_path: Path
) -> None:
    async for _ in chat.say("watch 1"):
        pass
    async for _ in chat.say("tell me if job 2 fails"):
        pass
    await chat.close()
    ends(backend, "1")
    other = Chat(engine, folder=tmp_path / "chats")
    events = told(other)
    await other.resume(chat.id)
    await until(lambda: Ended("done") in events, LIMIT)
    assert [watch.id for watch in other.watches.all] == ["2"] and other.watches.all[0].only_failed
    await other.close()
    again = Chat(engine, folder=tmp_path / "chats")
    events = told(again)
    await again.resume(chat.id)
    assert [watch.id for watch in again.watches.all] == ["2"]
    ends(backend, "2", "succeeded", 0)
    await until(lambda: events, LIMIT)
    assert events == [Notice("Job 2 of demo succeeded.")]
    await again.close()


@pytest.mark.parametrize(
    "record",
    [
        {}, {"cluster": "demo", "id": 1, "until": "finished", "work": {}}, {"cluster": "demo", "id": "1", "until": "x"},
        {"cluster": "other", "id": "1", "until": "finished", "work": {}}, {"cluster": "demo", "id": "1", "work": []},
    ],
)  # fmt: skip
async def test_a_record_that_is_no_watch_is_left_out(
    seen: tuple[Watches, list[Fired]], record: dict[str, object]
) -> None:
    watches, _ = seen
    watches.restore([record])
    assert len(watches) == 0
