"""Where each value of the configuration in force comes from: which file and line, an option, a find, or the program."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.text import clean
from console.config import SITE_FILE, Config, trusted_text
from console.config_problems import line_of

DEFAULT = "default"
FOUND = "found on this host"
OPTION = "--read-only"
_FROM_ABOVE = ("read_only", "poll_floor", "calls_per_minute")
"""What limits all clusters is put into each of them."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file, as it was read."""

    path: Path
    text: str
    data: Mapping[str, Any]
    whose: str

    def holds(self, key: tuple[str, ...]) -> bool:
        return self.value(key) is not None

    def value(self, key: tuple[str, ...]) -> Any:
        found: Any = self.data
        for part in key:
            if not isinstance(found, Mapping) or part not in found:
                return None
            found = found[part]
        return found

    def said(self, key: tuple[str, ...]) -> str:
        """The file, and the line on which the key begins there."""
        line = line_of(self.text, key)
        return f"{self.whose} {clean(str(self.path))}" + (f", line {line}" if line else "")


def sources(config: Config, site: Path = SITE_FILE) -> list[Source]:
    """The files that the configuration was read from, the site's first. Raises ConfigError."""
    found = []
    for path in config.sources:
        text = trusted_text(path)
        found.append(Source(path, text, tomllib.loads(text), "site:" if path == site else "yours:"))
    return found


def flat(settings: Mapping[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value with the keys that lead to it; those that are not set are left out."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, (*before, str(name)))
        elif value is not None and value != {}:
            yield (*before, str(name)), value


def origins(config: Config, files: Iterable[Source], *, read_only: bool = False) -> dict[tuple[str, ...], str]:
    """Key -> where its value comes from. `read_only` says that the option of that name was given."""
    known = list(files)
    settings = config.model_dump(mode="json", exclude={"sources", "theme_fixed"})
    return {key: _origin(key, value, known, read_only) for key, value in flat(settings)}


def _origin(key: tuple[str, ...], value: Any, files: list[Source], read_only: bool) -> str:
    holders = [file for file in files if file.holds(key)]
    if key[-1] in _FROM_ABOVE and not any(_same(file.value(key), value) for file in holders):
        above = [file for file in files if _same(file.value((key[-1],)), value)]
        if len(key) > 1 and above:
            return above[-1].said((key[-1],))
        if key[-1] == "read_only" and value and read_only:
            return OPTION
    if key[0] == "clusters" and not any(file.holds(key[:2]) for file in files):
        return FOUND
    if not holders:
        return DEFAULT
    # Of two, the one whose value is in force: one's own lies over the site's, but of what limits the stricter holds.
    same = [file for file in holders if _same(file.value(key), value)]
    if len(holders) > 1 and not same and isinstance(value, list):
        return " and ".join(file.said(key) for file in holders)
    return (same or holders)[-1].said(key)


def _same(raw: Any, value: Any) -> bool:
    return raw is not None and (raw == value or (isinstance(raw, str) and str(value) == str(Path(raw).expanduser())))
