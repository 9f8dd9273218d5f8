"""The LSF adapter over a double of LSF's commands (IBM LSF itself cannot be run here)."""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from adapters.base import Reader, Writer
from adapters.intents import (
    CancelJob,
    CheckpointJob,
    CloseQueue,
    CreateReservation,
    DeleteReservation,
    DrainNode,
    HoldJob,
    Intent,
    ModifyJob,
    OpenQueue,
    ReleaseJob,
    RequeueJob,
    ResumeJob,
    SetNodeQuota,
    SubmitJob,
    SuspendJob,
    UndrainNode,
)
from adapters.lsf import open_lsf
from adapters.model import Dependency, JobSpec, Kind, Ref
from adapters.plan import Request
from tests.console.waiting import until
from tests.contract.harness import Allowed, ErrorCase, Lesser, Logged
from tests.doubles.lsf.double import LsfDouble

NAME = "lsf"
CLUSTER = "lsf"
HOSTILE = "a\tb \x1b[31m[bold]x[/]^|\u202e\udcff"
"""TAB, an escape, markup, both delimiters, a bidirectional override and a byte that is no UTF-8."""
FAST: dict[str, Any] = {
    "own_interval": 0.3,
    "interval": 0.4,
    "floor": 0.0,
    "calls_per_minute": None,
    "read_timeout": 8.0,
    "write_timeout": 1.5,
    "check_after_write": 0.1,
    "back_off": (0.2,),
}


def me() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


@contextmanager
def start_backend(folder: Path) -> Iterator[Path]:
    """Nothing runs between two commands: each test gets a double of its own."""
    yield folder


