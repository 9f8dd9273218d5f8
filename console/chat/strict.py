"""JSON of a model, read strictly: what is ambiguous or cut off is refused, never completed."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

LONGEST = 256 * 1024  # characters of one call's arguments


def strict_object(text: str) -> dict[str, Any]:
    """The object that `text` is. Raises ValueError, with the reason, for anything else: names that stand twice, NaN
    and infinities, half surrogates, more than `LONGEST` characters, or a value that is no object."""
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters")
    try:
        text.encode()
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
        json.dumps(found, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deep") from None
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair") from None
    if not isinstance(found, dict):
        raise ValueError(f"an object was expected, not {type(found).__name__}")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number too large")
    return number
