"""Why a job waits, fails or ends, in words: the API's one-word reasons explained, with the server's own message."""

from __future__ import annotations

from adapters.kubernetes.records import EventRecord, JobRecord, PodRecord, Told, WorkloadRecord
from adapters.text import clean

LONGEST = 400

WORDS = {
    "BackoffLimitExceeded": "its pods failed more often than the backoff limit allows",
    "DeadlineExceeded": "it ran longer than its deadline (activeDeadlineSeconds)",
    "PodFailurePolicy": "a pod failed in a way that its failure policy does not forgive",
    "FailedIndexes": "some of its indexes failed",
    "MaxFailedIndexesExceeded": "more of its indexes failed than allowed",
    "SuccessPolicy": "its success policy is met",
    "Unschedulable": "no node fits",
    "SchedulingGated": "its scheduling gates are closed: something else must open them",
    "SchedulerError": "the scheduler failed",
    "ContainerCreating": "the container is being made",
    "PodInitializing": "its init containers run",
    "CrashLoopBackOff": "the container crashes again and again",
    "ImagePullBackOff": "the image cannot be pulled",
    "ErrImagePull": "the image cannot be pulled",
    "ErrImageNeverPull": "the image is not on the node and must not be pulled",
    "InvalidImageName": "the image's name is not valid",
    "CreateContainerConfigError": "the container's configuration is incomplete",
    "CreateContainerError": "the container could not be made",
    "RunContainerError": "the container could not be started",
    "OOMKilled": "out of memory: it used more than its limit",
    "Evicted": "the node evicted it",
    "Preempted": "it made way for a pod of higher priority",
    "Error": "the program failed",
    "ContainerCannotRun": "the container could not be run",
    "StartError": "the container could not be started",
    "ContainerStatusUnknown": "the node lost track of the container",
    "NodeLost": "its node is lost",
    "NodeShutdown": "its node was shut down",
    "Terminated": "its node was shut down",
    "NodeAffinity": "the node no longer fits it",
    "UnexpectedAdmissionError": "the node refused it",
    "FailedCreate": "its pods cannot be made",
}
ALARMING = frozenset(
    {
        "CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName",
        "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
    }
)  # fmt: skip
"""A pod that waits for one of these will not start by itself: pending, with a warning."""


def words(said: Told, fallback: str = "") -> str:
    """A reason in words and then the server's message, both cleaned. Empty where nothing is said."""
    explained = WORDS.get(said.reason) or clean(said.reason, 120) or fallback
    message = clean(said.message.strip(), LONGEST)
    if not message or message == explained:
        return explained
    return f"{explained}: {message}" if explained else message


def pod_wait(pod: PodRecord) -> Told:
    """Why a pod that is not over does not run."""
    if pod.waiting is not None and (pod.waiting.reason in ALARMING or pod.unscheduled is None):
        return pod.waiting
    if pod.unscheduled is not None:
        return pod.unscheduled
    if pod.status.reason or pod.status.message:
        return pod.status
    return Told("Pending", "") if pod.node is None else Told("ContainerCreating", "")


def worst_wait(pods: list[PodRecord]) -> Told | None:
    """The reason that a person should see first among the pods that wait."""
    waits = [pod_wait(pod) for pod in pods if not pod.over and not pod.running]
    return max(waits, key=_urgency, default=None)


def _urgency(said: Told) -> tuple[bool, bool, bool, str, str]:
    return (
        said.reason in ALARMING,
        said.reason in ("Unschedulable", "SchedulingGated"),
        bool(said.message),
        said.reason,
        said.message,
    )


def pod_end(pod: PodRecord) -> str | None:
    """How a pod that failed ended."""
    parts = []
    if pod.status.reason or pod.status.message:
        parts.append(_with_word(pod.status))
    if pod.ended is not None and (pod.ended.reason != "Completed" or pod.ended.message):
        parts.append(_with_word(pod.ended))
    if pod.exit_code:
        parts.append(f"exit code {pod.exit_code}")
    return "; ".join(parts) or None


def _with_word(said: Told) -> str:
    """In words and with the API's own word, which people look for and which nothing else of the row may hold."""
    known = said.reason in WORDS and said.reason != "Error"
    return f"{WORDS[said.reason]} ({said.reason})" + words(said)[len(WORDS[said.reason]) :] if known else words(said)


def last_failed(pods: list[PodRecord]) -> PodRecord | None:
    failed = [pod for pod in pods if pod.phase == "Failed"]
    return max(failed, key=lambda pod: (pod.finished is not None, pod.finished, pod.key), default=None)


def job_failure(job: JobRecord, pods: list[PodRecord]) -> str:
    """Why a job failed: its own condition, and how its last pod ended."""
    said = job.failure or Told("Failed")
    parts = [WORDS.get(said.reason) or words(said)]
    if job.failed_indexes:
        parts[0] += f" ({clean(job.failed_indexes, 60)})"
    pod = last_failed(pods)
    if pod is not None and (ended := pod_end(pod)):
        parts.append(ended)
    elif said.message:
        parts.append(clean(said.message, LONGEST))
    return clean("; ".join(parts), LONGEST)


def job_wait(job: JobRecord, pods: list[PodRecord], event: EventRecord | None, workload: WorkloadRecord | None) -> Told:
    """Why a job without a running pod waits."""
    if job.parallelism == 0:
        return Told("Paused", "its parallelism is 0")
    wait = worst_wait(pods)
    if wait is not None:
        return wait
    if event is not None:
        return event.told
    if workload is not None and not workload.admitted and workload.told.message:
        return workload.told
    if job.active > 0:
        return Told("Pending", "its pods do not run yet")
    if job.failed:
        return Told("Backoff", f"waits to try again after {job.failed} failures")
    return Told("Pending", "")
