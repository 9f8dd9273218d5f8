"""The Slurm adapter on a real Slurm of this machine; where none can be started, its tests say why they are skipped."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest

from adapters.base import JobFilter
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
from adapters.model import JobSpec, Ref
from adapters.plan import Command, Request
from adapters.polling import CallMeter
from adapters.slurm import SlurmOptions, SlurmReader, SlurmWriter
from tests.contract.harness import Allowed, ErrorCase, Lesser, Logged
from tests.rigs.slurm.rig import COMMANDS, Rig, running_rig, until, why_not

NAME = "slurm"
CLUSTER = "rig"
HOSTILE = "a|b \x1b[31m[bold]x[/]\u202e\n日本"
SHIM = Path(__file__).parent.parent / "rigs" / "slurm" / "shim.py"
FAST = {"jobs_every": 0.3, "nodes_every": 0.3}


@contextmanager
def start_backend(folder: Path) -> Iterator[Rig]:
    """One cluster for all tests, with jobs in every state that comes about quickly."""
    if (reason := why_not()) is not None:
        pytest.skip(f"no real Slurm here: {reason}")
    place = Path("/tmp") / f"slurm-contract-{os.getpid()}"
    root = os.environ.get("SLURMRIG_ROOT")
    with running_rig(place, root=Path(root) if root else None, settings={"SLURMRIG_DEFER": ""}) as rig:
        _world(rig)
        yield rig


def _world(rig: Rig) -> None:
    failed = rig.submit("alice", "-w", "n01", wrap="exit 3")
    cancelled = rig.submit("alice", "-w", "n01")
    gpu = rig.submit("bob", "-A", "physics", "-p", "gpu", "--gres=gpu:a100:1", "-t", "60")
    rig.until_state(cancelled, "RUNNING")
    rig.run("alice", "scancel", cancelled)
    rig.submit("alice", f"--dependency=afterany:{gpu}", "-J", HOSTILE, "--comment", HOSTILE)
    rig.submit("alice", "--hold", "--array=0-9%2")
    suspended = rig.submit("carol", "-A", "bio", "-w", "n02")
    for id, state in ((gpu, "RUNNING"), (suspended, "RUNNING"), (failed, "FAILED"), (cancelled, "CANCELLED")):
        rig.until_state(id, state)
    rig.run("root", "scontrol", "suspend", suspended)
    rig.run("root", "scontrol", "create", "reservation", "reservationname=always", "starttime=now", "duration=60",
            "nodes=n06", "corecnt=1", "users=alice")  # fmt: skip
    rig.run("oper", "scontrol", "create", "reservation", "reservationname=pilothouse_quota_n05_6_1", "starttime=now",
            "duration=60", "nodes=n05", "corecnt=2", "users=root")  # fmt: skip


class SlurmHarness:
    """One test's commands before the rig, run as root."""

    def __init__(self, rig: Rig, folder: Path, user: str = "root") -> None:
        self.rig = rig
        self.folder = folder
        self.allowed = Allowed()
        self.reader, self.writer = self._open(user, folder)

    def _open(self, user: str, folder: Path) -> tuple[SlurmReader, SlurmWriter]:
        # The shim becomes another user only after it has written its notes, so that its folder may stay private.
        bin_dir = folder / f"bin-{user}"
        bin_dir.mkdir()
        for name in COMMANDS:
            real = shutil.which(name, path=self.rig.environment()["PATH"])
            script = f'#!/bin/sh\nexec {sys.executable} -S -E {SHIM} {folder} {user} {real} "$@"\n'
            (bin_dir / name).write_text(script)
            (bin_dir / name).chmod(0o755)
        options = SlurmOptions(CLUSTER, login=user, bin_dir=str(bin_dir), base=self.rig.environment(),
                               write_timeout=1.5)  # fmt: skip
        reader = SlurmReader(options, CallMeter(limit=None), intervals=(FAST["jobs_every"], FAST["nodes_every"]))
        return reader, SlurmWriter(reader.calls, reader.facts)

    async def populate(self) -> None:
        """The world was made when the cluster was started; a test before may have changed it, but not undone it."""

    def _job(self, *arguments: str, running: bool = False) -> Ref:
        id = self.rig.submit("alice", *(["-w", "n03"] if running else ["--begin=now+5hours"]), *arguments)
        if running:
            self.rig.until_state(id, "RUNNING")
        return Ref(CLUSTER, "job", id)

    async def intent(self, verb: str) -> Intent:
        return await asyncio.to_thread(self._intent, verb)

    def _intent(self, verb: str) -> Intent:
        n04 = (Ref(CLUSTER, "node", "n04"),)
        debug = (Ref(CLUSTER, "queue", "debug"),)
        if verb == "submit":
            return SubmitJob(cluster=CLUSTER, spec=JobSpec(command=("sleep", "600"), hold=True, output="/dev/null"))
        if verb in _PENDING:
            return _PENDING[verb](cluster=CLUSTER, refs=(self._job(),))
        if verb == "modify":
            return ModifyJob(cluster=CLUSTER, refs=(self._job(),), name="other | name", walltime_seconds=600)
        if verb in ("suspend", "resume", "requeue"):
            job = self._job("--requeue", running=True)
            if verb == "resume":
                self.rig.run("root", "scontrol", "suspend", job.id)
            return _RUNNING[verb](cluster=CLUSTER, refs=(job,))
        if verb == "set_node_quota":
            return SetNodeQuota(cluster=CLUSTER, refs=n04, slots=20)
        if verb == "drain":
            reason = 'bad [bold]DIMM[/] | "4711" 日本'
            return DrainNode(cluster=CLUSTER, refs=(Ref(CLUSTER, "node", "n01"),), reason=reason)
        if verb == "undrain":
            return UndrainNode(cluster=CLUSTER, refs=(Ref(CLUSTER, "node", "n07"),))
        if verb == "open_queue":
            return OpenQueue(cluster=CLUSTER, refs=debug)
        if verb == "close_queue":
            return CloseQueue(cluster=CLUSTER, refs=debug, what="starts")
        name = f"r{uuid4().hex[:8]}"
        if verb == "create_reservation":
            return CreateReservation(cluster=CLUSTER, name=name, nodes=("n03",), cores=1, users=("alice",),
                                     duration_seconds=3600)  # fmt: skip
        assert verb == "delete_reservation", verb
        self.rig.run("root", "scontrol", "create", "reservation", f"reservationname={name}", "starttime=now",
                     "duration=60", "nodes=n03", "corecnt=1", "users=alice")  # fmt: skip
        return DeleteReservation(cluster=CLUSTER, refs=(Ref(CLUSTER, "reservation", name),))

    def received(self) -> Sequence[Request]:
        found = []
        with suppress(FileNotFoundError):
            for line in (self.folder / "received.jsonl").read_text().splitlines():
                entry = json.loads(line)
                found.append(Command(tuple(entry["argv"]), base64.b64decode(entry["stdin"]) or None))
        return found

    @asynccontextmanager
    async def _switch(self, name: str, text: str = "") -> AsyncIterator[str]:
        (self.folder / name).write_text(text)
        try:
            yield text
        finally:
            (self.folder / name).unlink()

    @asynccontextmanager
    async def mute(self) -> AsyncIterator[None]:
        async with self._switch("mute"):
            yield

    @asynccontextmanager
    async def garble(self) -> AsyncIterator[None]:
        words = "scancel: error: Kill job error on job id 1: Socket timed out on send/recv operation"
        async with self._switch("garble", words):
            yield

    @asynccontextmanager
    async def refuse(self) -> AsyncIterator[str]:
        async with self._switch("refuse", "scancel: error: Kill job error on job id 1: Access/permission denied"):
            yield "Access/permission denied"

    async def change(self, random: Random) -> str:
        return await asyncio.to_thread(self._change, random)

    def _change(self, random: Random) -> str:
        what = random.choice(("submit", "array", "cancel", "drain", "undrain", "partition", "reserve", "start"))
        if what == "submit":
            self.rig.submit("alice", "--begin=now+5hours")
        elif what == "array":
            self.rig.submit("alice", "--begin=now+5hours", "--array=0-5")
        elif what == "start":
            self.rig.submit("alice", "-w", "n03", wrap="exit 1")
        elif what == "cancel":
            self.rig.run("root", "scancel", "--state=PENDING", "--user=alice", "--name=wrap")
        elif what in ("drain", "undrain"):
            self.rig.run("root", "scontrol", "update", "nodename=n02", f"state={what}", "reason=x")
        elif what == "partition":
            self.rig.run("root", "scontrol", "update", "partitionname=debug", f"state={random.choice(('up', 'down'))}")
        else:
            name = f"pilothouse_quota_n03_{random.randint(20, 30)}_{random.randint(1, 10**6)}"
            self.rig.run("root", "scontrol", "create", "reservation", f"reservationname={name}", "starttime=now",
                         "duration=60", "nodes=n03", "corecnt=1", "users=root", check=False)  # fmt: skip
        return what

    async def cut(self, random: Random) -> None:
        (self.folder / "lost").write_text(str(random.randint(1, 3)))

    def error_cases(self) -> Mapping[str, ErrorCase]:
        reader, writer = self.reader, self.writer

        async def said(text: str) -> object:
            async with self._switch("say", text):
                return await reader.list_jobs()

        async def nowhere() -> object:
            options = SlurmOptions(CLUSTER, base={"PATH": str(self.folder)})
            return await SlurmReader(options, CallMeter(limit=None)).list_jobs()

        async def frozen() -> object:
            options = SlurmOptions(CLUSTER, base=self.rig.environment(), read_timeout=1.0)
            with self.rig.frozen():
                return await SlurmReader(options, CallMeter(limit=None)).list_jobs()

        async def cut() -> object:
            (self.folder / "cut").write_text("1")
            return await reader.list_jobs()

        async def drained() -> object:
            self.rig.run("root", "scontrol", "update", "nodename=n08", "state=down", "reason=no power")
            return await writer.plan(SetNodeQuota(cluster=CLUSTER, refs=(Ref(CLUSTER, "node", "n08"),), slots=2))

        return {
            "unreachable": nowhere,
            "unavailable": frozen,
            "unauthenticated": lambda: said("slurm_load_jobs error: Protocol authentication error"),
            "forbidden": lambda: said("slurm_load_jobs error: Access/permission denied"),
            "not_found": lambda: reader.get_job("999999"),
            "conflict": drained,
            "invalid": lambda: reader.list_jobs(JobFilter(ids=("1; rm -rf /",))),
            "unsupported": lambda: writer.plan(CheckpointJob(cluster=CLUSTER, refs=(self._job(),))),
            "protocol": cut,
        }

    @asynccontextmanager
    async def lesser(self) -> AsyncIterator[Lesser]:
        """The same cluster for an ordinary user."""
        reader, _ = self._open("alice", self.folder)
        yield Lesser(reader, frozenset({"drain", "undrain", "set_node_quota", "open_queue", "create_reservation"}))

    async def logged_job(self) -> Logged:
        return await asyncio.to_thread(self._logged)

    def _logged(self) -> Logged:
        out, err = (self.folder / name for name in ("out", "err"))
        place = self.rig.folder / "out" / uuid4().hex
        wrap = "printf 'one\\ntwo\\377\\nthree\\n'; echo oops >&2"
        id = self.rig.run("alice", "sbatch", "--parsable", "--mem=20", "-w", "n03", "-o", f"{place}-%j-{out.name}",
                          "-e", f"{place}-%j-{err.name}", "--wrap", wrap).decode().strip()  # fmt: skip
        until(lambda: self.rig.state(id) == "COMPLETED", what="the job with known output")
        return Logged(id, b"one\ntwo\xff\nthree\n", b"oops\n")


