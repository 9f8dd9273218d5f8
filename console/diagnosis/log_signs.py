"""Lines in a job's output that tell why it failed: one table, strongest first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from console.diagnosis.findings import Evidence


class Sign(NamedTuple):
    """A pattern over one line. `firm`: the line alone settles it; else it only makes it likely."""

    pattern: re.Pattern[str]
    cause: str
    firm: bool


def _signs(*rows: tuple[str, str, bool]) -> tuple[Sign, ...]:
    return tuple(Sign(re.compile(pattern), cause, firm) for pattern, cause, firm in rows)


SIGNS: tuple[Sign, ...] = _signs(
    # the scheduler's own words in the output
    (r"^(?:slurmstepd|srun).*DUE TO TIME LIMIT|TERM_RUNLIMIT|job killed after reaching LSF run time limit", "walltime", True),
    (r"^(?:slurmstepd|srun).*DUE TO NODE FAILURE", "node_failure", True),
    (r"^(?:slurmstepd|srun).*DUE TO PREEMPTION", "preempted", True),
    (r"^(?:slurmstepd|srun).*(?:oom[-_ ]kill|OOM Killed|exceeded memory limit)|TERM_MEMLIMIT|job killed after reaching LSF memory usage limit", "out_of_memory", True),
    (r"TERM_OWNER|job killed by owner", "cancelled_by_owner", True),
    (r"TERM_ADMIN|job killed by root or LSF admin", "cancelled_by_admin", True),
    # memory
    (r"CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY|torch\.(?:cuda\.)?OutOfMemoryError|hipErrorOutOfMemory|RESOURCE_EXHAUSTED: .*(?:GPU|gpu|device)", "gpu_out_of_memory", True),
    (r"oom-kill|Out of memory: Kill|oom_kill event|Detected \d+ oom", "out_of_memory", True),
    (r"\bMemoryError\b|std::bad_alloc|Cannot allocate memory|java\.lang\.OutOfMemoryError|cannot allocate vector of size|Unable to allocate [\d.]+ [KMGT]iB|virtual memory exhausted", "out_of_memory", False),
    # disk
    (r"Disk quota exceeded|EDQUOT", "disk_quota", True),
    (r"No space left on device|ENOSPC", "disk_full", True),
    # what is not there
    (r": command not found$|: not found$|exec: .*executable file not found in \$PATH|execve\(\): .*No such file or directory", "command_not_found", False),
    (r"ModuleNotFoundError: |ImportError: |error while loading shared libraries: |cannot open shared object file|GLIBC\w*_[\d.]+' not found|Unable to locate a modulefile|The following module\(s\) are unknown", "missing_library", False),
    (r"cannot execute binary file|Exec format error|bad interpreter", "not_executable", False),
    (r"[Nn]o such file(?: or directory)?\b|FileNotFoundError|cannot open file|does not exist$", "missing_file", False),
    (r"[Pp]ermission denied|PermissionError|Operation not permitted", "permission_denied", False),
    # the program's own end
    (r"Illegal instruction|SIGILL", "illegal_instruction", False),
    (r"Segmentation fault|SIGSEGV|segfault at", "segmentation_fault", False),
    (r"Floating point exception|ZeroDivisionError|SIGFPE", "arithmetic_error", False),
    (r"MPI_ABORT was invoked|PMIX ERROR|Fatal error in (?:P?MPI|internal_)|mpirun (?:has exited|noticed)|NCCL (?:error|WARN)", "mpi_failure", False),
    (r"Connection (?:refused|timed out|reset by peer)|Could not resolve host|Name or service not known|Temporary failure in name resolution|Network is unreachable|No route to host", "network", False),
    (r"\bAborted\b(?: \(core dumped\))?$|SIGABRT|[Aa]ssertion .*failed|AssertionError", "aborted", False),
    (r"^(?:[A-Za-z_][\w.]*)?(?:Error|Exception)(?:: |$)|^Traceback \(most recent call last\)|^panic: |^thread '.*' panicked|^Error in |\bFATAL\b|^fatal( error)?:|^\S*[Ee]rror: ", "application_error", False),
)  # fmt: skip
_LINES = 400


def signs_in(tails: Mapping[str, Sequence[str]]) -> list[tuple[Sign, Evidence]]:
    """Every sign in the last lines of each stream, strongest first; of one cause the last line counts.

    Args:
        tails: stream name -> its last lines, already cleaned.
    """
    found: dict[str, tuple[int, Sign, Evidence]] = {}
    for stream, lines in tails.items():
        for before_end, line in enumerate(reversed(lines[-_LINES:]), start=1):
            rank, sign = _first_sign(line)
            if sign is not None and sign.cause not in found:
                found[sign.cause] = (rank, sign, Evidence.of(f"{stream}, line {before_end} from the end", line))
    return [(sign, evidence) for _, sign, evidence in sorted(found.values(), key=lambda item: item[0])]


def _first_sign(line: str) -> tuple[int, Sign | None]:
    for rank, sign in enumerate(SIGNS):
        if sign.pattern.search(line):
            return rank, sign
    return len(SIGNS), None
