"""Jobs and pods that stand alone, as rows of the model.

kubectl's own status says Running for every job that is not over; here a job runs when a container of it runs.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from adapters.kubernetes.quantity import ceil_cores, show_bytes, show_cpu
from adapters.kubernetes.reasons import (
    ALARMING,
    job_failure,
    job_wait,
    last_failed,
    pod_end,
    pod_wait,
    words,
)
from adapters.kubernetes.records import Amount, JobRecord, Key, PodRecord, Told
from adapters.kubernetes.world import World
from adapters.model import ArrayInfo, Job, JobStatus, share
from adapters.text import clean

JOB_CONTROLLER = "kubernetes.io/job-controller"
State = tuple[JobStatus, str, str | None]
"""Status, the backend's own word for it, and the reason in words."""

EXTENSIONS = {
    "uid": "the object's own id, different for every object of the same name",
    "kind": "what it is in the API: Job, or Pod for a pod that no Job made",
    "namespace": "the namespace it lives in",
    "pods": "pods running/active/succeeded/failed now",
    "completions": "how many pods have succeeded of those needed",
    "parallelism": "how many pods may run at once",
    "requests": "what one pod asks for, exactly",
    "backoff_limit": "how many failures are forgiven before the job fails",
    "ttl_seconds": "seconds after its end when Kubernetes deletes it",
    "suspended": "the job is told to run no pods",
    "made_by": "what created it, such as a CronJob or a training operator",
    "managed_by": "the controller that runs it instead of Kubernetes' own",
    "image": "the first container's image",
    "priority_class": "its priority class",
    "failed_indexes": "indexes of an Indexed job that failed",
    "completed_indexes": "indexes of an Indexed job that succeeded",
    "restarts": "how often its containers were started again",
    "warning": "something that will not get better by itself",
    "deleting": "it is being deleted and still waits for this",
    "workload": "Kueue's view of it",
    "command": "the first container's command and arguments",
    "cwd": "the folder the first container runs in",
    "labels": "its labels",
    "annotations": "its annotations, without large ones",
    "conditions": "its conditions, as the server tells them",
    "pod_list": "its pods: name, phase, node and reason",
    "events": "what happened to it lately",
}


def job_id(key: Key) -> str:
    return f"{key[0]}/{key[1]}"


def pod_id(key: Key) -> str:
    return f"{key[0]}/pod/{key[1]}"


def job_row(job: JobRecord, world: World, cluster: str) -> Job:
    """The row of a batch/v1 Job, made of it, its pods, its latest FailedCreate event and its Kueue workload."""
    pods = world.pods_of(job)
    status, raw, reason = job_state(job, pods, world)
    asked = _times(job.asks, _width(job))
    live = [pod for pod in pods if pod.deleted is None and not pod.over] or pods
    nodes = tuple(sorted({pod.node for pod in live if pod.node is not None}))
    return Job(
        id=job_id(job.key),
        name=clean(job.key[1]),
        status=status,
        raw_status=clean(raw, 80),
        queue=share(_queue(job.key[0], job.kueue_queue, job.volcano_queue)),
        nodes=len(nodes) or None,
        cores=ceil_cores(asked.cpu) if asked.cpu is not None else None,
        gpus=asked.gpus,
        memory_bytes=asked.memory,
        walltime_seconds=job.deadline,
        submission_time=job.created,
        start_time=job.start if status not in ("pending", "suspended") else None,
        end_time=_job_end(job),
        exit_code=_job_exit(job, status, pods),
        owner=share(clean(job.owner, 120)) if job.owner else None,
        reason=share(reason),
        node_names=nodes,
        array=_array(job),
        cluster=cluster,
        extensions=_job_extensions(job, pods, world),
    )


