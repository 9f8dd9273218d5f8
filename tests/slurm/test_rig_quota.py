"""Quotas of nodes by reservations, against a real Slurm: real jobs, none of which may be harmed."""

from __future__ import annotations

import asyncio

import pytest

from adapters.base import Conflict
from adapters.intents import DrainNode, Outcome, SetNodeQuota, UndrainNode
from adapters.model import Node
from adapters.slurm import SlurmReader
from tests.rigs.slurm.rig import Rig, until
from tests.slurm.support import CLUSTER, carry_out, node, open_as, until_true

pytestmark = pytest.mark.rig


def quota(name: str, slots: int | None) -> SetNodeQuota:
    return SetNodeQuota(cluster=CLUSTER, refs=(node(name),), slots=slots)


async def row(reader: SlurmReader, name: str) -> Node:
    return next(each for each in await reader.list_nodes() if each.name == name)


def accepted(outcomes: list[Outcome]) -> bool:
    return all(outcome.result == "accepted" for outcome in outcomes)


async def test_an_operator_sets_raises_lowers_and_clears(rig: Rig) -> None:
    """And a console that is started anew finds the quota again."""
    _, oper = open_as(rig, "oper")
    reader, _ = open_as(rig, "alice")
    name = "n04"
    total = (await row(reader, name)).slots_total
    assert total == 32
    for slots in (24, 28, 20, 26):
        _, outcomes = await carry_out(oper, quota(name, slots))
        assert accepted(outcomes), outcomes
        now = await row(open_as(rig, "bob")[0], name)
        assert now.slots_quota == slots and "quota_wanted" not in now.extensions
        held = [each for each in await reader.list_reservations() if each.name.startswith(f"pilothouse_quota_{name}_")]
        assert sum(each.cores or 0 for each in held) == total - slots
        assert all(each.users == ("root",) and each.node_names == (name,) for each in held)
    with pytest.raises(Conflict, match="is 26 already"):
        await oper.plan(quota(name, 26))
    _, outcomes = await carry_out(oper, quota(name, None))
    assert accepted(outcomes) and (await row(reader, name)).slots_quota is None
    with pytest.raises(Conflict, match="no quota to lift"):
        await oper.plan(quota(name, total))


async def test_new_jobs_get_only_what_is_left(rig: Rig) -> None:
    reader, _ = open_as(rig, "alice")
    _, oper = open_as(rig, "oper")
    name = "n04"
    used = (await row(reader, name)).slots_used or 0
    _, outcomes = await carry_out(oper, quota(name, used + 3))
    assert accepted(outcomes)
    try:
        big, small = rig.submit("alice", "-N1", "-w", name, "-c", "4"), rig.submit("alice", "-w", name, "-c", "3")
        rig.until_state(small, "RUNNING")
        assert rig.state(big) == "PENDING"
        until(lambda: rig.run("alice", "squeue", "-h", "-j", big, "-o", "%r").strip() not in (b"None", b""), what="why")
        assert rig.state(big) == "PENDING"
        _, outcomes = await carry_out(oper, quota(name, None))
        assert accepted(outcomes)
        rig.until_state(big, "RUNNING")
        rig.run("alice", "scancel", big, small)
    finally:
        await _lift(rig, name)


async def _lift(rig: Rig, name: str) -> None:
    """Whatever a test left, the next one finds the node without a quota."""
    reader, root = open_as(rig, "root")
    if (await row(reader, name)).slots_quota is not None:
        await carry_out(root, quota(name, None))


async def test_below_what_runs_nothing_is_killed_and_nothing_new_starts(rig: Rig) -> None:
    reader, _ = open_as(rig, "alice")
    _, oper = open_as(rig, "oper", quota_wait=60.0)
    version = await reader.facts.version()
    name = "n04"
    first, second = (rig.submit("alice", "-w", name, "-c", "5") for _ in range(2))
    rig.until_state(first, "RUNNING")
    rig.until_state(second, "RUNNING")
    used = (await row(reader, name)).slots_used or 0
    plan = await oper.plan(quota(name, used - 4))
    assert any("none is ended" in warning for warning in plan.warnings)
    sending = asyncio.create_task(_send_all(oper, plan))
    try:
        await until_true(lambda: _has_quota(reader, name, used - 4))
        waiting = rig.submit("alice", "-w", name, "-c", "1")
        if version.reserves_busy_cores:
            await asyncio.wait_for(asyncio.shield(sending), 30)
        else:
            assert not sending.done(), "the rest waits for cores to fall free"
            assert (await row(reader, name)).extensions["quota_wanted"] == used - 4
        assert rig.state(first) == rig.state(second) == "RUNNING" and rig.state(waiting) == "PENDING"
        rig.run("alice", "scancel", first)
        assert accepted(await asyncio.wait_for(sending, 90))
        assert (await row(reader, name)).extensions.get("quota_wanted") is None
        assert rig.state(second) == "RUNNING"
        if version.reserves_busy_cores:
            # What the ended job gave back is the quota's but for one core, which the waiting job may have.
            await until_true(lambda: _uses_at_most(reader, name, used - 4))
        rig.run("alice", "scancel", second, waiting)
    finally:
        sending.cancel()
        await _lift(rig, name)


