"""Whatever happens between plan and write: only approved bytes leave, once, each between its two lines."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.base import AdapterError, Unreachable
from adapters.intents import CancelJob, Intent, SetNodeQuota, request_digest
from adapters.model import Job, Node, Ref
from console.audit import AuditLog, verify
from console.engine import Engine
from console.gate import Approval, PlanChanged, Prepared
from tests.console.conftest import config
from tests.doubles.memory_backend import MemoryBackend

JOBS = ("1", "2", "3")
ids = st.lists(st.sampled_from(JOBS), min_size=1, max_size=3, unique=True)
intents = st.one_of(
    st.tuples(st.just("prepare_cancel"), ids),
    st.tuples(st.just("prepare_quota"), st.sampled_from([None, 0, 2, 9])),
)
events = st.one_of(
    st.tuples(st.just("job"), st.tuples(st.sampled_from(JOBS), st.sampled_from(["running", "succeeded", "gone"]))),
    st.tuples(st.just("owner"), st.tuples(st.sampled_from(JOBS), st.sampled_from(["alice", "bob"]))),
    st.tuples(st.just("quota"), st.sampled_from([None, 1, 4])),
    st.tuples(st.just("answer"), st.sampled_from(["lost", "lost_but_done", "refused", "raises", "none"])),
    st.tuples(st.just("reads"), st.booleans()),
)
answers = st.one_of(
    st.tuples(st.just("execute"), st.sampled_from(["right", "right", "wrong", "unattended", "digest"])),
    st.tuples(st.just("execute_twice"), st.none()),
    st.tuples(st.just("execute_and_leave"), st.none()),
    st.tuples(st.just("decline"), st.none()),
)
rounds = st.lists(
    st.tuples(
        intents, st.lists(events, max_size=2), st.lists(answers, min_size=1, max_size=2), st.just(("reads", True))
    ),
    min_size=1,
    max_size=5,
)


class World:
    """One run: an engine on the double, the plan that waits for an answer, and what was approved."""

    def __init__(self, engine: Engine, backend: MemoryBackend) -> None:
        self.engine, self.backend = engine, backend
        self.waiting: Prepared | None = None
        self.approved: Counter[str] = Counter()

    async def act(self, name: str, argument: Any) -> None:
        with suppress(AdapterError):
            await getattr(self, f"_{name}")(argument)

    async def _prepare(self, intent: Intent) -> None:
        self.waiting = None
        self.waiting = await self.engine.gate.prepare(intent)

    async def _prepare_cancel(self, ids: list[str]) -> None:
        await self._prepare(CancelJob(cluster="demo", refs=tuple(Ref("demo", "job", id) for id in ids)))

    async def _prepare_quota(self, slots: int | None) -> None:
        await self._prepare(SetNodeQuota(cluster="demo", refs=(Ref("demo", "node", "n1"),), slots=slots))

    def _right(self, prepared: Prepared) -> Approval:
        return Approval("dialog", prepared.confirm.expected, prepared.digest)

    async def _execute(self, how: str) -> None:
        if self.waiting is None:
            return
        answers = {
            "right": self._right(self.waiting),
            "wrong": Approval("dialog", "nonsense"),
            "unattended": Approval("unattended"),
            "digest": Approval("dialog", self.waiting.confirm.expected, "0" * 64),
        }
        await self._send(self.waiting, answers[how], counts=how in ("right", "unattended"))

    async def _send(self, prepared: Prepared, approval: Approval, *, counts: bool) -> None:
        try:
            operation = await self.engine.gate.execute(prepared, approval)
        except PlanChanged as changed:
            self.waiting = changed.prepared
            return
        assert counts, "an answer that was none must not send"
        self.approved.update(request_digest(step.request) for step in prepared.plan.steps)
        await operation.wait()

    async def _execute_twice(self, _: None) -> None:
        if self.waiting is None:
            return
        prepared, before = self.waiting, len(self.backend.sent)
        approval = self._right(prepared)
        results = await asyncio.gather(
            *(self.engine.gate.execute(prepared, approval) for _ in range(2)), return_exceptions=True
        )
        operations = [result for result in results if not isinstance(result, BaseException)]
        assert len(operations) <= 1
        for operation in operations:
            self.approved.update(request_digest(step.request) for step in prepared.plan.steps)
            await operation.wait()
            assert len(self.backend.sent) - before <= len(prepared.plan.steps)

    async def _execute_and_leave(self, _: None) -> None:
        """The screen is closed at once; what has begun goes on, what has not does not begin."""
        if self.waiting is None:
            return
        before = len(self.engine.gate.operations)
        task = asyncio.create_task(self.engine.gate.execute(self.waiting, self._right(self.waiting)))
        await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for operation in self.engine.gate.operations[before:]:
            self.approved.update(request_digest(step.request) for step in self.waiting.plan.steps)
            await operation.wait()

    async def _decline(self, _: None) -> None:
        if self.waiting is not None:
            await self.engine.gate.decline(self.waiting)

    async def _job(self, change: tuple[str, str]) -> None:
        id, state = change
        if state == "gone":
            self.backend.remove(Ref("demo", "job", id))
        else:
            self.backend.put(Job(id, status=state, owner="alice"))  # type: ignore[arg-type]

    async def _owner(self, change: tuple[str, str]) -> None:
        self.backend.put(Job(change[0], status="running", owner=change[1]))

    async def _quota(self, slots: int | None) -> None:
        self.backend.put(self.backend.node("n1")._replace(slots_quota=slots))

    async def _answer(self, answer: Any) -> None:
        self.backend.answers.append(answer)

    async def _reads(self, works: bool) -> None:
        self.backend.error = None if works else Unreachable("no route")


def check(log: AuditLog, world: World) -> None:
    records = list(log.records())
    intents = [record for record in records if record["kind"] == "intent"]
    results = [record for record in records if record["kind"] == "result"]
    sent = [request_digest(request) for request in world.backend.sent]
    assert [record["request_digest"] for record in intents] == sent
    assert [(r["operation"], r["step"]) for r in results] == [(i["operation"], i["step"]) for i in intents]
    assert not Counter(sent) - world.approved, "something left that was not approved"
    for intent, result in zip(intents, results, strict=True):
        assert intent["seq"] < result["seq"]
    if records:
        assert verify(log.paths.log).ok


@given(script=rounds)
@settings(max_examples=35, deadline=None)
def test_only_what_was_approved_leaves_and_each_between_its_lines(
    tmp_path_factory: pytest.TempPathFactory, script: list[Any]
) -> None:
    async def run(folder: Path) -> None:
        rows = [*(Job(id, status="running", owner="alice") for id in JOBS), Node("n1", "idle", slots_total=8)]
        backend, log = MemoryBackend("demo", rows), AuditLog(folder / "audit")
        async with Engine(config(), feeds=False, settle=False, audit=log, open_with=backend.open) as engine:
            world = World(engine, backend)
            for intent, happens, given_answers, back in script:
                for name, argument in (intent, *happens, *given_answers, back):
                    await world.act(name, argument)
        check(log, world)

    asyncio.run(run(tmp_path_factory.mktemp("gate")))