def job_state(job: JobRecord, pods: list[PodRecord], world: World) -> State:
    """The status of a Job and why."""
    if job.complete is not None:
        return "succeeded", "Complete", words(job.complete) if job.complete.reason == "SuccessPolicy" else None
    if job.failure is not None:
        return "failed", job.failure.reason or "Failed", job_failure(job, pods)
    if job.deleted is not None:
        return "cancelled", "Terminating", _cancelling(job)
    if job.suspend:
        return _suspended(job, world)
    if job.managed_by not in (None, JOB_CONTROLLER) and not job.reported:
        return "unknown", "Unreported", clean(f"run by {job.managed_by}, which has told nothing yet", 200)
    if job.ending is not None and (job.active or job.terminating):
        return "running", "Ending", f"ending: {words(job.ending)}"
    if job.ready > 0 or any(pod.running and pod.deleted is None for pod in pods):
        return "running", "Running", None
    wait = job_wait(job, pods, world.event_about(job.uid), world.workload_of(job.uid))
    return "pending", wait.reason or "Pending", _why(wait)


def _why(wait: Told) -> str | None:
    """The reason of a wait; none where the server says no more than that it waits."""
    return None if wait == Told("Pending") else words(wait) or None


def _cancelling(job: JobRecord) -> str:
    ending = max(job.terminating, job.active)
    what = f"{ending} pods still end" if ending else "waits for " + ", ".join(job.finalizers or ("its deletion",))
    return clean(f"cancelling: {what}", 200)


def _suspended(job: JobRecord, world: World) -> State:
    workload = world.workload_of(job.uid) if job.kueue_queue else None
    if workload is not None and workload.active and not workload.admitted and job.active == 0:
        return "pending", "QueuedByKueue", words(Told("", workload.told.message), "waits in its Kueue queue")
    if job.active > 0 or job.terminating > 0:
        return "suspended", "Suspending", f"suspending: {max(job.active, job.terminating)} pods still end"
    if job.suspended is None:
        return "suspended", "Suspending", None
    held = "held; release lets it start" if job.start is None else "suspended"
    return "suspended", "Suspended", held


def _width(job: JobRecord) -> int:
    """How many pods run at once at most."""
    return job.parallelism if job.completions is None else min(job.parallelism, job.completions)


def _times(asks: Amount, count: int) -> Amount:
    return Amount(*(None if part is None else part * count for part in asks))


def _queue(namespace: str, kueue: str | None, volcano: str | None) -> str:
    if kueue:
        return clean(f"{namespace}/{kueue}", 200)
    return clean(f"volcano:{volcano}", 200) if volcano else clean(namespace)


def _job_end(job: JobRecord) -> datetime | None:
    if job.complete is not None:
        return job.completion or job.complete.at
    return job.failure.at if job.failure is not None else None


def _job_exit(job: JobRecord, status: JobStatus, pods: list[PodRecord]) -> int | None:
    if status == "succeeded":
        return 0
    pod = last_failed(pods) if status == "failed" else None
    return pod.exit_code if pod is not None else None


def _array(job: JobRecord) -> ArrayInfo | None:
    if not job.indexed or job.completions is None:
        return None
    limit = f"%{job.parallelism}" if job.parallelism < job.completions else ""
    return ArrayInfo(job_id(job.key), range=f"0-{max(0, job.completions - 1)}{limit}")


def _requests(asks: Amount) -> str | None:
    parts = [
        f"cpu {show_cpu(asks.cpu)}" if asks.cpu is not None else "",
        f"memory {show_bytes(asks.memory)}" if asks.memory is not None else "",
        f"gpu {asks.gpus}" if asks.gpus else "",
    ]
    return ", ".join(part for part in parts if part) or None


