"""What the site has set up: LSF's version and product, and the few lines of lsf.conf that change what we send."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adapters.text import clean

_WANTED: Final = frozenset({"LSF_UNIT_FOR_LIMITS", "LSF_LIVE_CONFDIR"})
_SETTING = re.compile(r"^\s*([A-Z_]+)\s*=\s*\"?([^\"#]*)\"?")
_VERSION = re.compile(r"(\d+(?:\.\d+)+)")
_CONF_LIMIT: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Identification:
    """What `lsid` says. `version` is empty where it tells none; `line` is its first line, clean."""

    line: str
    product: str
    version: tuple[int, ...]
    cluster: str | None
    master: str | None

    @property
    def ibm(self) -> bool:
        """IBM's (or Platform's) own LSF, not a compatible scheduler."""
        return "LSF" in self.product


def identify(text: str) -> Identification:
    """Read the answer of `lsid`; anything before the first line with a version is a shell's noise."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((line for line in lines if _VERSION.search(line)), lines[0] if lines else "")
    match = _VERSION.search(first)
    cluster = re.search(r"My cluster name is (\S+)", text)
    master = re.search(r"My master name is (\S+)", text)
    return Identification(
        line=clean(first, 160),
        product=clean((first[: match.start()] if match else first).strip(), 80),
        version=tuple(int(part) for part in match[1].split(".")) if match else (),
        cluster=clean(cluster[1], 128) if cluster else None,
        master=clean(master[1], 256) if master else None,
    )


def read_conf(environment: Mapping[str, str]) -> dict[str, str] | None:
    """The settings of lsf.conf that matter here; None where the file cannot be read."""
    folder = environment.get("LSF_ENVDIR") or "/etc"
    try:
        with (Path(folder) / "lsf.conf").open("rb") as file:
            text = file.read(_CONF_LIMIT).decode("utf-8", "replace")
    except OSError:
        return None
    found = {}
    for line in text.splitlines():
        match = _SETTING.match(line)
        if match and match[1] in _WANTED:
            found[match[1]] = match[2].strip()
    return found
