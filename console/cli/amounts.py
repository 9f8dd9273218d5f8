"""Argument types that say what was expected: sizes, durations, counts."""

from __future__ import annotations

from argparse import ArgumentTypeError

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