def _job_extensions(job: JobRecord, pods: list[PodRecord], world: World) -> dict[str, Any]:
    event = world.event_about(job.uid) if job.active < _width(job) else None
    alarm = next((wait for pod in pods if not pod.over and (wait := pod_wait(pod)).reason in ALARMING), None)
    over = job.complete is not None or job.failure is not None
    workload = world.workload_of(job.uid)
    needed = job.completions if job.completions is not None else job.parallelism
    found: dict[str, Any] = {
        "uid": job.uid,
        "kind": "Job",
        "namespace": share(job.key[0]),
        "pods": f"{job.ready}/{job.active}/{job.succeeded}/{job.failed}",
        "completions": f"{job.succeeded}/{needed}",
        "parallelism": job.parallelism,
        "requests": share(_requests(job.asks)),
        "backoff_limit": job.backoff_limit,
        "ttl_seconds": job.ttl,
        "suspended": True if job.suspend else None,
        "made_by": share(clean(job.source, 200)) if job.source else None,
        "managed_by": clean(job.managed_by, 200) if job.managed_by else None,
        "image": share(clean(job.image, 300)) or None,
        "priority_class": share(job.priority_class),
        "failed_indexes": clean(job.failed_indexes, 200) or None,
        "completed_indexes": clean(job.completed_indexes, 200) or None,
        "warning": None if over else words(alarm) if alarm else words(event.told) if event else None,
        "deleting": ", ".join(map(clean, job.finalizers)) if job.deleted else None,
        "workload": clean(f"{workload.key[1]}: {workload.told.message}", 400) if workload is not None else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def pod_row(pod: PodRecord, cluster: str) -> Job:
    """The row of a pod that no batch/v1 Job made."""
    status, raw, reason = pod_state(pod)
    over = status in ("succeeded", "failed")
    return Job(
        id=pod_id(pod.key),
        name=clean(pod.key[1]),
        status=status,
        raw_status=clean(raw, 80),
        queue=share(_queue(pod.key[0], pod.kueue_queue, pod.volcano_queue)),
        nodes=1 if pod.node else None,
        cores=ceil_cores(pod.asks.cpu) if pod.asks.cpu is not None else None,
        gpus=pod.asks.gpus,
        memory_bytes=pod.asks.memory,
        walltime_seconds=pod.deadline,
        submission_time=pod.created,
        start_time=(pod.started or pod.start) if status != "pending" else None,
        end_time=pod.finished if over else None,
        exit_code=(0 if status == "succeeded" else pod.exit_code) if over else None,
        owner=share(clean(pod.owner, 120)) if pod.owner else None,
        reason=share(reason),
        node_names=(pod.node,) if pod.node else (),
        cluster=cluster,
        extensions=_pod_extensions(pod),
    )


def pod_state(pod: PodRecord) -> State:
    """The status of a pod and why."""
    if pod.phase == "Succeeded":
        return "succeeded", "Succeeded", None
    if pod.phase == "Failed":
        raw = pod.status.reason or (pod.ended.reason if pod.ended is not None else "") or "Failed"
        return "failed", raw, pod_end(pod)
    if pod.deleted is not None:
        return "cancelled", "Terminating", "cancelling: its containers still end"
    if pod.phase == "Running" and (pod.running or pod.waiting is None):
        return "running", "Running", None
    if pod.phase in ("Pending", "Running"):
        wait = pod_wait(pod)
        return "pending", wait.reason or pod.phase, _why(wait)
    return "unknown", pod.phase or "no phase", words(pod.status) or pod_end(pod)


def _pod_extensions(pod: PodRecord) -> dict[str, Any]:
    wait = pod_wait(pod) if not pod.over and not pod.running else None
    found: dict[str, Any] = {
        "uid": pod.uid,
        "kind": "Pod",
        "namespace": share(pod.key[0]),
        "requests": share(_requests(pod.asks)),
        "made_by": share(clean(pod.controller, 200)) if pod.controller else None,
        "image": share(clean(pod.image, 300)) or None,
        "priority_class": share(pod.priority_class),
        "restarts": pod.restarts or None,
        "warning": words(wait) if wait is not None and wait.reason in ALARMING else None,
        "deleting": "its containers to end" if pod.deleted is not None else None,
    }
    return {name: value for name, value in found.items() if value is not None}
