"""The Kubernetes adapter in the contract suite, on the API server double."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from typing import Any, cast

from adapters.base import JobFilter
from adapters.intents import (
    CancelJob,
    CloseQueue,
    DrainNode,
    HoldJob,
    Intent,
    ModifyJob,
    OpenQueue,
    ReleaseJob,
    ResumeJob,
    SetNodeQuota,
    SetQueueQuota,
    SubmitJob,
    SuspendJob,
    UndrainNode,
)
from adapters.kubernetes import open_kubernetes
from adapters.kubernetes.reader import KubernetesReader
from adapters.kubernetes.reflector import Timing
from adapters.kubernetes.sending import Patience
from adapters.kubernetes.writer import KubernetesWriter
from adapters.model import JobSpec, Ref
from adapters.plan import Request
from tests.contract.harness import Allowed, ErrorCase, Lesser, Logged
from tests.doubles.kube_api import KubeDouble, running
from tests.doubles.kube_api.objects import bound_pod, job, node
from tests.doubles.kube_api.recordings import answer_bytes, body, fill
from tests.doubles.kube_api.server import Fault

NAME = "kubernetes"
CLUSTER = "kube"
QUICK = Timing(silence=5.0, watch=20.0, first_delay=0.05, longest_delay=0.3, refused=0.5)


@contextmanager
def start_backend(folder: Path) -> Iterator[KubeDouble]:
    with running(kueue=True, volcano=True) as double:
        yield double


def opened(path: Path) -> tuple[KubernetesReader, KubernetesWriter]:
    reader, writer = open_kubernetes(
        CLUSTER,
        kubeconfig=str(path),
        image="registry.example/tool:1",
        write_timeout=1.5,
        timing=QUICK,
        patience=Patience(total=0.2, pause=0.05),
    )
    return cast(KubernetesReader, reader), cast(KubernetesWriter, writer)


@asynccontextmanager
async def open_harness(backend: KubeDouble, folder: Path) -> AsyncIterator[KubernetesHarness]:
    reset(backend)
    reader, writer = opened(backend.kubeconfig(folder))
    try:
        yield KubernetesHarness(backend, folder, reader, writer)
    finally:
        await reader.close()
        reset(backend)


def reset(double: KubeDouble) -> None:
    double.faults.clear()
    double.silent.clear()
    double.mutations.clear()
    double.store.clear()


def _write(method: str, path: str) -> bool:
    """Requests that may change something, as far as method and path tell: not asked while a plan is made."""
    return method not in ("GET", "HEAD") and "dryRun=" not in path and "reviews" not in path


class KubernetesHarness:
    """One test's view of the double."""

    allowed = Allowed()

    def __init__(self, double: KubeDouble, folder: Path, reader: KubernetesReader, writer: KubernetesWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._double = double
        self._folder = folder
        self._count = itertools.count(1)

    async def populate(self) -> None:
        fill(self._double)

    def _made(self, suspend: bool = False, active: int = 0) -> Ref:
        """A job made for an intent."""
        made = self._double.put("jobs", job(f"made-{next(self._count)}", suspend=suspend, active=active))
        return Ref(CLUSTER, "job", f"team-a/{made['metadata']['name']}", made["metadata"]["uid"])

    def _node(self, cordoned: bool = False) -> Ref:
        name = f"made-node-{next(self._count)}"
        self._double.put("nodes", node(name, unschedulable=cordoned))
        self._double.put("pods", bound_pod(f"served-{name}", name, controller="ReplicaSet"))
        self._double.put("pods", bound_pod(f"daemon-{name}", name, controller="DaemonSet"))
        return Ref(CLUSTER, "node", name)

    async def intent(self, verb: str) -> Intent:
        job_intents: dict[str, tuple[type[Any], bool]] = {
            "cancel": (CancelJob, False), "hold": (HoldJob, False), "suspend": (SuspendJob, False),
            "release": (ReleaseJob, True), "resume": (ResumeJob, True),
        }  # fmt: skip
        if verb in job_intents:
            kind, suspended = job_intents[verb]
            return cast(Intent, kind(cluster=CLUSTER, refs=(self._made(suspended),)))
        queue = Ref(CLUSTER, "queue", "team-a/user-queue")
        if verb == "submit":
            return SubmitJob(cluster=CLUSTER, spec=JobSpec(command=("python", "train.py"), name="train", cores=2))
        if verb == "modify":
            return ModifyJob(cluster=CLUSTER, refs=(self._made(),), walltime_seconds=600)
        if verb == "drain":
            return DrainNode(cluster=CLUSTER, refs=(self._node(),), reason="disk swap")
        if verb == "undrain":
            return UndrainNode(cluster=CLUSTER, refs=(self._node(cordoned=True),))
        if verb == "set_node_quota":
            return SetNodeQuota(cluster=CLUSTER, refs=(self._node(),), slots=0)
        if verb == "open_queue":
            return OpenQueue(cluster=CLUSTER, refs=(queue,))
        if verb == "close_queue":
            return CloseQueue(cluster=CLUSTER, refs=(queue,), what="starts")
        assert verb == "set_queue_quota", verb
        return SetQueueQuota(cluster=CLUSTER, refs=(Ref(CLUSTER, "queue", "team-b"),), limits={"pods": 40})

    def received(self) -> Sequence[Request]:
        return list(self._double.mutations)

    @asynccontextmanager
    async def _fault(self, fault: Fault) -> AsyncIterator[None]:
        self._double.faults.append(fault)
        try:
            yield
        finally:
            self._double.faults.remove(fault)

    @asynccontextmanager
    async def mute(self) -> AsyncIterator[None]:
        async with self._fault(Fault(_write, silent=True)):
            yield

    @asynccontextmanager
    async def garble(self) -> AsyncIterator[None]:
        async with self._fault(Fault(_write, code=500, body=answer_bytes("err-500-webhook-down"), perform=True)):
            yield

    @asynccontextmanager
    async def refuse(self) -> AsyncIterator[str]:
        said = body("err-403-viewer-delete-job")["message"]
        async with self._fault(Fault(_write, code=403, body=answer_bytes("err-403-viewer-delete-job"))):
            yield said

    async def change(self, random: Random) -> str:
        changes = [self._submit, self._finish, self._delete, self._cordon, self._quota, self._suspend, self._bind]
        chosen = random.choice(changes)
        chosen(random)
        return chosen.__name__.lstrip("_")

    def _some(self, random: Random, plural: str) -> Mapping[str, Any] | None:
        rows = self._double.store.listed(self._double.served(plural), "team-a")
        return random.choice(rows)[1] if rows else None

    def _submit(self, random: Random) -> None:
        self._double.put("jobs", job(f"changed-{next(self._count)}", suspend=random.random() < 0.2))

    def _finish(self, random: Random) -> None:
        found = self._some(random, "jobs")
        if found is None:
            return
        done = random.choice(["done-ok", "fail-oom", "fail-backoff"])
        template = next(one for one in body("list-jobs-team-a")["items"] if one["metadata"]["name"] == done)
        self._edit("jobs", found, lambda obj: obj.update(status=template["status"]))

    def _delete(self, random: Random) -> None:
        plural = random.choice(["jobs", "pods"])
        found = self._some(random, plural)
        if found is not None:
            self._double.store.remove(self._double.served(plural), "team-a", found["metadata"]["name"])

    def _cordon(self, random: Random) -> None:
        rows = self._double.store.listed(self._double.served("nodes"), None)
        if rows:
            flip = random.random() < 0.5
            self._edit("nodes", random.choice(rows)[1], lambda obj: obj["spec"].update(unschedulable=flip))

    def _quota(self, random: Random) -> None:
        found = self._some(random, "resourcequotas")
        if found is not None:
            pods = str(random.randint(20, 90))
            self._edit("resourcequotas", found, lambda obj: obj["spec"]["hard"].update(pods=pods))

    def _suspend(self, random: Random) -> None:
        found = self._some(random, "jobs")
        if found is not None:
            flip = random.random() < 0.5
            self._edit("jobs", found, lambda obj: obj["spec"].update(suspend=flip))

    def _bind(self, random: Random) -> None:
        name = f"bound-{next(self._count)}"
        self._double.put("pods", bound_pod(name, random.choice(["node-a01", "node-f01"])))

    def _edit(self, plural: str, found: Mapping[str, Any], edit: Any) -> None:
        metadata = found["metadata"]
        self._double.store.change(self._double.served(plural), metadata.get("namespace"), metadata["name"], edit)

    async def cut(self, random: Random) -> None:
        if random.random() < 0.4:
            self._double.store.compact()
        self._double.cut_watches()

    def error_cases(self) -> Mapping[str, ErrorCase]:
        return {
            "unreachable": self._unreachable,
            "unavailable": self._throttled,
            "unauthenticated": lambda: self._as("bad", "list_jobs"),
            "forbidden": lambda: self._as("editor", "list_nodes"),
            "not_found": lambda: self.reader.get_job("team-a/nope"),
            "conflict": self._exists_already,
            "invalid": self._immutable,
            "unsupported": self._no_group,
            "protocol": self._not_json,
        }

    async def _as(self, person: str, method: str) -> object:
        reader, _ = opened(self._double.kubeconfig(self._folder, person))
        try:
            return await getattr(reader, method)()
        finally:
            await reader.close()

    async def _unreachable(self) -> object:
        path = self._double.kubeconfig(self._folder, "viewer")
        path.write_text(path.read_text().replace(self._double.url, "http://127.0.0.1:9"))
        reader, _ = opened(path)
        try:
            return await reader.list_jobs()
        finally:
            await reader.close()

    async def _throttled(self) -> object:
        answer = answer_bytes("err-429-too-many-requests-apf")
        headers = {"retry-after": "1", "content-type": "text/plain; charset=utf-8"}
        async with self._fault(Fault(lambda _, path: "/jobs" in path, code=429, body=answer, headers=headers)):
            return await self.reader.list_jobs(JobFilter())

    async def _exists_already(self) -> object:
        held = self._made()
        spec = JobSpec(
            command=("true",), name=held.id.partition("/")[2], queue="team-a", extensions={"exact_name": True}
        )
        return await self.writer.plan(SubmitJob(cluster=CLUSTER, spec=spec))

    async def _immutable(self) -> object:
        intent = ModifyJob(cluster=CLUSTER, refs=(self._made(),), extensions={"completions": 6})
        return await self.writer.plan(intent)

    async def _no_group(self) -> object:
        plain = answer_bytes("err-404-no-such-api-group")
        async with self._fault(Fault(lambda _, path: path.startswith("/apis"), code=404, body=plain)):
            reader, _ = opened(self._double.kubeconfig(self._folder, "viewer"))
            try:
                return await reader.list_jobs()
            finally:
                await reader.close()

    async def _not_json(self) -> object:
        page = b"<html><body>Sign in to the proxy</body></html>"
        async with self._fault(Fault(lambda _, path: "/jobs" in path, code=200, body=page)):
            return await self.reader.list_jobs()

    @asynccontextmanager
    async def lesser(self) -> AsyncIterator[Lesser]:
        reader, _ = opened(self._double.kubeconfig(self._folder, "editor"))
        try:
            denied = {"drain", "undrain", "set_node_quota", "set_queue_quota", "open_queue", "close_queue"}
            yield Lesser(reader, verbs=frozenset(denied))
        finally:
            await reader.close()

    async def logged_job(self) -> Logged | None:
        made = self._double.put("pods", bound_pod("talker", "node-a01", phase="Succeeded"))
        lines = [b"2026-11-30T01:27:47.53444%dZ line %d \xff\x1b[31m\n" % (i, i) for i in range(8)]
        self._double.logs["team-a", made["metadata"]["name"]] = b"".join(lines)
        return Logged("team-a/pod/talker", b"".join(line.partition(b" ")[2] for line in lines))
