"""A fixed cluster for the tests of the screens: rows, a clock that stands still, and the application on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from textual.pilot import Pilot

from adapters.model import Job, Node, Queue, Row
from console.app import ConsoleApp
from console.audit import AuditLog
from console.config import Config
from console.engine import Engine
from console.remembered import Remembered
from console.screens.main import MainScreen
from tests.doubles.counting_driver import CountingDriver
from tests.doubles.memory_backend import MemoryBackend
from tests.doubles.settle import settle, until

NOW = datetime(2026, 11, 30, 14, 2, 3, tzinfo=UTC)
GB = 10**9
NAMES = ("align-reads", "train-resnet", "md-npt", "postprocess", "qc-report", "assemble", "render", "sweep-lr")
OWNERS = ("ada", "grace", "linus", "alice", "barbara")


def jobs(count: int = 40) -> list[Job]:
    """Jobs in every state, with the figures a real list has."""
    made = []
    for n in range(count):
        start = NOW - timedelta(minutes=7 * n + 1)
        common = Job(
            id=str(4100 + n), name=f"{NAMES[n % 8]}-{n}", queue=("batch", "gpu", "short")[n % 3], cores=2 ** (n % 5),
            memory_bytes=(n % 4 + 1) * 4 * GB, gpus=2 if n % 3 == 1 else 0, walltime_seconds=7200, owner=OWNERS[n % 5],
            submission_time=start - timedelta(minutes=3 + n),
        )  # fmt: skip
        node = (f"node-{n % 6 + 1}",)
        match n % 8:
            case 0 | 1 | 2 | 3:
                made.append(common._replace(status="running", start_time=start, node_names=node))
            case 4 | 5:
                why = ("Resources: 12 of 16 slots in use", "Dependency: afterok 4101")[n % 2]
                made.append(common._replace(status="pending", reason=why))
            case 6:
                made.append(_over(common._replace(status="succeeded", exit_code=0, node_names=node), start, 240))
            case _:
                failed = common._replace(status="failed", exit_code=137, reason="Out of memory", node_names=node)
                made.append(_over(failed, start, 41))
    return made


def _over(job: Job, start: datetime, seconds: int) -> Job:
    return job._replace(start_time=start, end_time=start + timedelta(seconds=seconds))


def queues() -> list[Queue]:
    return [
        Queue("batch", "active", 6, 9, 5, 86400),
        Queue("gpu", "active", 2, 4, 2, 43200),
        Queue("short", "draining", 6, 7, 3, 3600),
        Queue("maintenance", "inactive", 0, 0, 0),
    ]


def nodes() -> list[Node]:
    beat = NOW - timedelta(seconds=4)
    load = {"r1m": 3.4, "ut": 0.71, "mem": 21000, "io": 12}
    busy = Node(
        "node-1", "busy", 16, 12, 64 * GB, 31 * GB, 0, 0, 12, None, 16, ("ssd",), heartbeat_time=beat,
        extensions={"load": load, "version": 3},
    )  # fmt: skip
    return [
        busy,
        busy._replace(name="node-2", slots_used=8, slots_total=8, cores_total=8, cores_used=8),
        busy._replace(name="node-3", slots_used=4, slots_quota=4, slots_total=16, cores_used=4),
        busy._replace(name="node-4", status="drain", slots_used=2, reason="disk errors, ticket 4711", cores_used=2),
        busy._replace(
            name="node-5", status="down", slots_used=0, cores_used=0, heartbeat_time=NOW - timedelta(minutes=42)
        ),
        busy._replace(name="node-6", status="idle", slots_used=0, cores_used=0, gpu_count=4, gpus_used=0),
    ]


def rows() -> list[Row]:
    return [*jobs(), *queues(), *nodes()]


@dataclass
class Scene:
    """A running application, its pilot, and the backend behind it."""

    app: ConsoleApp
    pilot: Pilot[int]
    backend: MemoryBackend
    engine: Engine

    async def press(self, *keys: str) -> None:
        """Press keys as a person would, and wait for what they come to."""
        for key in keys:
            await self.pilot.press(key)
            await settle(self.pilot)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for a condition; a failure shows the screen."""
        try:
            await until(self.pilot, condition)
        except TimeoutError as error:
            raise AssertionError(f"it did not come true; on screen:\n{self.text}") from error

    async def settle(self) -> None:
        await settle(self.pilot)

    @property
    def text(self) -> str:
        """The screen, as text."""
        lines = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text for strip in lines)


def make_app(
    folder: Path, backend: MemoryBackend, *, theme: str | None = "pilothouse-dusk", read_only: bool = False,
    clock: Callable[[], datetime] = lambda: NOW, keys: Mapping[str, str] | None = None,
    others: Sequence[MemoryBackend] = (), more: Mapping[str, object] | None = None,
    remembered: Remembered | None = None,
) -> ConsoleApp:  # fmt: skip
    """The application on `backend` and `others`, its audit log in `folder`; `more` goes into the configuration."""
    backends = {b.cluster: b for b in (backend, *others)}
    config = Config.model_validate(
        {
            "version": 1, "theme": theme, "read_only": read_only, "keys": dict(keys or {}),
            "clusters": {name: {"type": "native", "url": "http://127.0.0.1:1"} for name in backends}, **(more or {}),
        }
    )  # fmt: skip
    engine = Engine(
        config, clock=clock, audit=AuditLog(folder / "audit", clock=clock),
        open_with=lambda name, profile: backends[name].open(name, profile),
    )  # fmt: skip
    return ConsoleApp(engine, driver_class=CountingDriver, remembered=remembered)


@asynccontextmanager
async def open_scene(
    folder: Path, data: Sequence[Row] | None = None, *, size: tuple[int, int] = (120, 40), loaded: bool = True,
    backend: MemoryBackend | None = None, theme: str | None = "pilothouse-dusk", read_only: bool = False,
    keys: Mapping[str, str] | None = None, others: Sequence[MemoryBackend] = (),
    more: Mapping[str, object] | None = None, remembered: Remembered | None = None,
) -> AsyncIterator[Scene]:  # fmt: skip
    """The application running on a fixed cluster; ends it whatever happens."""
    backend = backend or MemoryBackend(rows=rows() if data is None else data)
    app = make_app(
        folder, backend, theme=theme, read_only=read_only, keys=keys, others=others, more=more, remembered=remembered
    )
    CountingDriver.reset()
    try:
        async with app.run_test(headless=False, size=size, notifications=True) as pilot:
            scene = Scene(app, pilot, backend, app.engine)
            await settle(pilot)
            if loaded:
                await until(pilot, lambda: app.engine.store.state(backend.cluster, "job").loaded)
                await until(pilot, lambda: app.engine.clusters[backend.cluster].capabilities is not None)
                await until(pilot, lambda: isinstance(app.screen, MainScreen) and app.screen.up_to_date)
                await settle(pilot)
            yield scene
    finally:
        await app.engine.stop()
