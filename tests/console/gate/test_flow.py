"""From intent to operation: what is sent, what is on record, and in which order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.base import Unreachable
from adapters.intents import CancelJob, Intent, ReissueNodeToken, SetNodeQuota, SubmitJob, request_digest
from adapters.model import JobSpec, Ref
from console.audit import AuditError, AuditLog, verify
from console.engine import Engine
from console.gate import Approval, PlanChanged, Refused
from tests.console.waiting import until
from tests.doubles.memory_backend import MemoryBackend


def cancel(*ids: str) -> CancelJob:
    return CancelJob(cluster="demo", refs=tuple(Ref("demo", "job", id) for id in ids))


def quota(name: str, slots: int | None) -> SetNodeQuota:
    return SetNodeQuota(cluster="demo", refs=(Ref("demo", "node", name),), slots=slots)


async def run(engine: Engine, intent: Intent, typed: str | None = None) -> Any:
    prepared = await engine.gate.prepare(intent)
    operation = await engine.gate.execute(prepared, Approval("dialog", typed))
    await operation.wait()
    return operation


def kinds(audit: AuditLog) -> list[str]:
    return [record["kind"] for record in audit.records()]


async def test_a_write_is_on_record_before_and_after(engine: Engine, backend: MemoryBackend, audit: AuditLog) -> None:
    operation = await run(engine, quota("n1", 2))
    assert operation.result == "accepted"
    assert backend.node("n1").slots_quota == 2
    intent, result = audit.records()
    assert (intent["kind"], result["kind"]) == ("intent", "result")
    assert intent["request_digest"] == request_digest(backend.sent[0])
    assert intent["decision"] == "confirmed by dialog"
    assert intent["action"] == "set_node_quota" and intent["parameters"]["slots"] == 2
    assert intent["identity"] == {"name": "alice", "role": "cluster_admin"}
    assert intent["origin"] == "key" and intent["cluster"] == "demo"
    assert [target["id"] for target in intent["targets"]] == ["n1"]
    assert result["outcome"] == "accepted" and result["operation"] == intent["operation"]
    assert verify(audit.paths.log).ok


async def test_the_line_is_on_disk_while_the_request_is_on_its_way(
    engine: Engine, backend: MemoryBackend, audit: AuditLog
) -> None:
    backend.gate = asyncio.Event()
    prepared = await engine.gate.prepare(cancel("1"))
    operation = await engine.gate.execute(prepared, Approval("dialog"))
    await until(lambda: backend.sent)
    assert kinds(audit) == ["intent"]
    assert not operation.done and operation.result == "running"
    assert engine.store.marked(Ref("demo", "job", "1")) == "cancel sent"
    backend.gate.set()
    await operation.wait()
    assert kinds(audit) == ["intent", "result"]


async def test_nothing_is_sent_that_cannot_be_put_on_record(
    engine: Engine, backend: MemoryBackend, audit: AuditLog
) -> None:
    prepared = await engine.gate.prepare(cancel("1"))
    audit.paths.folder.mkdir(parents=True, exist_ok=True)
    audit.paths.folder.chmod(0o755)
    with pytest.raises(AuditError, match="open to others") as failure:
        await engine.gate.execute(prepared, Approval("dialog"))
    assert "chmod 700" in failure.value.hint
    assert backend.sent == []
    assert backend.job("1").status == "running"


async def test_when_the_log_fails_half_way_the_rest_is_not_sent(
    engine: Engine, backend: MemoryBackend, audit: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = audit.append
    count = 0

    def fails_at_the_second_intent(kind: str, **fields: Any) -> Any:
        nonlocal count
        count += kind == "intent"
        if count > 1:
            raise AuditError("no space left")
        return whole(kind, **fields)

    monkeypatch.setattr(audit, "append", fails_at_the_second_intent)
    operation = await run(engine, cancel("1", "2"), "2")
    assert [step.state for step in operation.steps] == ["accepted", "not_sent"]
    assert operation.steps[1].note == "no space left"
    assert len(backend.sent) == 1
    assert operation.result == "partly"


async def test_an_approval_is_used_once(engine: Engine, backend: MemoryBackend) -> None:
    prepared = await engine.gate.prepare(cancel("1"))
    results = await asyncio.gather(
        *(engine.gate.execute(prepared, Approval("dialog")) for _ in range(3)), return_exceptions=True
    )
    refused = [result for result in results if isinstance(result, Refused)]
    assert len(refused) == 2 and {refusal.rule for refusal in refused} == {"approval"}
    await until(lambda: all(operation.done for operation in engine.gate.operations))
    assert len(backend.sent) == 1


async def test_an_approval_is_for_the_bytes_that_were_shown(engine: Engine, backend: MemoryBackend) -> None:
    one, two = await engine.gate.prepare(cancel("1")), await engine.gate.prepare(cancel("2"))
    with pytest.raises(Refused) as refusal:
        await engine.gate.execute(one, Approval("dialog", digest=two.digest))
    assert refusal.value.rule == "approval"
    operation = await engine.gate.execute(two, Approval("dialog", digest=two.digest))
    await operation.wait()
    assert [backend.job("1").status, backend.job("2").status] == ["running", "cancelled"]


async def test_a_declined_plan_is_on_record_and_dead(engine: Engine, backend: MemoryBackend, audit: AuditLog) -> None:
    prepared = await engine.gate.prepare(cancel("1"))
    await engine.gate.decline(prepared, "not now")
    with pytest.raises(Refused):
        await engine.gate.execute(prepared, Approval("dialog"))
    (line,) = audit.records()
    assert (line["kind"], line["decision"], line["message"]) == ("declined", "declined", "not now")
    assert backend.sent == []


async def test_a_finished_target_drops_out_and_is_said(engine: Engine, backend: MemoryBackend) -> None:
    prepared = await engine.gate.prepare(cancel("1", "2"))
    backend.put(backend.job("2")._replace(status="succeeded"))
    operation = await engine.gate.execute(prepared, Approval("dialog", "2"))
    await operation.wait()
    assert operation.notes == ("job 2 is finished by now and left out.",)
    assert [step.targets[0].ref.id for step in operation.plan.steps] == ["1"]
    assert len(backend.sent) == 1


async def test_when_all_have_finished_nothing_is_sent(engine: Engine, backend: MemoryBackend, audit: AuditLog) -> None:
    prepared = await engine.gate.prepare(cancel("1"))
    backend.remove(Ref("demo", "job", "1"))
    with pytest.raises(Refused, match="job 1 is gone") as refusal:
        await engine.gate.execute(prepared, Approval("dialog"))
    assert refusal.value.rule == "finished"
    assert backend.sent == [] and kinds(audit) == ["refused"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"status": "suspended"}, "job 1 was running and is suspended now."),
        ({"owner": "carol"}, "job 1 now belongs to carol."),
    ],
)
async def test_what_changed_is_shown_again(
    engine: Engine, backend: MemoryBackend, audit: AuditLog, change: dict[str, Any], told: str
) -> None:
    prepared = await engine.gate.prepare(cancel("1"))
    backend.put(backend.job("1")._replace(**change))
    with pytest.raises(PlanChanged) as again:
        await engine.gate.execute(prepared, Approval("dialog"))
    assert again.value.prepared.notes == (told,)
    assert backend.sent == []
    with pytest.raises(Refused):
        await engine.gate.execute(prepared, Approval("dialog"))
    confirm = again.value.prepared.confirm
    operation = await engine.gate.execute(again.value.prepared, Approval("dialog", confirm.expected))
    await operation.wait()
    assert backend.job("1").status == "cancelled"
    assert kinds(audit)[0] == "changed"


async def test_another_operator_changed_the_quota_meanwhile(engine: Engine, backend: MemoryBackend) -> None:
    prepared = await engine.gate.prepare(quota("n2", 2))
    backend.put(backend.node("n2")._replace(slots_quota=6))
    with pytest.raises(PlanChanged, match="slots quota was 4 and is 6 now"):
        await engine.gate.execute(prepared, Approval("dialog"))


async def test_a_node_that_took_a_job_is_still_the_same(engine: Engine, backend: MemoryBackend) -> None:
    prepared = await engine.gate.prepare(quota("n1", 2))
    backend.put(backend.node("n1")._replace(status="busy", slots_used=3))
    operation = await engine.gate.execute(prepared, Approval("dialog"))
    await operation.wait()
    assert operation.result == "accepted"


async def test_an_unreachable_backend_at_the_recheck_sends_nothing_and_keeps_the_plan(
    engine: Engine, backend: MemoryBackend
) -> None:
    prepared = await engine.gate.prepare(cancel("1"))
    backend.error = Unreachable("no route")
    with pytest.raises(Unreachable):
        await engine.gate.execute(prepared, Approval("dialog"))
    backend.error = None
    operation = await engine.gate.execute(prepared, Approval("dialog"))
    await operation.wait()
    assert len(backend.sent) == 1


async def test_leaving_the_screen_does_not_interrupt(engine: Engine, backend: MemoryBackend, audit: AuditLog) -> None:
    backend.gate = asyncio.Event()
    prepared = await engine.gate.prepare(cancel("1", "2"))
    screen = asyncio.create_task(engine.gate.execute(prepared, Approval("dialog", "2")))
    await until(lambda: backend.sent)
    screen.cancel()
    await asyncio.gather(screen, return_exceptions=True)
    backend.gate.set()
    (operation,) = engine.gate.operations
    await operation.wait()
    assert operation.result == "accepted"
    assert kinds(audit) == ["intent", "result", "intent", "result"]


async def test_stopping_the_engine_waits_for_the_request_and_sends_no_further_step(
    engine: Engine, backend: MemoryBackend, audit: AuditLog
) -> None:
    backend.gate = asyncio.Event()
    prepared = await engine.gate.prepare(cancel("1", "2"))
    operation = await engine.gate.execute(prepared, Approval("dialog", "2"))
    await until(lambda: backend.sent)
    stopping = asyncio.create_task(engine.stop())
    await until(lambda: operation.stopping)
    assert not stopping.done()
    backend.gate.set()
    await stopping
    assert [step.state for step in operation.steps] == ["accepted", "not_sent"]
    assert operation.steps[1].note == "Not sent: the console was closed."
    assert kinds(audit) == ["intent", "result"]


async def test_stop_between_steps(engine: Engine, backend: MemoryBackend) -> None:
    prepared = await engine.gate.prepare(cancel("1", "2"))
    operation = await engine.gate.execute(prepared, Approval("dialog", "2"))
    operation.subscribe(lambda op: op.stop() if op.steps[0].state == "accepted" else None)
    await operation.wait()
    assert [step.state for step in operation.steps] == ["accepted", "not_sent"]
    assert operation.result == "partly" and backend.job("2").status == "pending"


async def test_an_answer_that_does_not_come_is_unknown_and_never_repeated(
    engine: Engine, backend: MemoryBackend, audit: AuditLog
) -> None:
    backend.answers.append("lost")
    operation = await run(engine, cancel("1"))
    assert operation.result == "unknown"
    assert len(backend.sent) == 1
    assert list(audit.records())[-1]["outcome"] == "unknown"


async def test_an_answer_that_does_not_come_is_looked_up(
    engine: Engine, backend: MemoryBackend, audit: AuditLog
) -> None:
    backend.answers.append("lost_but_done")
    operation = await run(engine, SubmitJob(cluster="demo", spec=JobSpec(command=("true",))))
    await operation.wait_verified()
    assert operation.result == "accepted"
    assert operation.outcomes[0].created is not None
    await until(lambda: kinds(audit) == ["intent", "result", "found"])
    assert len(backend.sent) == 1


async def test_a_cancel_without_an_answer_is_confirmed_by_the_job_itself(
    engine: Engine, backend: MemoryBackend
) -> None:
    backend.answers.append("lost_but_done")
    operation = await run(engine, cancel("1"))
    await operation.wait_verified()
    assert operation.result == "accepted"
    assert operation.steps[0].verified == {Ref("demo", "job", "1"): "confirmed"}


@pytest.mark.parametrize("answer", ["raises", "none"])
async def test_a_faulty_adapter_is_an_unknown_outcome(engine: Engine, backend: MemoryBackend, answer: Any) -> None:
    backend.answers.append(answer)
    operation = await run(engine, cancel("1"))
    assert operation.result == "unknown"
    assert operation.outcomes[0].ref == Ref("demo", "job", "1")


async def test_after_three_lost_answers_the_rest_is_not_sent(engine: Engine, backend: MemoryBackend) -> None:
    from adapters.model import Job

    backend.put(*(Job(str(i), "x", "running", owner="alice") for i in range(10, 16)))
    backend.answers.extend(["lost"] * 6)
    operation = await run(engine, cancel(*(str(i) for i in range(10, 16))), "6")
    assert [step.state for step in operation.steps] == ["unknown"] * 3 + ["not_sent"] * 3
    assert "got no answer" in operation.steps[3].note


async def test_a_refusal_of_the_backend_is_an_outcome_and_leaves_no_mark(
    engine: Engine, backend: MemoryBackend
) -> None:
    backend.answers.append("refused")
    operation = await run(engine, cancel("1"))
    assert operation.result == "refused" and operation.outcomes[0].message == "not you"
    assert engine.store.marked(Ref("demo", "job", "1")) is None


async def test_a_new_token_is_shown_and_never_recorded(engine: Engine, audit: AuditLog) -> None:
    intent = ReissueNodeToken(cluster="demo", refs=(Ref("demo", "node", "n1"),))
    operation = await run(engine, intent, "n1")
    assert operation.outcomes[0].secret == "xce_ak_new"
    assert "xce_ak_new" not in audit.paths.log.read_text()


async def test_the_wish_is_never_painted_as_fact(engine: Engine, backend: MemoryBackend) -> None:
    """The row keeps what the backend says; only a mark tells of the write."""
    engine.store.apply("demo", _delta(backend))
    backend.answers.append("lost")
    await run(engine, cancel("1"))
    ref = engine.store.find("demo", "job", "1")
    assert ref is not None
    row = engine.store.row(ref)
    assert row is not None and row.status == "running"  # type: ignore[union-attr]
    assert engine.store.marked(ref) == "cancel sent"
    backend.put(backend.job("1")._replace(status="cancelled"))
    engine.store.apply("demo", _delta(backend))
    assert engine.store.marked(ref) is None


def _delta(backend: MemoryBackend) -> Any:
    from adapters.model import Delta

    return Delta(tuple(backend.rows.values()))
