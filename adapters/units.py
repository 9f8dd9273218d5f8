"""What people type for amounts of memory and time, and how such amounts are shown.

Sizes: ``4GB`` is decimal (4,000,000,000 bytes), ``4GiB`` binary (4,294,967,296 bytes). Durations: ``HH:MM``,
``HH:MM:SS``, ``D-HH:MM``, ``90m``, ``2d``, ``1h30m``. A bare number is refused: schedulers read it as minutes, as
seconds, as MB or as kB, each in its own way. Every parser raises `UnitError` with a sentence that says what to type.
"""

from __future__ import annotations

import re
from decimal import Decimal

SIZE_UNITS: dict[str, int] = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50,
}  # fmt: skip
_SIZE_BY_LOWER = {name.lower(): factor for name, factor in SIZE_UNITS.items()}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-z]*)", re.ASCII)
_CLOCK = re.compile(r"(?:(?P<days>\d+)-)?(?P<hours>\d+):(?P<minutes>\d\d)(?::(?P<seconds>\d\d))?", re.ASCII)
_PARTS = re.compile(r"(?:\d+[wdhms])+", re.ASCII)
MOST_DIGITS = 18


class UnitError(ValueError):
    """An amount that cannot be read; the message says what to type instead."""


def _too_long(text: str) -> bool:
    return sum(char.isdigit() for char in text) > MOST_DIGITS


def parse_size(text: str) -> int:
    """Bytes of a size such as ``4GB`` or ``1.5GiB``. Raises UnitError for a bare number and for ``4G``, which
    some schedulers read as decimal and some as binary."""
    text = text.strip()
    found = _SIZE.fullmatch(text)
    if found is None or _too_long(text):
        raise UnitError(f"{text!r} is not a size: type a number and a unit, such as 4GB or 512MiB.")
    number, unit = found["number"], found["unit"].lower()
    factor = _SIZE_BY_LOWER.get(unit)
    if not unit:
        raise UnitError(
            f"{number} has no unit, and schedulers disagree on what it would mean: type {number}MB or {number}GB."
        )
    if factor is None and len(unit) == 1 and unit in "kmgtp":
        big = unit.upper()
        raise UnitError(f"{text} can be decimal or binary: type {number}{big}B (10^n bytes) or {number}{big}iB (2^n).")
    if factor is None:
        raise UnitError(f"{found['unit']!r} is not a unit of size: use one of {', '.join(SIZE_UNITS)}.")
    size = Decimal(number) * factor
    if size != size.to_integral_value():
        raise UnitError(f"{text} is not a whole number of bytes.")
    return int(size)


def parse_duration(text: str) -> int:
    """Seconds of a duration: ``HH:MM``, ``HH:MM:SS``, ``D-HH:MM[:SS]``, or parts such as ``90m``, ``2d``, ``1h30m``.

    Raises UnitError for a bare number, and for minutes or seconds above 59 behind a colon.
    """
    text = text.strip()
    if re.fullmatch(r"\d+(?:\.\d+)?", text, re.ASCII):
        raise UnitError(
            f"{text} has no unit: LSF and Slurm read it as minutes, others as seconds. Type {text}m, {text}s or HH:MM."
        )
    if not _too_long(text):
        if clock := _CLOCK.fullmatch(text):
            return _clock_seconds(text, clock)
        if _PARTS.fullmatch(text.lower()):
            return _sum_of_parts(text.lower())
    raise UnitError(f"{text!r} is not a duration: type HH:MM, HH:MM:SS, or a number and a unit such as 90m, 12h, 2d.")


def _clock_seconds(text: str, clock: re.Match[str]) -> int:
    days, hours, minutes, seconds = (int(clock[name] or 0) for name in ("days", "hours", "minutes", "seconds"))
    if minutes > 59 or seconds > 59:
        raise UnitError(f"{text} has more than 59 minutes or seconds behind a colon: for minutes type, say, 90m.")
    if clock["days"] and hours > 23:
        raise UnitError(f"{text} has days and more than 23 hours.")
    return days * 86400 + hours * 3600 + minutes * 60 + seconds


def _sum_of_parts(text: str) -> int:
    parts = re.findall(r"(\d+)([wdhms])", text)
    units = [unit for _, unit in parts]
    if units != sorted(set(units), key="wdhms".index):
        raise UnitError(f"{text!r} names its units twice or out of order: type, say, 2d12h30m.")
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)


def show_size(size: int | None) -> str:
    """A size for people, decimal, three figures: ``4 GB``, ``1.5 TB``; ``-`` where it is unknown."""
    if size is None:
        return "-"
    for unit, factor in (("PB", 10**15), ("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if abs(size) >= factor:
            return f"{_three_figures(size / factor)} {unit}"
    return f"{size} B"


def _three_figures(number: float) -> str:
    text = f"{number:.0f}" if abs(number) >= 100 else f"{number:.1f}" if abs(number) >= 10 else f"{number:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def show_duration(seconds: float | None) -> str:
    """A duration for people: ``00:05``, ``02:03:04``, ``3-02:03:04``; ``-`` where it is unknown.

    Below an hour ``MM:SS``. Never the form ``HH:MM``, so that two figures always are minutes and seconds.
    """
    if seconds is None:
        return "-"
    whole = int(abs(seconds))
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    sign = "-" if seconds < 0 and whole else ""
    if days:
        return f"{sign}{days}-{hours:02}:{minutes:02}:{left:02}"
    if hours:
        return f"{sign}{hours:02}:{minutes:02}:{left:02}"
    return f"{sign}{minutes:02}:{left:02}"


def exact_duration(seconds: int) -> str:
    """A duration that reads back as the same when it is typed: two parts would be hours and minutes, so there are
    always three. For limits and for amounts to ask for."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def whole_minutes(seconds: int) -> int:
    """Minutes, rounded up: for wires that know no seconds."""
    return -(-seconds // 60)


def show_hours_minutes(seconds: int) -> str:
    """``HH:MM`` rounded up to whole minutes, hours beyond a day included: what LSF and the native wire take."""
    hours, minutes = divmod(whole_minutes(seconds), 60)
    return f"{hours:02}:{minutes:02}"
