"""Daemons frozen and down, real ones: last data kept, Slurm's words shown, nothing taken for an empty cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.base import AdapterError, Delta, InterestCell, SourceState, Unavailable
from adapters.intents import CancelJob, HoldJob, SubmitJob
from adapters.model import JobSpec
from adapters.polling import CallMeter
from adapters.slurm import SlurmOptions, SlurmReader
from tests.rigs.slurm.rig import Rig
from tests.slurm.support import CLUSTER, job, open_as, until_true

pytestmark = pytest.mark.rig


class Seen:
    """What a watch has yielded: rows by kind and id, and states."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], object] = {}
        self.states: list[SourceState] = []

    def take(self, item: Delta | SourceState) -> None:
        if isinstance(item, SourceState):
            self.states.append(item)
            return
        for ref in item.removals:
            self.rows.pop((ref.kind, ref.id), None)
        self.rows.update(((row.ref.kind, row.id), row) for row in item.upserts)

    def label(self, kind: str) -> str:
        return next((state.label for state in reversed(self.states) if kind in state.kinds), "")

    def count(self, kind: str) -> int:
        return sum(key[0] == kind for key in self.rows)


@asynccontextmanager
async def watching(rig: Rig, **options: float) -> AsyncIterator[tuple[Seen, InterestCell]]:
    settings = SlurmOptions(CLUSTER, base=rig.environment(), **options)  # type: ignore[arg-type]
    reader = SlurmReader(settings, CallMeter(limit=None), intervals=(0.3, 0.3))
    seen, cell = Seen(), InterestCell()

    async def follow() -> None:
        async for item in reader.watch(cell):
            seen.take(item)

    task = asyncio.create_task(follow())
    try:
        yield seen, cell
        assert not task.done(), task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def labelled(seen: Seen, cell: InterestCell, kind: str, labels: set[str]) -> None:
    async def there() -> bool:
        cell.refresh()
        return seen.label(kind) in labels

    await until_true(there, 60)


async def test_a_frozen_controller_leaves_the_last_data_and_comes_back(rig: Rig) -> None:
    async with watching(rig, read_timeout=1.0) as (seen, cell):
        await labelled(seen, cell, "job", {"polling"})
        await labelled(seen, cell, "node", {"polling"})
        before = seen.count("job"), seen.count("node"), seen.count("queue")
        assert before[0] > 20 and before[1:] == (8, 4)
        with rig.frozen():
            await labelled(seen, cell, "job", {"stale", "failed"})
            await labelled(seen, cell, "node", {"stale", "failed"})
            assert (seen.count("node"), seen.count("queue")) == before[1:] and seen.count("job") > 20
            bad = next(state for state in reversed(seen.states) if state.error is not None)
            assert isinstance(bad.error, Unavailable) and "did not answer within 1 s" in bad.error.message
            assert bad.retry_at is not None
        await labelled(seen, cell, "job", {"polling"})
        await labelled(seen, cell, "node", {"polling"})
        assert seen.states[-1].error is None


