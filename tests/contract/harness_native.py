"""The native adapter on the embedded cluster: its real server, over real HTTP, through a network that can be broken.

The workers are doubles, so that jobs start, stop and end when a test says so; the server takes them for real ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import httpx

from adapters.intents import INTENTS, CheckpointJob, Intent, SetNodeQuota
from adapters.local.launch import EmbeddedCluster, launch
from adapters.local.seed import JOIN_TOKEN
from adapters.model import Dependency, JobSpec, Ref
from adapters.native import open_native
from adapters.native.token import fixed_token
from adapters.native.transport import Timeouts
from tests.contract.harness import Allowed, ErrorCase, Lesser, Logged
from tests.doubles.old_native_server import TOKEN, OldServer
from tests.doubles.scripted_worker import ScriptedWorker
from tests.doubles.serving import closed_port, serve_app
from tests.doubles.tcp_proxy import Proxy, proxy_to

NAME = "native"
CLUSTER = "embedded"
HOSTILE = "evil\u202egnp.exe\u200b\u2800"
STDOUT = b"first line\nsecond \xff line\n" + b"x" * 5000 + b"\nlast line\n"


@dataclass
class Backend:
    """The running server, its workers, and a client that goes behind the adapter's back."""

    cluster: EmbeddedCluster
    worker: ScriptedWorker
    http: httpx.Client
    keys: dict[str, str]
    populated: bool = False

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.http.request(method, path, json=body)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        return found["data"] if isinstance(found, dict) and "data" in found else found

    def submit(self, **fields: Any) -> int:
        return int(self.call("POST", "/xce/v1/jobs", {"command": "true", "queue": "normal", **fields})["jobid"])

    def running(self, **fields: Any) -> int:
        """A job that runs on the worker; nothing else that waits is started before it."""
        number = self.submit(**{"queue": "short", "priority": 100, **fields})
        while number not in self.worker.runs:
            assert self.worker.claim(fields.get("cores", 1)), f"job {number} is not given out"
        return number

    def control(self, number: int, action: str) -> None:
        self.call("POST", f"/xce/v1/jobs/{number}/control", {"action": action})
        self.worker.beat()

    def node_id(self, name: str) -> int:
        return next(int(row["id"]) for row in self.call("GET", "/api/admin/nodes") if row["name"] == name)

    def populate(self) -> None:
        """Every state, every field, once for all tests."""
        if self.populated:
            return
        self.populated = True
        first = self.running(jobname=HOSTILE, jobdescription="a\u2066b", projectname="p", resreq="select[ssd]")
        everything = {"cores": 2, "gpus": 1, "mem_limit": "100 MB", "run_limit": "00:05", "jobname": "full"}
        self.running(**everything, output="/tmp/out.txt", cwd="/", env={"A": "1"})
        suspended = self.running(jobname="suspended")
        self.control(suspended, "stop")
        self.worker.end(self.running(jobname="good"), 0)
        self.worker.end(self.running(jobname="bad"), 3)
        cancelled = self.running(jobname="cancelled")
        self.control(cancelled, "kill")
        self.submit(jobname="waits", depends_on=[{"id": str(first), "kind": "afterok"}])
        self.submit(jobname="held", hold=True)
        self.submit(jobname="array", array="1-4%2", hold=True)
        self.call("POST", f"/api/admin/nodes/{self.node_id('spare')}/quota", {"admin_max_slots": 3})
        self.call("POST", f"/api/admin/nodes/{self.node_id('spare')}/disable", {"reason": f"broken fan {HOSTILE}"})


@contextmanager
def start_backend(folder: Path) -> Iterator[Backend]:
    """The server as a real process, one worker that works, and two nodes for writes to be tried on."""
    with launch(workers=0) as cluster:
        queues = '[queues.{}]\npriority = {}\nrun_limit = "{}"\ndefault_run_limit = "00:05"\ndefault_mem = "10 MB"\n'
        text = "version = 1\n" + "".join(
            queues.format(name, priority, limit)
            for name, priority, limit in (("short", 50, "01:00"), ("normal", 30, "48:00"), ("long", 10, "99:00"))
        )
        (cluster.data_dir / "queues.toml").write_text(text)
        assert cluster.server is not None
        cluster.server.end()
        assert cluster.server.wait(20)
        cluster.restart_server()
        join = (cluster.data_dir / JOIN_TOKEN).read_text().strip()
        worker = ScriptedWorker(cluster.url, join, "work")
        headers = {"Authorization": cluster.admin_key}
        with httpx.Client(base_url=cluster.url, headers=headers, trust_env=False, timeout=20) as http:
            backend = Backend(cluster, worker, http, {})
            for role in ("mcp_readonly", "user"):
                made = backend.call("POST", "/xce/v1/apikeys", {"username": f"some {role}", "role_name": role})
                backend.keys[role] = made["key"]
            for name in ("spare", "lost"):
                other = ScriptedWorker(cluster.url, join, name, 8)
                other.stop()
            worker.start()
            try:
                yield backend
            finally:
                worker.stop()


