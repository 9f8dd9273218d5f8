"""Reading answers of the native wire: the envelope, what an error status means, and the forms that rows come in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from adapters.base import (
    AdapterError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ProtocolError,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from adapters.text import clean

RawRow: TypeAlias = dict[str, Any]


class Answer(NamedTuple):
    """The inside of an envelope. `total` is what the server says it has, which may be more than one page brings."""

    data: Any
    total: int | None = None
    code: int = 200
    message: str = ""


def _parse(body: bytes, what: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        start = clean(body[:80])
        raise ProtocolError(
            f"{what}: the answer is not JSON but begins with {start!r}.",
            "Is the url that of the scheduler, and not of a proxy or a web page?",
        ) from error


def _words(body: bytes) -> str:
    """What the server said about an error, in its own words; empty where it said nothing readable."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    found: Any = parsed
    if isinstance(parsed, Mapping):
        found = next((parsed[key] for key in ("msg", "message", "detail", "error") if parsed.get(key)), "")
    return clean(found if isinstance(found, str) else json.dumps(found), 500) if found else ""


def unwrap(status: int, body: bytes, what: str, *, envelope: bool = True) -> Answer:
    """Read an answer: HTTP status first, then the code within. `what` names the call for messages.

    The node service under `/api` may answer without an envelope (`envelope` False): then all of it is the data.
    Raises the AdapterError that fits, in the server's words.
    """
    if status != 200:
        raise error_of(status, _words(body), what)
    parsed = _parse(body, what)
    code = parsed.get("code") if isinstance(parsed, Mapping) else None
    if not isinstance(code, int | float) or isinstance(code, bool):
        if envelope or code is not None:
            raise ProtocolError(f"{what}: the answer is not the envelope with a code that the native wire has.")
        return Answer(parsed)
    message = clean(str(parsed.get("msg") or ""), 500)
    if not 200 <= code < 300:
        raise error_of(int(code), message, what)
    count = parsed.get("count")
    return Answer(parsed.get("data"), count if isinstance(count, int) else None, int(code), message)


def error_of(code: int, words: str, what: str) -> AdapterError:
    """The error for an HTTP status or a code of the envelope."""
    said = words or f"the server answered {code}"
    message = f"{what}: {said}"
    table: dict[int, tuple[type[AdapterError], str]] = {
        400: (Invalid, ""),
        401: (Unauthenticated, "Check the token or key of this cluster in the configuration; it may have expired."),
        403: (Forbidden, "Your key has not this right; an administrator of the cluster can give another."),
        404: (NotFound, ""),
        405: (Unsupported, "This server is older or has that part switched off."),
        409: (Conflict, "Look at it again, then decide."),
        412: (Conflict, "Look at it again, then decide."),
        413: (Invalid, "It is larger than the server takes."),
        422: (Invalid, ""),
        428: (Conflict, "Look at it again, then decide."),
        429: (Unavailable, "The server limits how often it is asked; try again in a moment."),
        501: (Unsupported, "This server is older or has that part switched off."),
    }
    if code in table:
        kind, hint = table[code]
        return kind(message, hint)
    if code >= 500:
        return Unavailable(message, "The server has trouble; its log says more.")
    return ProtocolError(f"{what}: an answer with the status {code} is not expected here. {words}".strip())


def rows_of(data: Any, known: frozenset[str], what: str) -> list[RawRow]:
    """All rows of an answer as plain mappings, whichever form they came in.

    Forms: an object; a list of {key|name, value}; {keys, values}; one object of equally long lists.
    Raises ProtocolError for rows in which no known field is found, never returns empty ones.
    """
    rows = _expand(data, known, what)
    for row in rows:
        if known.isdisjoint(row):
            shown = ", ".join(clean(str(key), 40) for key in list(row)[:6]) or "nothing"
            raise ProtocolError(
                f"{what}: rows came in which no field is known; they have: {shown}.",
                "The server speaks another version of the wire. Please report it with `pilothouse doctor`.",
            )
    return rows


def row_of(data: Any, known: frozenset[str], what: str) -> RawRow:
    """The one row of an answer. Raises ProtocolError where there is none or more than one."""
    rows = rows_of(data, known, what)
    if len(rows) != 1:
        raise ProtocolError(f"{what}: one row was expected and {len(rows)} came.")
    return rows[0]


def _expand(data: Any, known: frozenset[str], what: str) -> list[RawRow]:
    if data is None:
        return []
    if isinstance(data, Mapping):
        return _expand_mapping(data, known, what)
    if isinstance(data, list):
        if data and all(_is_pair(part) for part in data):
            return [_from_pairs(data)]
        return [_one(part, what) for part in data]
    raise ProtocolError(f"{what}: rows were expected and {type(data).__name__} came.")


def _expand_mapping(data: Mapping[str, Any], known: frozenset[str], what: str) -> list[RawRow]:
    if _is_keyed(data):
        keys, values = data["keys"], data["values"]
        if values and all(isinstance(value, list) for value in values):
            if all(len(value) == len(keys) for value in values):
                return [_zip(keys, value, what) for value in values]
            return _columns(_zip(keys, values, what), what)
        return [_zip(keys, values, what)] if keys else []
    if data and all(isinstance(value, list) for value in data.values()) and not known.isdisjoint(data):
        return _columns(data, what)
    if known.isdisjoint(data):
        inner = [value for value in data.values() if isinstance(value, list | Mapping)]
        if len(inner) == 1:
            return _expand(inner[0], known, what)
    return [dict(data)]


def _is_pair(part: Any) -> bool:
    return isinstance(part, Mapping) and "value" in part and len(part) == 2 and ("key" in part or "name" in part)


def _is_keyed(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("keys"), list) and isinstance(part.get("values"), list)


def _from_pairs(pairs: Iterable[Mapping[str, Any]]) -> RawRow:
    return {str(pair.get("key", pair.get("name"))): pair["value"] for pair in pairs}


def _zip(keys: Sequence[Any], values: Sequence[Any], what: str) -> RawRow:
    if len(keys) != len(values):
        raise ProtocolError(f"{what}: a row has {len(keys)} keys and {len(values)} values.")
    return {str(key): value for key, value in zip(keys, values, strict=True)}


def _columns(data: Mapping[str, Any], what: str) -> list[RawRow]:
    lengths = {len(column) for column in data.values()}
    if len(lengths) > 1:
        raise ProtocolError(f"{what}: the columns of the answer are of unequal length ({sorted(lengths)}).")
    names = list(data)
    return [dict(zip(names, values, strict=True)) for values in zip(*data.values(), strict=True)]


def _one(part: Any, what: str) -> RawRow:
    if _is_keyed(part):
        return _zip(part["keys"], part["values"], what)
    if isinstance(part, Mapping):
        return {str(key): value for key, value in part.items()}
    if isinstance(part, list) and part and all(_is_pair(pair) for pair in part):
        return _from_pairs(part)
    raise ProtocolError(f"{what}: a row was expected and {type(part).__name__} came.")
