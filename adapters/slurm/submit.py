"""Submissions: a JobSpec as an `sbatch` command line, the script on its standard input. Source: sbatch(1)."""

from __future__ import annotations

import difflib
import math
import re
import shlex
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from adapters.base import Invalid
from adapters.intents import Change, Command, SubmitJob
from adapters.model import Dependency, JobSpec
from adapters.slurm import values
from adapters.slurm.options import SlurmOptions

OPTIONS: Mapping[str, str] = {
    "qos": "qos", "constraint": "constraint", "features": "constraint", "reservation": "reservation", "gres": "gres",
    "licenses": "licenses", "nice": "nice", "begin": "begin", "deadline": "deadline", "exclude": "exclude",
    "nodelist": "nodelist", "ntasks": "ntasks", "ntasks_per_node": "ntasks-per-node", "cpus_per_task": "cpus-per-task",
    "mem_per_cpu": "mem-per-cpu", "mem_per_gpu": "mem-per-gpu", "mail_type": "mail-type", "mail_user": "mail-user",
    "signal": "signal", "wckey": "wckey", "comment": "comment", "dependency": "dependency",
    "gpus_per_node": "gpus-per-node", "gpus_per_task": "gpus-per-task", "switches": "switches",
}  # fmt: skip
"""Extensions of a JobSpec that are options with a value: our word -> sbatch's."""
FLAGS: Mapping[str, str] = {
    "exclusive": "exclusive", "requeue": "requeue", "no_requeue": "no-requeue", "contiguous": "contiguous",
    "oversubscribe": "oversubscribe",
}  # fmt: skip
_PLAIN = re.compile(r"[^,'\"\\\n\0]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ARRAY = re.compile(r"\d+(?:-\d+(?::\d+)?)?(?:,\d+(?:-\d+(?::\d+)?)?)*(?:%\d+)?", re.ASCII)
_DEPENDENCY_KINDS = frozenset({"after", "afterany", "afterok", "afternotok", "aftercorr", "afterburstbuffer",
                               "singleton"})  # fmt: skip


def comment_of(intent_id: UUID) -> str:
    """What is put into the comment, so that a submission without an answer can be looked up."""
    return comment_of_id(str(intent_id))


def comment_of_id(intent_id: str) -> str:
    return f"pilothouse:{intent_id}"


def submission(intent: SubmitJob, options: SlurmOptions) -> tuple[Command, list[Change], list[str]]:
    """The command, what it asks for, and warnings. Raises Invalid for what sbatch cannot be told."""
    spec = intent.spec
    warnings: list[str] = []
    arguments = ["--parsable", *_arguments(spec, warnings)]
    if "comment" in spec.extensions:
        warnings.append(
            "The comment is your own: if the answer to the submission is lost, the job cannot be looked up."
        )
    else:
        arguments.append(f"--comment={comment_of(intent.intent_id)}")
    script = _script(spec)
    changes = [Change(None, name, "", str(value)) for name, value in _shown(spec).items()]
    return Command(options.argv("sbatch", *arguments), script.encode("utf-8", "surrogateescape")), changes, warnings


def _shown(spec: JobSpec) -> dict[str, Any]:
    names = ("name", "queue", "nodes", "cores", "gpus", "memory_bytes", "walltime_seconds", "array", "account", "cwd")
    return {name: getattr(spec, name) for name in names if getattr(spec, name) is not None}


def _arguments(spec: JobSpec, warnings: list[str]) -> list[str]:
    simple = {
        "job-name": spec.name or (_name_of(spec.command[0]) if spec.command else None),
        "partition": spec.queue,
        "account": spec.account,
        "chdir": spec.cwd,
        "output": spec.output,
        "error": spec.error,
        "nodes": spec.nodes,
    }
    arguments = [f"--{option}={value}" for option, value in simple.items() if value is not None]
    arguments += _resources(spec, warnings)
    if spec.walltime_seconds is not None:
        arguments.append(f"--time={values.time_limit(spec.walltime_seconds)}")
        if spec.walltime_seconds % 60:
            warnings.append("Slurm counts time limits in whole minutes: rounded up.")
    if spec.array is not None:
        if not _ARRAY.fullmatch(spec.array):
            raise Invalid(f"{spec.array!r} is no array of Slurm.", "Write 0-49, 1-9:2, 1,5,7 or 0-49%4.")
        arguments.append(f"--array={spec.array}")
    if spec.dependencies:
        arguments.append(f"--dependency={dependency_list(spec.dependencies)}")
    if spec.hold:
        arguments.append("--hold")
    return arguments + _environment(spec) + _extensions(spec.extensions)


def _name_of(command: str) -> str:
    return command.rstrip("/").rpartition("/")[2] or command


def _resources(spec: JobSpec, warnings: list[str]) -> list[str]:
    """Cores, memory and GPUs of the model are of the whole job; Slurm asks for them per task and per node."""
    arguments: list[str] = []
    nodes = spec.nodes or 1
    if spec.cores is not None:
        if nodes > spec.cores:
            raise Invalid(f"{spec.cores} cores cannot be spread over {nodes} nodes.", "Ask for a core a node at least.")
        arguments.append(f"--ntasks={spec.cores}" if nodes > 1 else f"--cpus-per-task={spec.cores}")
        if nodes > 1:
            warnings.append(
                f"{spec.cores} cores on {nodes} nodes are asked for as {spec.cores} tasks of one core each."
            )
    if spec.memory_bytes is not None:
        per_node = values.mib(math.ceil(spec.memory_bytes / nodes))
        arguments.append(f"--mem={per_node}M")
        if per_node * nodes * 1024**2 != spec.memory_bytes:
            warnings.append(f"Slurm counts memory in MiB a node: rounded up to {per_node} MiB{_on(nodes)}.")
    if spec.gpus:
        kind = spec.extensions.get("gpu_type")
        what = f"gpu:{kind}" if kind else "gpu"
        if spec.gpus % nodes:
            arguments.append(f"--gpus={f'{kind}:' if kind else ''}{spec.gpus}")
        else:
            arguments.append(f"--gres={what}:{spec.gpus // nodes}")
    return arguments


def _on(nodes: int) -> str:
    return f" on each of {nodes} nodes" if nodes > 1 else ""


def dependency_list(dependencies: tuple[Dependency, ...]) -> str:
    """``afterok:31:32,afterany:28,singleton``. Raises Invalid for a condition that Slurm does not have."""
    parts = []
    for dependency in dependencies:
        if dependency.kind not in _DEPENDENCY_KINDS:
            raise Invalid(f"Slurm has no dependency {dependency.kind!r}.", f"There are {', '.join(_DEPENDENCY_KINDS)}.")
        if dependency.kind == "singleton":
            parts.append("singleton")
            continue
        if not re.fullmatch(r"\d+(?:_\d+|_\*)?(?:\+\d+)?", dependency.id, re.ASCII):
            raise Invalid(f"{dependency.id!r} is not the id of a job to wait for.")
        parts.append(f"{dependency.kind}:{dependency.id}")
    return ",".join(parts)


def _environment(spec: JobSpec) -> list[str]:
    """Variables for a script go by `--export`, whose list has no way to hold a comma or a quote; those of a command are
    in the script that is made for it."""
    for name in spec.env:
        if not _VARIABLE.fullmatch(name):
            raise Invalid(f"{name!r} is not the name of a variable.")
    if not spec.env or spec.command:
        return []
    for name, value in spec.env.items():
        if not _PLAIN.fullmatch(value):
            raise Invalid(
                f"The value of {name} holds a comma, quote, backslash or newline, which sbatch --export cannot carry.",
                "Set it in the script.",
            )
    return ["--export=ALL," + ",".join(f"{name}={value}" for name, value in spec.env.items())]


def _extensions(extensions: Mapping[str, Any]) -> list[str]:
    arguments = []
    for name, value in extensions.items():
        if name == "gpu_type":
            continue
        if name in FLAGS:
            if value is True:
                arguments.append(f"--{FLAGS[name]}")
            continue
        if name not in OPTIONS:
            near = difflib.get_close_matches(name, [*OPTIONS, *FLAGS], 1)
            raise Invalid(f"Slurm's submission has no {name!r}.", f"Do you mean {near[0]}?" if near else "")
        text = str(value)
        if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
            raise Invalid(f"{name} holds a control character.")
        arguments.append(f"--{OPTIONS[name]}={text}")
    return arguments


def _script(spec: JobSpec) -> str:
    if spec.script is not None:
        return spec.script
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in spec.env.items())
    return f"#!/bin/sh\n{exports}exec {shlex.join(spec.command)}\n"


def dry_run_of(command: Command) -> Command:
    """The same submission as a question: it starts nothing and answers with an estimated start."""
    return Command(tuple("--test-only" if part == "--parsable" else part for part in command.argv), command.stdin)
