"""Without a configuration: which schedulers answer on this host, as clusters that can be opened at once.

Slurm where `squeue` is one, LSF where `lsid` answers, Kubernetes where a kubeconfig has a current context; several
at once become several clusters. Anything that a file names switches this off.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

from adapters.text import clean
from console.config import Config
from console.profiles import PROFILES, Profile

PATIENCE = 4.0  # seconds for a scheduler to say who it is; one that is there but silent is taken in any case
LIMITS = ("read_only", "poll_floor", "calls_per_minute")


def with_detected(config: Config) -> Config:
    """The same configuration, with what answers here where it names no cluster. Takes `PATIENCE` at the most."""
    if config.clusters:
        return config
    limits = {name: getattr(config, name) for name in LIMITS}
    clusters = {name: profile.model_copy(update=limits) for name, profile in asyncio.run(detect()).items()}
    return config.model_copy(update={"clusters": clusters})


async def detect() -> Mapping[str, Profile]:
    """Name -> profile of every scheduler here, in the order Slurm, LSF, Kubernetes."""
    found: dict[str, Profile] = {}
    for answer in await asyncio.gather(_slurm(), _lsf(), asyncio.to_thread(_kubernetes)):
        if answer is not None:
            name, type = answer
            found[_free(_as_name(name), found)] = PROFILES[type].model_validate({"type": type})
    return found


async def _slurm() -> tuple[str, str] | None:
    from adapters.slurm import detect as look

    there = await look(timeout=PATIENCE)
    return (there.name, "slurm") if there is not None else None


async def _lsf() -> tuple[str, str] | None:
    from adapters.lsf import detect as look

    return ("lsf", "lsf") if await look(read_timeout=PATIENCE) is not None else None


def _kubernetes() -> tuple[str, str] | None:
    from adapters.kubernetes import detect as look

    context = look()
    return (context, "kubernetes") if context is not None else None


def _as_name(text: str) -> str:
    """A name for a cluster, of whatever the scheduler or the kubeconfig calls it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", clean(text, 64)).strip("-._")[:64] or "cluster"


def _free(name: str, taken: Mapping[str, Profile]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name[:60]}-{number}", number + 1
    return free
