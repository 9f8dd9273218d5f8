"""What is known of a cluster and of the person towards it: version, settings, rights. Asked once and remembered."""

from __future__ import annotations

import os
import pwd
import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from adapters.base import AdapterError, Identity, ProtocolError
from adapters.slurm.calls import SlurmCalls
from adapters.text import clean

Level: TypeAlias = Literal["user", "operator", "administrator"]
_VERSION = re.compile(r"^slurm\S* (\d+)\.(\d+)(?:\.(\d+))?", re.MULTILINE)
_LEVELS: dict[str, Level] = {"Operator": "operator", "Administrator": "administrator"}
_SETTING = re.compile(r"^(\w[\w/.]*)\s+= (.*)$")


class Version(NamedTuple):
    """A Slurm release such as 24.11.5."""

    year: int
    month: int
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.year}.{self.month:02d}.{self.patch}"

    @property
    def has_job_state_only(self) -> bool:
        """`squeue --only-job-state`: ids and states alone, at next to no cost for the controller (24.11)."""
        return self[:2] >= (24, 11)

    @property
    def accounts_for_paths(self) -> bool:
        """The accounting keeps the names of output files (24.05)."""
        return self[:2] >= (24, 5)

    @property
    def owners_suspend(self) -> bool:
        """Owners may suspend and resume their jobs (seen refused on 24.11, allowed on 26.05)."""
        return self[:2] >= (25, 5)

    @property
    def coordinators_suspend(self) -> bool:
        """Coordinators may suspend and resume jobs of their accounts (seen refused on 22.05, allowed on 24.11)."""
        return self[:2] >= (24, 11)

    @property
    def reserves_busy_cores(self) -> bool:
        """`flags=ignore_jobs` sets apart cores that jobs still use (works on 24.11, refused on 26.05)."""
        return self[:2] <= (24, 11)


def parse_version(text: str) -> Version:
    """The release in ``slurm 24.11.5`` or ``slurm-wlm 22.05.8``. Raises ProtocolError."""
    found = _VERSION.search(text)
    if found is None:
        raise ProtocolError(f"The version of Slurm is not understood: {clean(text, 80)}")
    return Version(int(found[1]), int(found[2]), int(found[3] or 0))


@dataclass(frozen=True, slots=True)
class Person:
    """Who we are to Slurm. `level` None: slurmdbd did not tell. `coordinates`: accounts whose members' jobs we may
    change as their owners may."""

    name: str
    level: Level | None = None
    coordinates: tuple[str, ...] = ()
    account: str | None = None

    def at_least(self, level: Level) -> bool | None:
        """Whether the person has that level; None where nobody knows."""
        order: tuple[Level, ...] = ("user", "operator", "administrator")
        return None if self.level is None else order.index(self.level) >= order.index(level)

    def identity(self) -> Identity:
        return Identity(
            self.name, role=self.level, operator=self.at_least("operator"), accounts=frozenset(self.coordinates)
        )

    def may_suspend(self, version: Version) -> bool:
        """Whether there are jobs that this person may suspend; which ones the controller says."""
        if self.at_least("operator") is not False or version.owners_suspend:
            return True
        return bool(self.coordinates) and version.coordinators_suspend


def login_name() -> str:
    """The account this runs under; its number where it has no name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


class Facts:
    """Version, settings and rights; each is asked for when it is first needed."""

    def __init__(self, calls: SlurmCalls) -> None:
        self._calls = calls
        self._version: Version | None = None
        self._settings: dict[str, str] | None = None
        self._person: Person | None = None

    async def version(self) -> Version:
        """The release of the commands. Does not ask the controller."""
        if self._version is None:
            finished = await self._calls.run(("squeue", "-V"), counted=True)
            self._version = parse_version(finished.stdout.decode("utf-8", "replace"))
        return self._version

    async def settings(self) -> dict[str, str]:
        """What `scontrol show config` tells. Raises AdapterError."""
        if self._settings is None:
            answer = (await self._calls.read("scontrol", "show", "config")).decode("utf-8", "replace")
            found = (_SETTING.match(line) for line in answer.splitlines())
            self._settings = {match[1]: match[2].strip() for match in found if match is not None}
        return self._settings

    async def person(self) -> Person:
        """Who we are and what we may do. Without an answer of slurmdbd only root and Slurm's own user are known."""
        if self._person is not None:
            return self._person
        name = self._calls.options.login or login_name()
        try:
            person = await self._ask(name)
        except AdapterError:
            # Not remembered: the accounting service may come back.
            return Person(name, "administrator") if name == "root" else Person(name)
        self._person = person
        return person

    async def _ask(self, name: str) -> Person:
        answer = await self._calls.read(
            "sacctmgr", "-n", "-P", "show", "user", name, "withcoord", "format=user,adminlevel,defaultaccount,coord"
        )
        level: Level = "administrator" if name == "root" else "user"
        coordinates: tuple[str, ...] = ()
        account = None
        for line in answer.decode("utf-8", "replace").splitlines():
            fields = line.split("|")
            if len(fields) < 4 or fields[0] != name:
                continue
            if level == "user":
                level = _LEVELS.get(fields[1], "user")
            account = clean(fields[2], 256) or None
            coordinates = tuple(clean(part, 256) for part in fields[3].split(",") if part)
        if level == "user" and name == (await self.settings()).get("SlurmUser", "").split("(")[0]:
            level = "administrator"
        return Person(name, level, coordinates, account)
