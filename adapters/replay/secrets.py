"""What must not get into a recording, which people pass on: credentials in commands, reasons and names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "[hidden]"
DROPPED = frozenset({"env"})
"""Extension fields that are never recorded: variables of a job are where people put their keys."""

_SECRETS = re.compile(
    r"""
    \bxce_(?:ak|nk|jk)_[A-Za-z0-9_-]+            # keys of the native scheduler
    | \b(?:sk|pk|ghp|gho|ghs|glpat|xox[abp])[-_][A-Za-z0-9_-]{8,}
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*   # JSON web tokens
    | \bAKIA[0-9A-Z]{16}\b
    | (?<=Bearer\ )[^\s'"]+
    | (?<=://)[^/\s:@'"]+:[^/\s@'"]+(?=@)        # user:password in a url
    | (?i:(?<=token=)|(?<=token:\ )|(?<=secret=)|(?<=passwd=)|(?<=password=)|(?<=api_key=)|(?<=apikey=)|(?<=_key=))
      [^\s'"&;]+
    """,
    re.VERBOSE,
)


def hide(text: str) -> str:
    """The text with everything that looks like a credential replaced."""
    return _SECRETS.sub(HIDDEN, text)


def hide_in(value: Any) -> Any:
    """The same for every text within a JSON value; fields that are never recorded are left out."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, Mapping):
        return {key: hide_in(part) for key, part in value.items() if key not in DROPPED}
    if isinstance(value, list):
        return [hide_in(part) for part in value]
    return value
