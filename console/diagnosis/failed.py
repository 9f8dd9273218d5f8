"""Why a job failed: the backend's verdict first, then limits against usage, the log, the exit code, the node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from adapters.model import Job, Node
from console.diagnosis.efficiency import peak_memory
from console.diagnosis.exit_codes import exit_in_words, signal_of
from console.diagnosis.findings import Evidence, Finding, finding, unknown
from console.diagnosis.log_signs import Sign, signs_in

_VERDICTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), cause)
    for pattern, cause in (
        (r"OUT_OF_ME|OutOfMemory|OOMKilled|TERM_MEMLIMIT|TERM_SWAP|memory limit", "out_of_memory"),
        (r"\bTIMEOUT\b|TimeLimit|TERM_RUNLIMIT|time limit|run ?limit|walltime", "walltime"),
        (r"DeadlineExceeded|\bDEADLINE\b|TERM_DEADLINE", "deadline"),
        (r"TERM_CPULIMIT|cpu limit", "cpu_limit"),
        (r"NODE_?FAIL|BOOT_FAIL|NodeLost|NodeShutdown|node (?:was )?lost", "node_failure"),
        (r"TERM_ZOMBIE|ContainerStatusUnknown", "node_failure"),
        (r"\bEvicted\b|low on resource", "evicted"),
        (r"PREEMPT|TERM_PREEMPT|TERM_LOAD|TERM_BUCKET_KILL", "preempted"),
        (r"TERM_OWNER|TERM_FORCE_OWNER|TERM_REQUEUE_OWNER", "cancelled_by_owner"),
        (r"TERM_ADMIN|TERM_FORCE_ADMIN|TERM_REQUEUE_ADMIN", "cancelled_by_admin"),
        (r"ImagePullBackOff|ErrImagePull|InvalidImageName", "image_pull"),
        (r"CreateContainer(?:Config)?Error", "container_config"),
        (r"ContainerCannotRun|StartError|JobLaunchFailure|launch failed", "launch_failed"),
        (r"TERM_PRE_EXEC_FAIL|TERM_CWD_NOTEXIST", "launch_failed"),
        (r"DependencyNeverSatisfied|TERM_ORPHAN", "dependency_never"),
    )
)  # fmt: skip
_CODES = {126: "not_executable", 127: "command_not_found"}
_SIGNALS = {
    4: "illegal_instruction", 6: "aborted", 7: "segmentation_fault", 8: "arithmetic_error", 11: "segmentation_fault",
}  # fmt: skip
_FULL = 0.97  # a measured peak above this share of the limit counts as having reached it


def why_failed(
    job: Job, *, tails: Mapping[str, Sequence[str]] | None = None, nodes: Sequence[Node] = (), like: Sequence[Job] = ()
) -> Finding:
    """Say why `job` ended as failed or cancelled.

    Args:
        tails: stream -> its last lines, cleaned; leave out what could not be read.
        nodes: the nodes of its cluster as they are now.
        like: earlier jobs of the same name and owner, for what usually happens to them.
    """
    facts = _facts(job)
    signs = signs_in(tails or {})
    found = (
        _verdict(job, facts)
        or _cancelled(job, facts)
        or _limit_reached(job, facts, signs)
        or _by_log(job, facts, signs)
        or _by_exit(job, facts)
        or _by_node(job, nodes, facts)
    )
    if found is None:
        summary = f"It {exit_in_words(job)}; neither the scheduler nor the log says why."
        found = unknown(job.ref, facts or [Evidence.of("job.status", job.status)], summary)
    return _with_history(found, job, like)


def _facts(job: Job) -> list[Evidence]:
    """What is on record about its end, as evidence."""
    facts = []
    if job.exit_code is not None:
        facts.append(Evidence.of("job.exit_code", f"{job.exit_code}: it {exit_in_words(job)}"))
    if job.extensions.get("signal"):
        facts.append(Evidence.of("job.signal", job.extensions["signal"]))
    if job.raw_status:
        facts.append(Evidence.of("job.raw_status", job.raw_status))
    if job.reason and job.reason.lower() not in ("none", "completed"):
        facts.append(Evidence.of("job.reason", job.reason))
    return facts


def _verdict(job: Job, facts: Sequence[Evidence]) -> Finding | None:
    """What the scheduler itself says about the end."""
    ended_by = str(job.extensions.get("ended_by") or "")
    for source, text in (("job.raw_status", job.raw_status), ("job.reason", job.reason or "")):
        for pattern, cause in _VERDICTS:
            if text and pattern.search(text):
                return finding(job, cause, "certain", [Evidence.of(source, text), *_others(facts, source)])
    if ended_by == "system":
        return finding(job, "node_failure", "likely", [Evidence.of("job.ended_by", ended_by), *facts])
    return None


def _others(facts: Sequence[Evidence], source: str) -> list[Evidence]:
    return [fact for fact in facts if fact.source != source]


def _cancelled(job: Job, facts: Sequence[Evidence]) -> Finding | None:
    ended_by = str(job.extensions.get("ended_by") or "")
    if ended_by in ("owner", "admin"):
        return finding(job, f"cancelled_by_{ended_by}", "certain", [Evidence.of("job.ended_by", ended_by), *facts])
    if job.status == "cancelled" and not ended_by:
        return finding(job, "cancelled", "certain", facts or [Evidence.of("job.status", job.status)])
    return None


def _limit_reached(job: Job, facts: Sequence[Evidence], signs: Sequence[tuple[Sign, Evidence]]) -> Finding | None:
    """A kill by signal with a measured use at its limit; a firm sign in the log outranks it."""
    if any(sign.firm for sign, _ in signs) or signal_of(job) not in (9, 15, 12, 24, 10):
        return None
    peak, limit = peak_memory(job), job.memory_bytes
    if peak is not None and limit and peak >= _FULL * limit:
        quotes = [Evidence.of("largest memory, bytes", int(peak)), Evidence.of("job.memory_bytes", limit)]
        return finding(job, "out_of_memory", "likely", [*quotes, *facts])
    if job.start_time and job.end_time and job.walltime_seconds:
        ran = (job.end_time - job.start_time).total_seconds()
        if ran >= job.walltime_seconds:
            quotes = [Evidence.of("ran, seconds", int(ran)), Evidence.of("job.walltime_seconds", job.walltime_seconds)]
            return finding(job, "walltime", "likely", [*quotes, *facts])
    return None


def _by_log(job: Job, facts: Sequence[Evidence], signs: Sequence[tuple[Sign, Evidence]]) -> Finding | None:
    """The strongest sign in the output, unless the exit code says that the program ended well."""
    if not signs or job.exit_code == 0:
        return None
    sign, quote = signs[0]
    more = [evidence for _, evidence in signs[1:3]]
    return finding(job, sign.cause, "certain" if sign.firm else "likely", [quote, *more, *facts])


def _by_exit(job: Job, facts: Sequence[Evidence]) -> Finding | None:
    """Exit codes and signals with one meaning only."""
    signal = signal_of(job)
    cause = _SIGNALS.get(signal) if signal else _CODES.get(job.exit_code or 0)
    return finding(job, cause, "likely", facts) if cause else None


def _by_node(job: Job, nodes: Sequence[Node], facts: Sequence[Evidence]) -> Finding | None:
    """Its node is down now, and it did not end by itself."""
    if signal_of(job) is None and job.exit_code not in (None, 0):
        return None
    for node in nodes:
        if node.name in job.node_names and node.status == "down":
            quote = Evidence.of(f"node {node.name}", f"{node.status} {node.reason or ''}".strip())
            return finding(job, "node_failure", "likely", [quote, *facts])
    return None


def _with_history(found: Finding, job: Job, like: Sequence[Job]) -> Finding:
    """Add how jobs of the same name ended before: evidence, never a cause of its own."""
    before = [other for other in like if other.id != job.id and other.finished]
    if not before:
        return found
    failed = sum(other.status == "failed" for other in before)
    quote = Evidence.of("history of this name", f"{failed} of the last {len(before)} failed")
    return Finding(
        found.subject, found.cause, found.confidence, found.summary, (*found.evidence, quote), found.changes,
        found.blocker, found.since, found.estimate,
    )  # fmt: skip
