"""How one LSF is asked: what a profile may set, the environment of the commands, and when polls hold back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo

from adapters.command import clean_environment

BACK_OFF = (60.0, 120.0, 300.0)
_FORMATS = ("LSB_BJOBS_", "LSB_BQUEUES_", "LSB_BHOSTS_", "LSB_BUSERS_", "LSB_DISPLAY_", "LSB_HMS_", "LSB_UNIT_FOR_")
_OURS = {
    "LSB_DISPLAY_YEAR": "Y",
    "LSB_BJOBS_CONSISTENT_EXIT_CODE": "Y",
    "LSB_HMS_TIME_FORMAT": "N",
    "LSB_JOBID_DISP_LENGTH": "10",
}


def environment_for_lsf(environment: Mapping[str, str]) -> dict[str, str]:
    """C locale, years in times, consistent exit codes, and none of the variables that change a format."""
    names = [name for name in environment if name.startswith("LSB_") and name.endswith("_FORMAT")]
    return clean_environment(environment, (*_FORMATS, *names, "LSF_LSLOAD_FORMAT", "LSF_LSHOSTS_FORMAT"), extra=_OURS)


@dataclass(frozen=True, slots=True)
class Options:
    """What a profile may set.

    Args:
        read_timeout, write_timeout: seconds.
        calls_per_minute: the most polls a minute; None does not cap.
        own_interval, interval: seconds between polls of own jobs, and of everything else.
        floor: the site's shortest interval between two polls, seconds.
        back_off: seconds for which polls hold back after LSF asked for it, the first time, the second, and so on.
        check_after_write: seconds after a write at which its targets are read again.
        unit_for_limits: the site's LSF_UNIT_FOR_LIMITS, where lsf.conf cannot be read.
        job_slot_limits: True where the site lets operators change a host's slots with bconf; None: as lsf.conf says.
        user: whose jobs are own ones; None is the user who runs this process.
        zone: the zone LSF prints times in; None is the zone of this host.
    """

    read_timeout: float = 20.0
    write_timeout: float = 30.0
    calls_per_minute: float | None = 6.0
    own_interval: float = 30.0
    interval: float = 60.0
    floor: float = 10.0
    back_off: tuple[float, ...] = BACK_OFF
    check_after_write: float = 2.5
    unit_for_limits: str | None = None
    job_slot_limits: bool | None = None
    user: str | None = None
    zone: tzinfo | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


class Pause:
    """How long polls of mbatchd hold back, after it said so or did not answer."""

    def __init__(self, steps: tuple[float, ...] = BACK_OFF, clock: Callable[[], float] = time.monotonic) -> None:
        self._steps = steps
        self._clock = clock
        self._until = 0.0
        self._level = 0
        self.cause = ""

    @property
    def left(self) -> float:
        """Seconds until the next poll; 0.0 when it may go out."""
        return max(0.0, self._until - self._clock())

    def hold(self, cause: str) -> float:
        """Hold back, longer each time in a row; returns for how many seconds."""
        seconds = self._steps[min(self._level, len(self._steps) - 1)]
        self._level += 1
        self._until = self._clock() + seconds
        self.cause = cause
        return seconds

    def clear(self) -> None:
        """An answer came without complaint."""
        self._level, self._until, self.cause = 0, 0.0, ""