class NativeHarness:
    """Implements `tests.contract.harness.Harness`."""

    allowed = Allowed()

    def __init__(self, backend: Backend, proxy: Proxy) -> None:
        self._backend = backend
        self._proxy = proxy
        self._token = backend.cluster.admin_key
        self.reader, self.writer = open_native(
            CLUSTER,
            proxy.url,
            lambda: self._token,
            timeouts=Timeouts(write=2.0),
            jitter=lambda: 0.0,
        )

    async def close(self) -> None:
        await self.writer.close()
        await self.reader.close()

    async def populate(self) -> None:
        await asyncio.to_thread(self._backend.populate)

    def received(self) -> Sequence[Any]:
        return list(self._proxy.received)

    async def intent(self, verb: str) -> Intent:
        values: dict[str, Any] = {"cluster": CLUSTER, **await asyncio.to_thread(self._arguments, verb)}
        return INTENTS[verb].model_validate(values)

    def _arguments(self, verb: str) -> dict[str, Any]:
        backend = self._backend
        for action in ("open", "activate"):
            backend.call("POST", "/xce/v1/queues/long/control", {"action": action})
        if verb == "submit":
            return {"spec": self._spec()}
        if verb == "create_key":
            return {"user": "carol", "role": "user"}
        if verb == "revoke_key":
            made = backend.call("POST", "/xce/v1/apikeys", {"username": "dave", "role_name": "user"})
            return {"key_id": made["id"]}
        if INTENTS[verb].kind == "node":
            more: dict[str, Any] = {"set_node_quota": {"slots": 2}, "drain": {"reason": 'fan "3" failed'}}.get(verb, {})
            name = "lost" if verb == "reissue_token" else "spare"
            state = "disable" if verb == "undrain" else "enable"
            backend.call("POST", f"/api/admin/nodes/{backend.node_id(name)}/{state}", {"reason": "test"})
            return {"refs": (Ref(CLUSTER, "node", name),), **more}
        if INTENTS[verb].kind == "queue":
            return {"refs": (Ref(CLUSTER, "queue", "long"),), **({"what": "both"} if verb == "close_queue" else {})}
        return {"refs": (Ref(CLUSTER, "job", str(self._job_for(verb))),), **self._job_arguments(verb)}

    def _job_arguments(self, verb: str) -> dict[str, Any]:
        return {"modify": {"name": "other name", "cores": 2, "walltime_seconds": 90}, "cancel": {"signal": "INT"}}.get(
            verb, {}
        )

    def _job_for(self, verb: str) -> int:
        backend = self._backend
        if verb in ("hold", "cancel", "modify"):
            return backend.submit(queue="long", priority=0, jobname=HOSTILE)
        if verb == "release":
            return backend.submit(queue="long", hold=True)
        number = backend.running()
        if verb == "resume":
            backend.control(number, "stop")
        return number

    def _spec(self) -> JobSpec:
        return JobSpec(
            command=("sh", "-c", 'echo "it\'s" $HOME; exit 3'),
            name="näme with blanks & signs",
            queue="long",
            cores=1,
            memory_bytes=1_500_001,
            walltime_seconds=61,
            dependencies=(Dependency("1", "afterany"),),
            env={"GREETING": "hello; world"},
            cwd="/tmp",
            hold=True,
            account="proj",
            extensions={"description": "a description"},
        )

    @asynccontextmanager
    async def mute(self) -> AsyncIterator[None]:
        self._proxy.writes = "mute"
        try:
            yield
        finally:
            self._proxy.writes = "pass"

    @asynccontextmanager
    async def garble(self) -> AsyncIterator[None]:
        self._proxy.writes = "garble"
        try:
            yield
        finally:
            self._proxy.writes = "pass"

    @asynccontextmanager
    async def refuse(self) -> AsyncIterator[str]:
        """The person's key becomes one that may only look."""
        self._token = self._backend.keys["mcp_readonly"]
        try:
            yield "has no permission job:control"
        finally:
            self._token = self._backend.cluster.admin_key

    async def change(self, random: Random) -> str:
        return await asyncio.to_thread(self._change, random)

    def _change(self, random: Random) -> str:
        backend = self._backend
        spare = f"/api/admin/nodes/{backend.node_id('spare')}"
        what = random.choice(("submit", "start", "end", "cancel", "quota", "drain", "undrain", "queue"))
        if what == "submit":
            backend.submit(jobname=f"made {random.random()}", queue="long")
        elif what == "start":
            backend.running(jobname="started")
        elif what == "end" and backend.worker.runs:
            backend.worker.end(random.choice(sorted(backend.worker.runs)), random.choice((0, 1)))
        elif what == "cancel":
            backend.control(backend.submit(queue="long"), "kill")
        elif what == "quota":
            backend.call("POST", f"{spare}/quota", {"admin_max_slots": random.choice((None, 0, 5))})
        elif what in ("drain", "undrain"):
            backend.call("POST", f"{spare}/{'disable' if what == 'drain' else 'enable'}", {"reason": "why"})
        else:
            action = random.choice(("close", "open"))
            backend.call("POST", "/xce/v1/queues/long/control", {"action": "open" if action == "open" else "close"})
            backend.call("POST", "/xce/v1/queues/long/control", {"action": "open"})
        return what

    async def cut(self, random: Random) -> None:
        """Every connection now, and the next few in the middle of a byte stream."""
        left = [random.randint(1, 400) for _ in range(random.randint(0, 2))]
        self._proxy.cut_after = lambda: left.pop() if left else None
        self._proxy.cut()

    def error_cases(self) -> Mapping[str, ErrorCase]:
        node = Ref(CLUSTER, "node", "spare")
        job = Ref(CLUSTER, "job", "1")
        return {
            "unreachable": self._unreachable,
            "unavailable": lambda: self._with_answer(503, b'{"code": 503, "msg": "busy", "data": null, "count": 0}'),
            "unauthenticated": lambda: self._with_token("xce_ak_wrong"),
            "forbidden": lambda: self._with_token(self._backend.worker.token),
            "not_found": lambda: self.reader.get_job("999999999"),
            "conflict": lambda: self.writer.plan(
                SetNodeQuota(cluster=CLUSTER, refs=(node,), slots=1, if_version="12345")
            ),
            "invalid": self._invalid,
            "unsupported": lambda: self.writer.plan(CheckpointJob(cluster=CLUSTER, refs=(job,))),
            "protocol": lambda: self._with_answer(200, b"<html>a proxy's page</html>"),
        }

    async def _unreachable(self) -> object:
        reader, writer = open_native(CLUSTER, closed_port(), fixed_token("x"))
        try:
            return await reader.list_jobs()
        finally:
            await writer.close()
            await reader.close()

    async def _with_answer(self, status: int, body: bytes) -> object:
        self._proxy.reads = lambda path: (status, body)
        try:
            return await self.reader.list_jobs()
        finally:
            self._proxy.reads = lambda path: None

    async def _with_token(self, token: str) -> object:
        kept, self._token = self._token, token
        try:
            return await self.reader.list_jobs()
        finally:
            self._token = kept

    async def _invalid(self) -> object:
        return [chunk async for chunk in self.reader.job_logs("1", "neither")]  # type: ignore[arg-type]

    @asynccontextmanager
    async def lesser(self) -> AsyncIterator[Lesser]:
        async with serve_app(OldServer().app()) as url:
            reader, writer = open_native("old", url, fixed_token(TOKEN))
            try:
                verbs = {"modify", "requeue", "set_node_quota", "drain", "undrain", "reissue_token", "create_key"}
                yield Lesser(reader, frozenset(verbs), frozenset({"events", "quota", "modify", "history"}))
            finally:
                await writer.close()
                await reader.close()

    async def logged_job(self) -> Logged:
        def make() -> int:
            backend = self._backend
            number = backend.running(jobname="logged")
            folder = backend.cluster.data_dir / "logs" / str(number // 1000)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.out").write_bytes(STDOUT)
            (folder / f"{number}.err").write_bytes(b"oh no\n")
            backend.worker.end(number)
            return number

        return Logged(str(await asyncio.to_thread(make)), STDOUT, b"oh no\n")


@asynccontextmanager
async def open_harness(backend: Backend, folder: Path) -> AsyncIterator[NativeHarness]:
    async with proxy_to(backend.cluster.url) as proxy:
        harness = NativeHarness(backend, proxy)
        try:
            yield harness
        finally:
            await harness.close()