async def test_a_controller_that_is_down(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice", read_timeout=30.0)
    id = rig.submit("alice", "--hold")
    plan = await writer.plan(CancelJob(cluster=CLUSTER, refs=(job(id),)))
    with rig.stopped("slurmctld"):
        with pytest.raises(Unavailable, match="Unable to contact slurm controller") as caught:
            await reader.list_jobs()
        assert "slurmctld" in caught.value.hint
        (outcome,) = await writer.send(plan.steps[0])
        assert (outcome.result, outcome.error) == ("refused", "unreachable"), outcome
        assert "Nothing was sent" in outcome.message
        with pytest.raises(Unavailable):
            await writer.plan(SubmitJob(cluster=CLUSTER, spec=JobSpec(command=("true",))))
    assert id in {row.id for row in await reader.list_jobs()}
    rig.run("alice", "scancel", id)


async def test_a_submission_to_a_frozen_controller_is_unknown_and_found_afterwards(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice", write_timeout=1.0)
    intent = SubmitJob(cluster=CLUSTER, spec=JobSpec(command=("sleep", "600"), hold=True, output="/dev/null"))
    plan = await writer.plan(intent)
    with rig.frozen():
        (outcome,) = await writer.send(plan.steps[0])
        assert (outcome.result, outcome.error) == ("unknown", "unknown") and "may still take effect" in outcome.message
    await until_true(lambda: reader.find_intent(str(intent.intent_id)))
    (found,) = await reader.find_intent(str(intent.intent_id))
    rig.run("alice", "scancel", found.id)


async def test_without_accounting_the_live_views_work(rig: Rig) -> None:
    with rig.stopped("slurmdbd"):
        reader, _ = open_as(rig, "alice")
        assert len(await reader.list_jobs()) > 20 and len(await reader.list_nodes()) == 8
        with pytest.raises(Unavailable, match="Connection refused") as caught:
            await reader.history()
        assert "slurmdbd" in caught.value.hint
        found = await reader.capabilities()
        assert "drain" in found.supported, "nobody knows whether alice may: Slurm will say"
        assert any("slurmdbd does not answer" in note for note in found.notes)
        assert (await reader.whoami()).operator is None
    assert (await reader.whoami()).operator is False


async def test_without_munge_nobody_is_let_in(rig: Rig) -> None:
    reader, writer = open_as(rig, "alice")
    id = rig.submit("alice", "--hold")
    plan = await writer.plan(CancelJob(cluster=CLUSTER, refs=(job(id),)))
    with rig.stopped("munged"):
        for ask in (reader.list_jobs(), reader.history()):
            with pytest.raises(Unavailable) as caught:
                await ask
            assert "munge" in (caught.value.hint + caught.value.message).lower()
        (outcome,) = await writer.send(plan.steps[0])
        assert (outcome.result, outcome.error) == ("refused", "unreachable")
    assert id in {row.id for row in await reader.list_jobs() if not row.finished}
    rig.run("alice", "scancel", id)


async def test_without_a_configuration(rig: Rig, tmp_path: Path) -> None:
    """22.05 tries for a minute; the console does not wait for it."""
    options = SlurmOptions(CLUSTER, str(tmp_path / "slurm.conf"), base=rig.environment(), read_timeout=2.0)
    with pytest.raises(AdapterError) as caught:
        await SlurmReader(options, CallMeter(limit=None)).list_jobs()
    assert caught.value.code in ("unavailable", "unreachable")


async def test_a_controller_that_dies_over_a_write_leaves_it_unknown(rig: Rig) -> None:
    """Each release has its own words for it: "Connection reset by peer", 20.11 "Transport endpoint is not connected",
    for a hold "Unexpected message received". None of them means that nothing was sent."""
    _, writer = open_as(rig, "alice")
    pending = rig.submit("alice", "--begin=now+5hours")
    submit = SubmitJob(cluster=CLUSTER, spec=JobSpec(command=("true",), hold=True, output="/dev/null", cwd="/"))
    of_job = [kind(cluster=CLUSTER, refs=(job(pending),)) for kind in (HoldJob, CancelJob)]
    steps = [(await writer.plan(intent)).steps[0] for intent in (submit, *of_job)]
    for step in steps:
        with rig.dying("alice") as end:
            sending = asyncio.create_task(writer.send(step))
            await asyncio.to_thread(end)
            (outcome,) = await sending
        assert (outcome.result, outcome.error) == ("unknown", "unknown"), outcome
    rig.run("alice", "scancel", pending, check=False)


async def test_hostile_names(rig: Rig) -> None:
    reader, _ = open_as(rig, "bob")
    names = {row.name for row in await reader.list_jobs()}
    for part in ("bad\\xff\\xfe\\xc3(", "a|b|c", "  lead and trail  ", "A=B JobId=999 UserId=root(0)", "--help",
                 "line1␊line2␉tab␍", "日本語のジョブ名前テスト 한국어"):  # fmt: skip
        assert part in names, part
    assert not any(char in name for name in names for char in "\x1b\n\u202e\u200b")
