"""Kubernetes quantities, exactly: ``110100m``, ``1Gi``, ``1e3``, ``140``, ``0.5``.

The grammar is that of apimachinery's resource.Quantity: a signed decimal number and then a decimal exponent, a decimal
suffix (n u m k M G T P E) or a binary one (Ki Mi Gi Ti Pi Ei). ``1E`` is 10^18, ``1E3`` is 1000.
The API rounds everything up to nano units, so that whole nanos hold every value it can answer.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

_FORM = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,2})|([KMGTPE]i|[numkMGTPE])?)", re.ASCII)
_FACTOR = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9),
    "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30),
    "Ti": Fraction(2**40), "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip
_MOST_CHARACTERS = 48
NANO = 10**9


class QuantityError(ValueError):
    """Text that is no quantity; the message says what one looks like."""


@lru_cache(maxsize=8192)
def quantity(text: str) -> Fraction:
    """The exact value. Raises QuantityError."""
    found = _FORM.fullmatch(text.strip()) if len(text) <= _MOST_CHARACTERS else None
    if found is None:
        raise QuantityError(
            f"{text[:60]!r} is not a quantity: write a number with or without a unit, as 500m, 4 or 16Gi."
        )
    sign, number, exponent, suffix = found.groups()
    value = Fraction(number)
    value *= Fraction(10) ** int(exponent) if exponent else _FACTOR[suffix or ""]
    return -value if sign == "-" else value


def _read(value: object) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return quantity(str(value))
    except QuantityError:
        return None


def nano(value: object) -> int | None:
    """The value in units of 10^-9, rounded up; None for what is no quantity."""
    exact = _read(value)
    return None if exact is None else -((-exact.numerator * NANO) // exact.denominator)


def whole(value: object) -> int | None:
    """The value in whole units (bytes, devices, pods), rounded up; None for what is no quantity."""
    exact = _read(value)
    return None if exact is None else -((-exact.numerator) // exact.denominator)


def ceil_cores(nanos: int) -> int:
    """Whole cores that hold this many nano-cores."""
    return -(-nanos // NANO)


def floor_cores(nanos: int) -> int:
    """Whole cores within this many nano-cores."""
    return nanos // NANO


def show_cpu(nanos: int) -> str:
    """CPU as Kubernetes writes it: ``500m``, ``4``."""
    if nanos % NANO == 0:
        return str(nanos // NANO)
    if nanos % 10**6 == 0:
        return f"{nanos // 10**6}m"
    return f"{nanos}n"


def show_bytes(size: int) -> str:
    """Bytes as Kubernetes writes them: the largest binary unit that divides it, as in ``512Mi``."""
    for unit in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        factor = int(_FACTOR[unit])
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)
