"""Long work on the embedded cluster, with real workers: submit, be told, why it failed, a fix, a stop after the second
failure; with a restart of the console in between."""

from __future__ import annotations

import asyncio
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.audit import AuditLog, verify
from console.chat.events import Called, Ended, Event, Notice, Reply, Waiting
from console.chat.session import Chat
from console.config import Config
from console.engine import Engine
from console.gate import Approval

if TYPE_CHECKING:
    from adapters.local.launch import EmbeddedCluster

DEADLINE = 60.0  # a real job is run by a real worker
RUNS_OUT = '#!/bin/sh\nwhile [ ! -e "{flag}" ]; do sleep 0.1; done\necho MemoryError >&2\nexit 1\n'


class Console:
    """One run of a console: an engine with its feed, and a chat that somebody looks at."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.chat = Chat(engine, folder=folder)
        self.events: list[Event] = []
        self.chat.listen(self.events.append)

    async def say(self, text: str, *, approve: bool = False) -> list[Event]:
        events = []
        async for event in self.chat.say(text):
            events.append(event)
            if isinstance(event, Waiting) and approve:
                await self.approve()
        return events

    async def approve(self) -> None:
        operation = await self.engine.gate.approve(self.chat.waiting[0], Approval("dialog"))
        await operation.wait()

    def calls(self) -> list[str]:
        return [event.call.tool for event in self.events if isinstance(event, Called)]

    def told(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Reply | Notice))

    async def until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < end, self.events[-5:]
            await asyncio.sleep(0.02)


@pytest.fixture
def config(embedded_cluster: EmbeddedCluster) -> Config:
    written = tomllib.loads(embedded_cluster.config.read_text())
    return Config.model_validate({"version": 1, "clusters": {"embedded": next(iter(written["clusters"].values()))}})


@pytest.fixture
def script(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A program that runs out of memory once the flag is there; the flag is set in the end whatever happens."""
    flag, path = tmp_path / "flag", tmp_path / "sim.sh"
    path.write_text(RUNS_OUT.format(flag=flag))
    path.chmod(0o755)
    yield path, flag
    flag.touch()


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        (
            "run {path} with 64MB in queue short and tell me if it fails",
            ["out of memory", "memory 128 MB instead of 64 MB", "second failure"],
        ),
        (
            "在 short 队列运行 {path} 内存 64MB，如果失败就告诉我",
            ["内存不足", "内存 由 64 MB 改为 128 MB", "第二次失败"],
        ),
    ],
    ids=["en", "zh"],
)
async def test_work_that_fails_is_mended_once_across_a_restart(
    sentence: str, words: list[str], config: Config, script: tuple[Path, Path], tmp_path: Path
) -> None:
    path, flag = script
    audit = AuditLog(tmp_path / "audit")
    folder = tmp_path / "chats"
    async with Engine(config, settle=False, audit=audit) as engine:
        first = Console(engine, folder)
        await first.say(sentence.format(path=path), approve=True)
        assert [watch.only_failed for watch in first.chat.watches.all] == [True]
        session = first.chat.id
        await first.chat.close()
    flag.touch()  # it fails while no console is there

    async with Engine(config, settle=False, audit=audit) as engine:
        second = Console(engine, folder)
        await second.chat.resume(session)
        await second.until(lambda: second.chat.waiting)
        assert second.calls() == ["scheduler_analyze_failure", "scheduler_submit"]
        (proposal,) = second.chat.waiting
        spec = proposal.prepared.intent.parameters()["spec"]
        assert spec["memory_bytes"] == 128_000_000 and spec["command"] == [str(path)]
        assert proposal.source and engine.gate.agents.untrusted
        await second.approve()
        await second.until(lambda: second.events.count(Ended("done")) == 2)
        told = second.told()
        assert all(word in told for word in words)
        assert second.calls() == ["scheduler_analyze_failure", "scheduler_submit", "scheduler_analyze_failure"]
        assert not second.chat.waiting and not second.chat.watches.all
        await second.chat.close()

    async with Engine(config, settle=False, audit=audit) as engine:
        third = Console(engine, folder)
        await third.chat.resume(session)
        assert not third.chat.watches.all and third.events == []
        await third.chat.close()
    kinds = [(line["kind"], line["action"]) for line in audit.records() if line["kind"] != "read"]
    assert kinds == [(kind, "submit") for kind in ("proposed", "intent", "result") * 2]
    assert verify(audit.paths.log).ok
