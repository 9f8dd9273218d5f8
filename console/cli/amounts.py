"""Argument types that say what was expected: sizes, durations, counts, moments."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import UTC, datetime

from adapters.units import UnitError, parse_duration, parse_size


def size(text: str) -> int:
    """Bytes."""
    try:
        return parse_size(text)
    except UnitError as error:
        raise ArgumentTypeError(str(error)) from None


def duration(text: str) -> int:
    """Seconds."""
    try:
        return parse_duration(text)
    except UnitError as error:
        raise ArgumentTypeError(str(error)) from None


def count(text: str) -> int:
    """A whole number from 0 on."""
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 0 on.")
    return int(text)


def number_or_none(text: str) -> int | None:
    """A whole number, or the word `none`."""
    return None if text == "none" else count(text)


def moment(text: str) -> datetime:
    """A date or time in ISO 8601; UTC where it names no zone."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a time such as 2026-03-01 or 2026-03-01T12:00:00Z.") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