class LsfHarness:
    """A double of LSF in `folder`, and the adapter on it."""

    allowed = Allowed(
        errors={
            "conflict": "LSF has no preconditions on reads; a conflict is the outcome of a write, and tested as one.",
        },
    )

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.double = LsfDouble(folder / "lsf")
        with self.double.world() as world:
            world["admins"] = [me()]
        self.reader, self.writer = self._open()

    def _open(self, **options: Any) -> tuple[Reader, Writer]:
        return open_lsf(CLUSTER, environment=self.double.environment, **(FAST | options))

    def _job(self, **fields: Any) -> str:
        now = int(time.time())
        base = {"user": me(), "submit": now - 100} | fields
        if base.get("stat", "PEND") not in ("PEND", "PSUSP"):
            base = {"start": now - 90, "hosts": ["node01"]} | base
        return str(self.double.job(**base))

    async def populate(self) -> None:
        now = int(time.time())
        more = {"runlimit": 60, "memlimit": 100, "slots": 2, "hosts": ["node01", "node03"], "gpus": 2}
        self._job(stat="RUN", name=HOSTILE, output="/tmp/run.%J.out", description="a [red]description[/]", **more)
        self._job(dependency="done(101)", pend_reason="Job dependency condition not satisfied;")
        self._job(stat="PSUSP", user="ben")
        self._job(stat="USUSP", user="ben")
        self._job(stat="UNKWN")
        self._job(stat="DONE", end=now - 10)
        self._job(stat="EXIT", end=now - 10, exit=3)
        self._job(stat="EXIT", end=now - 10, exit=130, exit_reason="TERM_OWNER: job killed by owner")
        array = int(self._job(name="arr", index=1))
        self.double.job(id=array, user=me(), name="arr", index=2, submit=now - 100)
        with self.double.world() as world:
            world["hosts"]["node02"] |= {"closed": True, "comment": "disk \x1b[1m[b]x[/b]"}

    def _ref(self, kind: Kind, id: str) -> Ref:
        return Ref(CLUSTER, kind, id)

    async def intent(self, verb: str) -> Intent:
        made = _JOB_INTENTS.get(verb)
        if made is not None:
            kind, fields, more = made
            job = self._job(**fields)
            return kind.model_validate({"cluster": CLUSTER, "refs": (self._ref("job", job),), **more})
        if verb == "submit":
            parent = self._job()
            spec = JobSpec(
                command=("echo", "it's; $HOME"), name="n", cores=2, memory_bytes=4_000_000_000, walltime_seconds=90,
                dependencies=(Dependency(parent, "afterany"),), env={"A": "1"}, output="out.%J",
            )  # fmt: skip
            return SubmitJob(cluster=CLUSTER, spec=spec)
        return self._operator_intent(verb)

    def _operator_intent(self, verb: str) -> Intent:
        node, queue = (self._ref("node", "node01"),), (self._ref("queue", "short"),)
        with self.double.world() as world:
            world["hosts"]["node01"]["closed"] = verb == "undrain"
            world["queues"]["short"] |= {"open": verb != "open_queue", "active": verb != "open_queue"}
            name = f"r{uuid4().hex[:8]}"
            if verb == "delete_reservation":
                made = {"user": me(), "slots": 8, "hosts": "node01", "window": "1:0-2:0"}
                world["reservations"][name] = made
        intents: dict[str, Intent] = {
            "drain": DrainNode(cluster=CLUSTER, refs=node, reason="disk; [bold]replace[/]"),
            "undrain": UndrainNode(cluster=CLUSTER, refs=node),
            "set_node_quota": SetNodeQuota(cluster=CLUSTER, refs=node, slots=4),
            "close_queue": CloseQueue(cluster=CLUSTER, refs=queue, what="both", reason="maintenance"),
            "open_queue": OpenQueue(cluster=CLUSTER, refs=queue),
            "create_reservation": CreateReservation(
                cluster=CLUSTER, name=name, nodes=("node01",), duration_seconds=3600
            ),
        }
        if verb == "delete_reservation":
            return DeleteReservation(cluster=CLUSTER, refs=(self._ref("reservation", name),))
        return intents[verb]

    def received(self) -> Sequence[Request]:
        return self.double.received()

    @asynccontextmanager
    async def mute(self) -> AsyncIterator[None]:
        with self.double.mode(mute=True):
            yield

    @asynccontextmanager
    async def garble(self) -> AsyncIterator[None]:
        with self.double.mode(garble=True):
            yield

    @asynccontextmanager
    async def refuse(self) -> AsyncIterator[str]:
        with self.double.mode(deny=True):
            yield "User permission denied"

    async def change(self, random: Random) -> str:
        now = int(time.time())
        what = random.choice(["submit", "start", "finish", "forget", "drain", "quota", "close"])
        with self.double.world() as world:
            waiting = [job for job in world["jobs"] if job["stat"] == "PEND"]
            running = [job for job in world["jobs"] if job["stat"] == "RUN"]
            if what == "start" and waiting:
                random.choice(waiting).update(stat="RUN", start=now, hosts=[random.choice(["node01", "node03"])])
            elif what == "finish" and running:
                random.choice(running).update(stat="DONE", end=now)
            elif what == "forget" and world["jobs"]:
                world["jobs"].remove(random.choice(world["jobs"]))
            elif what == "drain":
                host = world["hosts"][random.choice(list(world["hosts"]))]
                host["closed"] = not host["closed"]
            elif what == "quota":
                world["hosts"]["node03"]["max"] = random.choice([None, 0, 2, 8])
            elif what == "close":
                world["queues"]["short"]["open"] = random.choice([True, False])
        if what == "submit":
            self._job(user=random.choice([me(), "ben"]), name=f"j{random.randint(0, 9)}")
        return what

    async def cut(self, random: Random) -> None:
        """An answer that cannot be read, or none at all, for the watch that polls; the next ones are whole again."""
        mode = random.choice(["invalid_json", "noisy", "rate_limited"])
        before = len(self.double.asked())
        with self.double.mode(**{mode: True}), suppress(AssertionError):
            await until(lambda: len(self.double.asked()) > before, 3.0)

    def error_cases(self) -> Mapping[str, ErrorCase]:
        return {
            "unreachable": self._unreachable,
            "unavailable": self._unavailable,
            "unauthenticated": lambda: self._answered("Failed in an LSF library call: External authentication failed"),
            "forbidden": lambda: self._answered("User permission denied"),
            "not_found": lambda: self._answered("nosuch: No such queue"),
            "invalid": lambda: self.reader.get_job("0"),
            "unsupported": self._unsupported,
            "protocol": lambda: self._answered("a sentence nobody knows"),
        }

    async def _answered(self, stderr: str) -> object:
        """The adapter's very query of queues, answered with one line on stderr."""
        asked = len(self.double.asked())
        await self.reader.list_queues()
        argv = next(argv for argv in self.double.asked()[asked:] if argv[0] == "bqueues")
        with self.double.mode(answers={" ".join(argv): {"stderr": stderr + "\n", "rc": 255}}):
            return await self.reader.list_queues()

    async def _unreachable(self) -> object:
        environment = {**self.double.environment, "PATH": str(self.folder)}
        reader, _ = open_lsf(CLUSTER, environment=environment)
        return await reader.list_queues()

    async def _unavailable(self) -> object:
        with self.double.mode(rate_limited=True):
            return await self.reader.list_queues()

    async def _unsupported(self) -> object:
        reader, _ = self._without("bacct")
        return await reader.history()

    def _without(self, *commands: str) -> tuple[Reader, Writer]:
        double = LsfDouble(self.folder / f"lsf-without-{uuid4().hex[:6]}", without=commands)
        (double.folder / "lsf.conf").write_text("LSF_UNIT_FOR_LIMITS=MB\n")
        return open_lsf(CLUSTER, **(FAST | {"environment": double.environment | {"PATH": str(double.bin)}}))

    @asynccontextmanager
    async def lesser(self) -> AsyncIterator[Lesser]:
        """A compatible scheduler without accounting, reservations and live reconfiguration."""
        reader, _ = self._without("bacct", "bhist", "brsvadd", "bchkpnt", "bconf")
        verbs = frozenset({"create_reservation", "checkpoint", "set_node_quota"})
        yield Lesser(reader, verbs, frozenset({"history", "quota", "checkpoint"}))

    async def logged_job(self) -> Logged | None:
        out, err = b"one\ntwo \xff\x1b[31m\nthree\n", b"oops\n"
        (self.folder / "job.out").write_bytes(out)
        (self.folder / "job.err").write_bytes(err)
        files = {"output": str(self.folder / "job.out"), "error": str(self.folder / "job.err")}
        return Logged(self._job(stat="DONE", end=int(time.time()), **files), out, err)


_JOB_INTENTS: Mapping[str, tuple[type[Intent], dict[str, Any], dict[str, Any]]] = {
    "cancel": (CancelJob, {}, {}),
    "hold": (HoldJob, {}, {}),
    "release": (ReleaseJob, {"stat": "PSUSP"}, {}),
    "suspend": (SuspendJob, {"stat": "RUN"}, {}),
    "resume": (ResumeJob, {"stat": "USUSP"}, {}),
    "requeue": (RequeueJob, {"stat": "RUN"}, {}),
    "checkpoint": (CheckpointJob, {"stat": "RUN"}, {}),
    "modify": (
        ModifyJob,
        {},
        {"name": "new", "queue": "short", "memory_bytes": 2 * 1024**3, "extensions": {"position": "top"}},
    ),
}


def open_harness(backend: Path, folder: Path) -> AbstractAsyncContextManager[LsfHarness]:
    return _open(folder)


@asynccontextmanager
async def _open(folder: Path) -> AsyncIterator[LsfHarness]:
    harness = LsfHarness(folder)
    try:
        yield harness
    finally:
        harness.double.set_mode()  # ends commands that were told never to end
        await harness.reader.close()
        await harness.writer.close()