async def _send_all(writer, plan):  # type: ignore[no-untyped-def]
    return [outcome for step in plan.steps for outcome in await writer.send(step)]


async def _has_quota(reader: SlurmReader, name: str, slots: int) -> bool:
    return (await row(reader, name)).slots_quota == slots


async def _uses_at_most(reader: SlurmReader, name: str, slots: int) -> bool:
    return ((await row(reader, name)).slots_used or 0) <= slots


async def test_a_quota_of_zero_pauses_the_node(rig: Rig) -> None:
    reader, _ = open_as(rig, "alice")
    _, oper = open_as(rig, "oper", quota_wait=1.0)
    name = "n05"
    plan, outcomes = await carry_out(oper, quota(name, 0))
    try:
        assert any("All cores" in warning for warning in plan.warnings)
        if (await reader.facts.version()).reserves_busy_cores:
            assert accepted(outcomes), outcomes
        else:
            assert outcomes[0].result == "accepted" and outcomes[-1].error == "conflict"
        assert (await row(reader, name)).slots_quota == 0
        waiting = rig.submit("alice", "-p", "gpu", "-w", name)
        until(lambda: rig.run("alice", "squeue", "-h", "-j", waiting, "-o", "%r").strip() not in (b"None", b""))
        assert rig.state(waiting) == "PENDING"
        rig.run("alice", "scancel", waiting)
    finally:
        await _lift(rig, name)


async def test_on_a_node_of_somebody_elses_reservation(rig: Rig) -> None:
    """Without `flags=overlap` Slurm refuses it, also for a reservation that has not begun."""
    reader, _ = open_as(rig, "alice")
    _, oper = open_as(rig, "oper")
    name = "n04"
    rig.run("root", "scontrol", "create", "reservation", "reservationname=exam", "starttime=now+6hours", "duration=60",
            f"nodes={name}", "users=alice", "flags=ignore_jobs")  # fmt: skip
    try:
        assert (await row(reader, name)).extensions["reservations"] == ("exam",)
        for slots in (28, 30, 26):
            plan, outcomes = await carry_out(oper, quota(name, slots))
            assert accepted(outcomes), (plan.steps, outcomes)
            assert any("exam" in warning for warning in plan.warnings)
            now = await row(reader, name)
            assert now.slots_quota == slots and "quota_wanted" not in now.extensions
        _, outcomes = await carry_out(oper, quota(name, None))
        assert accepted(outcomes)
        assert (await row(reader, name)).extensions["reservations"] == ("exam",)
    finally:
        await _lift(rig, name)
        rig.run("root", "scontrol", "delete", "reservationname=exam")


async def test_who_may_not_is_told_why(rig: Rig) -> None:
    reader, alice = open_as(rig, "alice")
    reason = (await reader.capabilities()).why_not("set_node_quota")
    assert reason == "Slurm lets only operators limit nodes (by reservations); alice is an ordinary user."
    plan = await alice.plan(quota("n04", 30))
    (outcome,) = await alice.send(plan.steps[0])
    assert (outcome.result, outcome.error) == ("refused", "forbidden")
    operator = await open_as(rig, "oper")[0].capabilities()
    assert operator.why_not("set_node_quota") is None
    assert "set the node's quota to 0 instead" in (operator.why_not("drain") or "")


async def test_a_drained_node_has_no_cores_to_set_apart(rig: Rig) -> None:
    _, root = open_as(rig, "root")
    await carry_out(root, DrainNode(cluster=CLUSTER, refs=(node("n06"),), reason="test"))
    try:
        with pytest.raises(Conflict, match=r"n06 is .*drain"):
            await root.plan(quota("n06", 2))
    finally:
        await carry_out(root, UndrainNode(cluster=CLUSTER, refs=(node("n06"),)))
