"""LSF's times -> UTC.

LSF prints local time of the host the command runs on, in four shapes, most of them without a year:
``Dec 28 19:56``, ``Sep 30 20:32:14 2026`` (LSB_DISPLAY_YEAR=Y), ``Mon Nov 30 01:12:32`` (long forms),
``03/31-14:46:42`` (``bjobs -W`` and some clones), each perhaps followed by E, L or X.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from adapters.lsf.units import without_mark

_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1
    )
}
_NAMED = re.compile(
    r"^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s+)?([A-Z][a-z]{2})\s+(\d{1,2})\s+(\d{1,2}):(\d{2})(?::(\d{2}))?"
    r"(?:\s+(\d{4}))?:?$"
)
_SLASHED = re.compile(r"^(\d{1,2})/(\d{1,2})-(\d{1,2}):(\d{2})(?::(\d{2}))?$")
# A clock a little ahead of ours, or a zone that differs, must not throw a job back by a year.
_SLACK: Final = timedelta(days=1)


class Clock:
    """Reads LSF's times as seen at one moment.

    Args:
        now: an aware time, to find the year of times that have none.
        zone: the zone LSF prints in; None is the zone of this host.
    """

    def __init__(self, now: datetime, zone: tzinfo | None = None) -> None:
        self.zone = zone
        self.now = now.astimezone(zone)

    def read(self, text: str | None, *, ahead: bool = False) -> datetime | None:
        """The UTC time, or None where there is none or it cannot be read.

        `ahead` is for times that may well lie in the future (a predicted end): without a year the nearest is taken;
        otherwise this year, and if that lies in the future, last year.
        """
        if text is None or len(text) < 8:
            return None
        value, _ = without_mark(text)
        if match := _NAMED.match(value):
            month, year = _MONTHS.get(match[1], 0), match[6]
            parts = (month, int(match[2]), int(match[3]), int(match[4]), int(match[5] or 0))
        elif match := _SLASHED.match(value):
            year = None
            parts = (int(match[1]), int(match[2]), int(match[3]), int(match[4]), int(match[5] or 0))
        else:
            return None
        local = self._at(int(year), parts) if year else self._nearest(parts, ahead)
        return local.astimezone(UTC) if local else None

    def _at(self, year: int, parts: tuple[int, int, int, int, int]) -> datetime | None:
        try:
            naive = datetime(year, *parts)
        except ValueError:
            return None
        return naive.replace(tzinfo=self.zone) if self.zone else naive.astimezone()

    def _nearest(self, parts: tuple[int, int, int, int, int], ahead: bool) -> datetime | None:
        """The year that fits a date without one. Years around are tried, for 29 February exists in few of them."""
        years = range(self.now.year + 1, self.now.year - 9, -1)
        found = [at for year in years if (at := self._at(year, parts))]
        if ahead:
            return min(found, key=lambda at: abs(at - self.now), default=None)
        return next((at for at in found if at <= self.now + _SLACK), None)
