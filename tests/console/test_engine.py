"""The engine: what cannot be opened is a state, and stopping leaves nothing behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapters.base import Invalid, NotFound, Reader, Unreachable, Writer
from adapters.intents import CancelJob
from adapters.model import Job, Ref
from console.adapters import open_cluster
from console.audit import AuditLog
from console.config import Config, ConfigError
from console.engine import Engine
from console.gate import Refused
from console.profiles import Profile
from tests.console.conftest import config
from tests.console.waiting import until
from tests.doubles.memory_backend import MemoryBackend


def two() -> Config:
    profile = {"type": "native", "url": "http://127.0.0.1:1"}
    return Config.model_validate(
        {"version": 1, "default_cluster": "b", "clusters": {"a": dict(profile), "b": dict(profile)}}
    )


async def test_rows_of_several_clusters_arrive(audit: AuditLog) -> None:
    backends = {name: MemoryBackend(name, [Job("1", status="running")]) for name in ("a", "b")}

    def open_with(name: str, profile: Profile) -> tuple[Reader, Writer]:
        return backends[name].open()

    async with Engine(two(), audit=audit, open_with=open_with) as engine:
        await until(lambda: engine.store.count("job") == 2)
        backends["b"].put(Job("1", status="failed"))
        await until(lambda: engine.store.row(Ref("b", "job", "1")) == backends["b"].job("1"))
        assert engine.cluster().name == "b" and engine.cluster("a").name == "a"
        assert engine.reader("a").cluster == "a"


async def test_a_cluster_that_cannot_be_opened_is_a_state(backend: MemoryBackend, audit: AuditLog) -> None:
    def open_with(name: str, profile: Profile) -> tuple[Reader, Writer]:
        if name == "a":
            raise Invalid("a bad url")
        return MemoryBackend(name).open()

    async with Engine(two(), audit=audit, open_with=open_with) as engine:
        await until(lambda: engine.store.state("b", "job").label == "live")
        assert engine.store.state("a", "job").label == "failed"
        assert str(engine.store.state("a", "job").error) == "a bad url"
        with pytest.raises(Invalid):
            engine.reader("a")
        with pytest.raises(Invalid, match="a bad url"):
            await engine.gate.prepare(CancelJob(cluster="a", refs=(Ref("a", "job", "1"),)))
        with pytest.raises(NotFound, match="no open cluster c"):
            await engine.gate.prepare(CancelJob(cluster="c", refs=(Ref("c", "job", "1"),)))


def test_a_type_without_an_adapter() -> None:
    from adapters.base import Unsupported

    with pytest.raises(Unsupported, match="no adapter for abacus"):
        open_cluster("x", Profile(type="abacus"))  # type: ignore[call-arg]


async def test_unknown_and_missing_clusters(engine: Engine) -> None:
    with pytest.raises(ConfigError, match="there is no cluster 'dmo'; did you mean demo"):
        engine.cluster("dmo")
    empty = Engine(Config.model_validate({"version": 1}), feeds=False)
    with pytest.raises(ConfigError, match="no cluster is configured") as failure:
        empty.cluster()
    assert "pilothouse demo" in failure.value.hint


async def test_who_we_are_is_asked_when_a_write_needs_it_and_again_after_a_failure(
    engine: Engine, backend: MemoryBackend
) -> None:
    backend.error = Unreachable("no route")
    intent = CancelJob(cluster="demo", refs=(Ref("demo", "job", "1"),))
    with pytest.raises(Unreachable):
        await engine.gate.prepare(intent)
    backend.error = None
    assert (await engine.gate.prepare(intent)).plan.steps
    assert engine.cluster().identity == backend.identity


async def test_stopping_ends_every_task(backend: MemoryBackend, audit: AuditLog) -> None:
    before = asyncio.all_tasks()
    engine = Engine(config(), audit=audit, open_with=backend.open)
    await engine.start()
    await until(lambda: engine.store.count("job"))
    reader: Any = engine.reader()
    await engine.stop()
    assert asyncio.all_tasks() == before
    assert reader.closed
    await engine.stop()


async def test_what_is_spawned_outlives_who_spawned_it(engine: Engine) -> None:
    done = asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(0.01)
        done.set()

    async def screen() -> None:
        engine.spawn(work(), "work")
        await asyncio.sleep(60)

    task = asyncio.create_task(screen())
    await asyncio.sleep(0)
    task.cancel()
    await engine.stop()
    assert done.is_set()


async def test_a_log_that_cannot_be_written_is_said_at_the_start(backend: MemoryBackend, audit: AuditLog) -> None:
    audit.paths.folder.mkdir(mode=0o755)
    async with Engine(config(), audit=audit, open_with=backend.open) as engine:
        await until(lambda: engine.audit_error)
        assert "open to others" in str(engine.audit_error)
        await until(lambda: engine.store.count("job"))  # reading goes on


async def test_a_refusal_stands_even_where_it_cannot_be_recorded(backend: MemoryBackend, audit: AuditLog) -> None:
    audit.paths.folder.mkdir(mode=0o755)
    settings = config(read_only=True)
    async with Engine(settings, feeds=False, settle=False, audit=audit, open_with=backend.open) as engine:
        with pytest.raises(Refused):
            await engine.gate.prepare(CancelJob(cluster="demo", refs=(Ref("demo", "job", "1"),)))
    assert backend.sent == [] and not audit.paths.log.exists()


async def test_a_fault_of_one_adapter_leaves_the_other_clusters(audit: AuditLog) -> None:
    def open_with(name: str, profile: Profile) -> tuple[Reader, Writer]:
        if name == "a":
            raise ZeroDivisionError("a fault of this double, on purpose")
        return MemoryBackend(name, [Job("1")]).open()

    async with Engine(two(), audit=audit, open_with=open_with) as engine:
        await until(lambda: engine.store.count("job") == 1)
        assert "ZeroDivisionError" in str(engine.store.state("a", "job").error)
