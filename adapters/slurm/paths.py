"""Where a job's output lies: Slurm's file name patterns, resolved. Source: sbatch(1), FILENAME PATTERN.

Paths are bytes-safe text (lone surrogates for bytes that are no UTF-8), never cleaned: they must open the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from adapters.slurm import values

_PATTERN = re.compile(r"%(\d*)([AaJjNnstubx%])")
_NO_TASK = "4294967294"


def resolve(pattern: str, job: Mapping[str, str]) -> str:
    """The path that `pattern` means for a job, given by the fields of `DETAIL_FIELDS`.

    A backslash anywhere in the pattern switches replacement off. A width pads numbers with zeros, ten at most. A path
    that is not absolute is relative to the working directory.
    """
    path = pattern.replace("\\", "") if "\\" in pattern else _PATTERN.sub(lambda found: _part(found, job), pattern)
    if path.startswith("/"):
        return path
    return str(PurePosixPath(job["WorkDir"]) / path) if values.present(job["WorkDir"]) else path


def _part(found: re.Match[str], job: Mapping[str, str]) -> str:
    width, letter = found[1], found[2]
    if letter == "%":
        return "%"
    value = _value(letter, job)
    if width and value.isdecimal():
        return value.zfill(min(int(width), 10))
    return value


def _value(letter: str, job: Mapping[str, str]) -> str:
    task = job["ArrayTaskID"] if job["ArrayTaskID"].isdecimal() else None
    array = job["ArrayJobID"] if task is not None else job["JobID"]
    hosts = values.hosts(job["NodeList"])
    return {
        "A": array,
        "a": task or _NO_TASK,
        "b": str(int(task) % 10) if task else _NO_TASK[-1],
        "J": job["JobID"],
        "j": job["JobID"],
        "N": hosts[0].split(".", 1)[0] if hosts else "",
        "n": "0",
        "s": "batch",
        "t": "0",
        "u": job["UserName"],
        "x": job["Name"],
    }[letter]


def output_path(job: Mapping[str, str], stream: str) -> str | None:
    """The file of a stream; None where Slurm does not tell (an interactive job has none). An empty standard error goes
    where standard output goes."""
    pattern = values.present(job["STDERR"]) if stream == "stderr" else None
    pattern = pattern or values.present(job["STDOUT"])
    return resolve(pattern, job) if pattern is not None else None


def default_output(job: Mapping[str, str]) -> str:
    """Where `sbatch` puts output when nothing is said; for jobs of which only the accounting is left."""
    array = job.get("ArrayTaskID", "").isdecimal()
    return resolve("slurm-%A_%a.out" if array else "slurm-%j.out", job)
