"""A submission -> the argv of bsub and what goes to its standard input.

A script goes to standard input, where bsub reads its ``#BSUB`` lines too; a command becomes one argument, quoted for
the shell that LSF runs it with. The intent's id goes into the job description, to find a job whose answer got lost.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from adapters.base import Invalid, Unsupported
from adapters.intents import SubmitJob
from adapters.lsf.facts import Facts
from adapters.lsf.jobs import INTENT_MARK, split_id
from adapters.lsf.units import run_limit_argument, size_argument
from adapters.model import Dependency, JobSpec
from adapters.plan import Change, Command, Plan, Step
from adapters.text import clean

_CONDITIONS: Final[Mapping[str, str]] = MappingProxyType(
    {"afterok": "done", "afterany": "ended", "afternotok": "exit", "after": "started"}
)
EXTENSION_OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "application": "-app",
        "requirements": "-R",
        "user_group": "-G",
        "job_group": "-g",
        "priority": "-sp",
        "reservation": "-U",
        "service_class": "-sla",
        "dependency": "-w",
        "input_file": "-i",
    }
)
_ARRAY: Final = re.compile(r"^\d+(?:-\d+(?::\d+)?)?(?:,\d+(?:-\d+(?::\d+)?)?)*(?:%\d+)?$")
_ENV_NAME: Final = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_WAITS: Final = re.compile(r"^#BSUB\s.*-(?:K|I|Ip|Is|IS|ISp|ISs)\b", re.MULTILINE)
LINE_LIMIT: Final = 4094
"""LSF's longest job name, and a bound for other texts."""


def memory_option(facts: Facts, amount: int) -> tuple[str, str | None]:
    """The value of ``-M``, and a sentence if it had to be rounded.

    Raises Unsupported where neither a unit is understood nor the unit of a bare number is known: a wrong guess
    would be wrong by a factor of 1024.
    """
    unit = None
    if not facts.understands_units():
        unit = facts.limit_unit()
        if unit is None:
            raise Unsupported(
                "The unit of LSF's memory limits (LSF_UNIT_FOR_LIMITS) is not known here, and this version takes none.",
                "Set unit_for_limits in the cluster's profile to KB, MB or GB, as lsf.conf has it.",
            )
    text, meant = size_argument(amount, unit)
    note = f"Memory is rounded up to {meant:,} bytes." if meant != amount else None
    return text, note


def time_option(amount: int) -> tuple[str, str | None]:
    """The value of ``-W``, and a sentence if it had to be rounded."""
    text, meant = run_limit_argument(amount)
    return text, f"The run limit is rounded up to {text} (whole minutes)." if meant != amount else None


def condition(dependency: Dependency) -> str:
    """``done(123)``. Raises Invalid for a kind or an id that LSF does not have."""
    word = _CONDITIONS.get(dependency.kind)
    if word is None:
        known = ", ".join(_CONDITIONS)
        raise Invalid(f"LSF has no dependency {clean(dependency.kind, 40)!r}.", f"There are: {known}.")
    if split_id(dependency.id) is None:
        raise Invalid(f"{clean(dependency.id, 60)!r} is not the id of an LSF job.")
    return f"{word}({dependency.id})"


def job_name(spec: JobSpec) -> str | None:
    """The name with the array's indices behind it. Raises Invalid for brackets, which would make it an array."""
    name = spec.name
    if name is not None and re.search(r"[\[\]]", name):
        raise Invalid(f"The name {clean(name, 80)!r} holds a bracket, which LSF reads as an array.")
    if spec.array is None:
        return name
    if not _ARRAY.match(spec.array):
        raise Invalid(f"{clean(spec.array, 60)!r} is not an array of indices.", "Write 1-10, 1-9:2, 1,3,5 or 1-100%4.")
    indices, percent, limit = spec.array.partition("%")
    return f"{name or 'array'}[{indices}]{percent}{limit}"


def _hosts(spec: JobSpec) -> tuple[int | None, str | None]:
    """The number of slots, and the span that spreads them over so many hosts. Raises Invalid where that is uneven."""
    if spec.nodes is None:
        return spec.cores, "span[hosts=1]" if spec.gpus and (spec.cores or 1) > 1 else None
    cores = spec.cores or spec.nodes
    if cores % spec.nodes:
        raise Invalid(
            f"{cores} cores cannot be spread evenly over {spec.nodes} hosts.", "Ask for a multiple of the hosts."
        )
    return cores, "span[hosts=1]" if spec.nodes == 1 else f"span[ptile={cores // spec.nodes}]"


def _gpus(spec: JobSpec) -> str | None:
    """``num=`` counts GPUs a host."""
    if not spec.gpus:
        return None
    hosts = spec.nodes or 1
    if spec.gpus % hosts:
        raise Invalid(f"{spec.gpus} GPUs cannot be spread evenly over {hosts} hosts.")
    return f"num={spec.gpus // hosts}"