_PENDING: Mapping[str, type[CancelJob] | type[HoldJob] | type[ReleaseJob]] = {
    "cancel": CancelJob, "hold": HoldJob, "release": ReleaseJob,
}  # fmt: skip
_RUNNING: Mapping[str, type[SuspendJob] | type[ResumeJob] | type[RequeueJob]] = {
    "suspend": SuspendJob, "resume": ResumeJob, "requeue": RequeueJob,
}  # fmt: skip


@asynccontextmanager
async def open_harness(backend: Rig, folder: Path) -> AsyncIterator[SlurmHarness]:
    harness = SlurmHarness(backend, folder)
    try:
        yield harness
    finally:
        for switch in ("mute", "say", "refuse", "garble"):
            (folder / switch).unlink(missing_ok=True)
        await asyncio.to_thread(_tidy, backend)


def _tidy(rig: Rig) -> None:
    """What a test leaves running or closed does not reach the next one; the world of the start stays."""
    rig.run("root", "scancel", "--name=wrap,sleep", "--state=RUNNING", "--nodelist=n03", check=False)
    rig.run("root", "scontrol", "update", "nodename=n01,n02", "state=undrain", check=False)
    rig.run("root", "scontrol", "update", "partitionname=debug", "state=up", check=False)
    rig.run("root", "scontrol", "update", "nodename=n07", "state=drain", "reason=bad DIMM, ticket 4711", check=False)
    for line in rig.run("root", "scontrol", "-o", "show", "reservation", check=False).decode().splitlines():
        name = line.split()[0].partition("=")[2] if line.startswith("ReservationName=") else ""
        if name and name not in ("always", "pilothouse_quota_n05_6_1"):
            rig.run("root", "scontrol", "delete", f"reservationname={name}", check=False)
