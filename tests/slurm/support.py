"""What the tests of this folder share: an adapter on the rig as one of its users, and a plan carried out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from adapters.intents import Intent, Outcome, Plan
from adapters.model import Ref
from adapters.polling import CallMeter
from adapters.slurm import SlurmOptions, SlurmReader, SlurmWriter
from tests.rigs.slurm.rig import Rig

CLUSTER = "rig"


def open_as(rig: Rig, user: str, **options: Any) -> tuple[SlurmReader, SlurmWriter]:
    """Reader and Writer of the rig as `user`, without a cap on calls."""
    settings = SlurmOptions(CLUSTER, login=user, bin_dir=str(rig.bin_dir(user)) if user != "root" else None,
                            base=rig.environment(), **options)  # fmt: skip
    reader = SlurmReader(settings, CallMeter(limit=None))
    return reader, SlurmWriter(reader.calls, reader.facts, sleep=_soon)


async def _soon(_: float) -> None:
    await asyncio.sleep(0.2)


def job(id: str, born: str | None = None) -> Ref:
    return Ref(CLUSTER, "job", id, born)


def node(name: str) -> Ref:
    return Ref(CLUSTER, "node", name)


async def carry_out(writer: SlurmWriter, intent: Intent) -> tuple[Plan, list[Outcome]]:
    """Plan and send every step, as the gate does after a person has said yes."""
    plan = await writer.plan(intent)
    return plan, [outcome for step in plan.steps for outcome in await writer.send(step)]


async def until_true(condition: Callable[[], Awaitable[object]], seconds: float = 30.0) -> None:
    """Look again until the condition holds; AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        await asyncio.sleep(0.1)
