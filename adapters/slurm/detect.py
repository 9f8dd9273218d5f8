"""Is there a Slurm here? Cheap: one look at PATH, one local call, one call to the controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adapters.base import AdapterError
from adapters.command import find_program
from adapters.polling import CallMeter
from adapters.slurm.calls import SlurmCalls
from adapters.slurm.facts import Facts, Version
from adapters.slurm.options import SlurmOptions
from adapters.text import clean


@dataclass(frozen=True, slots=True)
class Detected:
    """A Slurm that was found. `answers` False: the commands are there, `problem` says why the controller is not."""

    name: str
    version: Version
    answers: bool
    problem: AdapterError | None = None


async def detect(environment: Mapping[str, str] | None = None, *, timeout: float = 8.0) -> Detected | None:
    """The Slurm of this host; None where `squeue` is not on the PATH or is none. Never raises for what Slurm says.

    The cluster is named as Slurm names it, else "slurm".
    """
    options = SlurmOptions("slurm", base=environment, read_timeout=timeout)
    if find_program("squeue", options.read_environment()) is None:
        return None
    facts = Facts(SlurmCalls(options, CallMeter(limit=None)))
    try:
        version = await facts.version()
    except AdapterError:
        return None
    try:
        name = (await facts.settings()).get("ClusterName", "")
    except AdapterError as error:
        return Detected("slurm", version, False, error)
    return Detected(clean(name, 64) if name.replace("-", "").replace("_", "").isalnum() else "slurm", version, True)