def _environment(spec: JobSpec) -> str | None:
    if not spec.env:
        return None
    for name, value in spec.env.items():
        if not _ENV_NAME.match(name):
            raise Invalid(f"{clean(name, 60)!r} is not the name of a variable.")
        if not value.isprintable() or re.search(r"[,'\"\\]", value):
            raise Invalid(
                f"The value of {name} holds a comma, a quote or a control character, which bsub -env cannot carry.",
                "Set it in the script instead.",
            )
    return ", ".join(["all", *(f"{name}={value}" for name, value in spec.env.items())])


def _extensions(spec: JobSpec) -> list[str]:
    """Options for what LSF alone has. Raises Invalid for what it does not have."""
    argv: list[str] = []
    for name, value in spec.extensions.items():
        if name == "description":
            continue
        if name == "exclusive":
            argv += ["-x"] if value else []
        elif name in EXTENSION_OPTIONS:
            argv += [EXTENSION_OPTIONS[name], _text(name, value)]
        else:
            known = ", ".join(sorted([*EXTENSION_OPTIONS, "description", "exclusive"]))
            raise Invalid(f"LSF has no {clean(name, 60)!r} for a job.", f"There are: {known}.")
    return argv


def _text(name: str, value: Any) -> str:
    text = str(value)
    if not text or text.startswith("-") or not text.isprintable() or len(text) > LINE_LIMIT:
        raise Invalid(f"{clean(text, 80)!r} cannot be the {clean(name, 40).replace('_', ' ')} of an LSF job.")
    return text


def _description(intent: SubmitJob) -> str:
    own = intent.spec.extensions.get("description")
    mark = f"{INTENT_MARK}{intent.intent_id}"
    return f"{mark} {_text('description', own)}" if own else mark


def _payload(spec: JobSpec) -> tuple[list[str], bytes | None]:
    """The command as one argument, or the script for standard input."""
    if spec.script is not None:
        if "\0" in spec.script:
            raise Invalid("The script holds a NUL character.")
        if _WAITS.search(spec.script):
            raise Invalid(
                "The script asks bsub to wait for the job (-K or -I in a #BSUB line), and nobody could.",
                "Leave that option out.",
            )
        return [], spec.script.encode()
    command = shlex.join(spec.command)
    if command.startswith("-"):
        raise Invalid(f"The command {clean(command, 60)!r} begins with a dash, so bsub would read it as an option.")
    return [command], None


def _options(intent: SubmitJob, facts: Facts, notes: list[str]) -> list[str]:
    """The options that a specification stands for, in a fixed order; what is rounded is added to `notes`."""
    spec = intent.spec
    cores, span = _hosts(spec)
    memory = walltime = None
    if spec.memory_bytes is not None:
        memory, note = memory_option(facts, spec.memory_bytes)
        notes += [note] if note else []
    if spec.walltime_seconds is not None:
        walltime, note = time_option(spec.walltime_seconds)
        notes += [note] if note else []
    options = (
        ("-Jd", _description(intent)),
        ("-J", job_name(spec)),
        ("-q", spec.queue),
        ("-n", str(cores) if cores is not None else None),
        ("-R", span),
        ("-M", memory),
        ("-W", walltime),
        ("-gpu", _gpus(spec)),
        ("-P", spec.account),
        ("-w", " && ".join(condition(dependency) for dependency in spec.dependencies) or None),
        ("-cwd", spec.cwd),
        ("-o", spec.output),
        ("-e", spec.error),
        ("-env", _environment(spec)),
    )
    argv = [part for option, value in options if value is not None for part in (option, _text(option, value))]
    return [*argv, *(["-H"] if spec.hold else []), *_extensions(spec)]


def plan_submit(intent: SubmitJob, facts: Facts) -> Plan:
    """The bsub of a submission. Raises Invalid or Unsupported for what LSF cannot be asked."""
    spec, notes = intent.spec, list[str]()
    options = _options(intent, facts, notes)
    command, stdin = _payload(spec)
    if stdin is not None and b"#BSUB" in stdin:
        notes.append("The script's own #BSUB lines count too; options shown here win over them.")
    if spec.output is None:
        notes.append("No output file: LSF sends the output by mail, unless the script or the site says otherwise.")
    what = clean(job_name(spec) or " ".join(spec.command[:3]) or "script", 120)
    change = Change(None, "job", "-", f"{what} in {clean(spec.queue or 'the default queue', 80)}")
    step = Step(Command(("bsub", *options, *command), stdin), (), f"Submit {what}")
    return Plan(intent, (step,), (change,), tuple(notes), undo="bkill of the job's id, once it is known")
