"""Secrets never reach the log: they are replaced before a line is hashed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MARK = "[redacted]"

_NAMES = r"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|jwt|credentials?)"
_SECRET_NAME = re.compile(rf"(?i)^(?:[\w.-]*[_.-])?{_NAMES}(?:[_.-](?:value|data))?$")
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # a private key, whole; its end may have been cut off
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S), MARK),
    # well-known shapes: cloud and forge keys, keys of the native scheduler, of model providers, JSON web tokens
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), MARK),
    (re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}\b|\bgithub_pat_[A-Za-z0-9_]{20,}\b|\bglpat-[\w-]{16,}"), MARK),
    (re.compile(r"\bxce_ak_[A-Za-z0-9_-]+"), MARK),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"), MARK),
    (re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"), MARK),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?"), MARK),
    # user:password@ of an address; what follows Authorization or Bearer
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://[^\s/:@]*):[^\s/@]+@"), rf"\1:{MARK}@"),
    (re.compile(r"(?i)\b(authorization\W{1,4}(?:bearer |basic )?|bearer )[A-Za-z0-9._~+/=-]{6,}"), rf"\1{MARK}"),
    # NAME=value and "name": "value", also within JSON that was quoted once more
    (
        re.compile(
            rf"(?i)(?<![A-Za-z])((?:[\w.-]*[_.-])?{_NAMES}\\*[\"']?\s*[:=]\s*\\*[\"']?)([^\s\"'\\,;&}}{{\]\[]+)"
        ),
        rf"\1{MARK}",
    ),
    (re.compile(rf"(?i)(--?(?:[\w-]*-)?{_NAMES}[ =])([^\s\"']+)"), rf"\1{MARK}"),
)


def redact_text(text: str) -> str:
    """`text` with everything that looks like a secret replaced."""
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text


def holds_secret(value: Any) -> bool:
    """Whether something in a JSON-ready value looks like a secret."""
    return bool(redact(value) != _plain(value))


def _plain(value: Any) -> Any:
    """The value in the form that `redact` gives, with nothing replaced."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def redact(value: Any) -> Any:
    """A JSON-ready value with every secret replaced, by its look or by the name it stands under."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, Mapping):
        return {str(name): _named(str(name), part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return _listed(value)
    return value


def _named(name: str, value: Any) -> Any:
    if isinstance(value, str) and value and _SECRET_NAME.match(name):
        return MARK
    return redact(value)


def _listed(values: list[Any] | tuple[Any, ...]) -> list[Any]:
    """Also `["--password", "x"]` and a header as `["X-Api-Key", "x"]`."""
    parts: list[Any] = []
    for index, value in enumerate(values):
        before = values[index - 1] if index else None
        hidden = isinstance(before, str) and isinstance(value, str) and _SECRET_NAME.match(before.lstrip("-"))
        parts.append(MARK if hidden else redact(value))
    return parts
