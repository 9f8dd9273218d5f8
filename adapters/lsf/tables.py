"""What is asked of LSF and in which form: one `Table` a command, one `Dialect` a command and session.

Tier A is ``-o "fields" -json`` (10.1.0.2 and later), tier B ``-o`` with a delimiter and the free-text field last
(9.1 and later), tier C the legacy tables, which every LSF and every compatible scheduler has. A field that an older
fix pack does not know makes the whole command fail, so a refused field is dropped and the rest kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

Tier: TypeAlias = Literal["A", "B", "C"]
Record: TypeAlias = dict[str, str]
"""One row of an answer: LSF's field name in upper case -> its text, foreign and not yet cleaned; "" is unknown."""

DELIMITER: Final = "^"
"""IBM's own example of a delimiter; rarer in reasons, projects and host names than ``|``, which dependencies use."""

_NUMERIC = re.compile(r"^(?:-|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?\s?[%KMGTPE]?)?\*?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One list that LSF prints.

    Args:
        command: the program.
        key: the field that names a row.
        core: fields without which a tier is of no use.
        wanted: fields that are dropped where they are refused.
        last: the free-text field, last in tier B because it may hold the delimiter.
        json_only: fields whose text may hold a delimiter too, left out of tier B.
        legacy: options of the legacy table.
        numeric: fields that hold a number, an amount or ``-`` in every true row; tells rows from noise.
        shape: what fields of a true row look like.
        renamed: column titles of the legacy table that differ from the field's name.
    """

    command: str
    key: str
    core: tuple[str, ...]
    wanted: tuple[str, ...]
    legacy: tuple[str, ...]
    last: str | None = None
    json_only: frozenset[str] = frozenset()
    numeric: frozenset[str] = frozenset()
    shape: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)

    def checker(self, names: Sequence[str]) -> Callable[[Record], bool]:
        """What tells a row with these fields from a line of noise that fell between its columns."""
        key = self.key
        shape = [(name, pattern.match) for name, pattern in self.shape.items()]
        numeric = [name for name in names if name in self.numeric]

        def holds(record: Record) -> bool:
            if not record.get(key):
                return False
            for name, match in shape:
                if not match(record.get(name, "")):
                    return False
            for name in numeric:
                value = record[name]
                if value and not value.isdecimal() and not _NUMERIC.match(value):
                    return False
            return True

        return holds


JOBS: Final = Table(
    command="bjobs",
    key="JOBID",
    core=("jobid", "stat", "user", "queue", "job_name"),
    wanted=(
        "jobindex", "exec_host", "nalloc_slot", "nreq_slot", "min_req_proc", "gpu_num", "memlimit", "runtimelimit",
        "submit_time", "start_time", "finish_time", "exit_code", "exit_reason", "pend_reason", "proj_name", "mem",
        "max_mem", "dependency",
    ),
    legacy=("-w",),
    last="job_name",
    json_only=frozenset({"dependency"}),
    numeric=frozenset({"JOBINDEX", "NALLOC_SLOT", "NREQ_SLOT", "GPU_NUM", "EXIT_CODE"}),
    shape={"JOBID": re.compile(r"^\d+(\[\d+\])?$"), "STAT": re.compile(r"^[A-Z_]{3,}$")},
)  # fmt: skip
_DETAIL_ONLY: Final = (
    "command", "job_description", "app", "job_group", "user_group", "job_priority", "output_file", "error_file",
    "input_file", "sub_cwd", "exec_cwd", "from_host", "cpu_used", "run_time", "avg_mem", "swap", "nthreads",
    "gpu_alloc", "kill_reason", "suspend_reason", "estimated_start_time", "effective_resreq", "pend_time",
    "cpu_peak_efficiency", "mem_efficiency", "service_class", "rsvid",
)  # fmt: skip
JOB_DETAIL: Final = replace(JOBS, wanted=JOBS.wanted + _DETAIL_ONLY, json_only=JOBS.json_only | frozenset(_DETAIL_ONLY))
"""One job with all that ``-o`` can tell. Below tier A the rest comes from ``bjobs -l``."""
DESCRIPTIONS: Final = replace(
    JOBS,
    core=("jobid", "stat", "job_description"),
    wanted=("jobindex", "submit_time"),
    last="job_description",
    json_only=frozenset(),
)
"""What a submission without an answer is looked up by."""
QUEUES: Final = Table(
    command="bqueues",
    key="QUEUE_NAME",
    core=("queue_name", "status"),
    wanted=("priority", "max", "jl_u", "njobs", "pend", "run", "susp", "rsv", "description"),
    legacy=("-w",),
    last="description",
    numeric=frozenset({"PRIORITY", "MAX", "NJOBS", "PEND", "RUN", "SUSP", "RSV"}),
    shape={"STATUS": re.compile(r"^\w+:\w+$")},
    renamed={"PRIO": "PRIORITY", "JL/U": "JL_U", "JL/P": "JL_P", "JL/H": "JL_H"},
)
HOSTS: Final = Table(
    command="bhosts",
    key="HOST_NAME",
    core=("host_name", "status"),
    wanted=("max", "njobs", "run", "ssusp", "ususp", "rsv", "jl_u", "ngpus", "ngpus_alloc", "comments"),
    legacy=("-w",),
    last="comments",
    numeric=frozenset({"MAX", "NJOBS", "RUN", "SSUSP", "USUSP", "RSV"}),
    shape={"STATUS": re.compile(r"^\w+$")},
    renamed={"JL/U": "JL_U"},
)
INDICES: Final = ("r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "tmp", "swp", "mem")
"""The eleven built-in load indices, in LSF's order."""
LOAD: Final = Table(
    command="lsload",
    key="HOST_NAME",
    core=("HOST_NAME", "status"),
    wanted=INDICES,
    legacy=("-l",),  # the plain table leaves `io` out
    numeric=frozenset(index.upper() for index in INDICES),
    shape={"STATUS": re.compile(r"^-?[a-zA-Z]\w*$")},
)
LIM_HOSTS: Final = Table(
    command="lshosts",
    key="HOST_NAME",
    core=(),
    wanted=(),
    legacy=("-w",),
    last="RESOURCES",
    numeric=frozenset({"CPUF", "NCPUS", "MAXMEM", "MAXSWP"}),
    shape={"SERVER": re.compile(r"^(Yes|No|Dyn|-)$")},
)
RESERVATIONS: Final = Table(
    command="brsvs",
    key="RSVID",
    core=(),
    wanted=(),
    legacy=("-w",),
    last="TIME_WINDOW",
    shape={"TYPE": re.compile(r"^[a-z]+$")},
)


@dataclass(slots=True)
class Dialect:
    """How one command is asked in this session: the best tier and the fields that have not been refused.

    `settled` says that an answer has come in this form. `why` is a sentence for `doctor`.
    """

    table: Table
    tier: Tier = "A"
    fields: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    settled: bool = False
    why: str = ""

    def __post_init__(self) -> None:
        self.fields = self.fields or self.table.core + self.table.wanted
        if not self.table.core:
            self.tier, self.why = "C", f"{self.table.command} is read as a table in every version"

    def argv(self, tier: Tier | None = None, fields: Sequence[str] | None = None) -> tuple[str, ...]:
        """The command without a selection of rows."""
        tier = tier or self.tier
        if tier == "A":
            return (self.table.command, "-o", " ".join(fields or self.fields), "-json")
        if tier == "B":
            names = " ".join(self.columns(fields))
            return (self.table.command, "-o", f"{names} delimiter='{DELIMITER}'")
        return (self.table.command, *self.table.legacy)

    def columns(self, fields: Sequence[str] | None = None) -> tuple[str, ...]:
        """The fields of tier B in their order: those that may hold the delimiter left out or put last."""
        names = [name for name in fields or self.fields if name not in self.table.json_only]
        if self.table.last in names:
            names.remove(self.table.last)
            names.append(self.table.last)
        return tuple(names)

    @property
    def optional(self) -> tuple[str, ...]:
        """The fields that are asked for and may be dropped, in lower case."""
        core = {name.lower() for name in self.table.core}
        return tuple(name.lower() for name in self.fields if name.lower() not in core)

    def drop(self, name: str) -> None:
        """Ask for everything but this field from now on."""
        self.fields = tuple(other for other in self.fields if other.lower() != name.lower())
        self.dropped += (name.lower(),)

    def step_down(self, why: str) -> None:
        """Use the next tier from now on. The caller makes sure that there is one."""
        self.tier = "B" if self.tier == "A" else "C"
        self.why = why
