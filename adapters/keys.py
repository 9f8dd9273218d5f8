"""API keys of a scheduler that has its own: how they are listed. Making and revoking them are intents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, runtime_checkable


class ApiKey(NamedTuple):
    """One key, without its secret: `prefix` is the beginning that tells it from others. All text is cleaned."""

    id: str
    prefix: str | None = None
    owner: str | None = None
    role: str | None = None
    created: datetime | None = None
    last_used: datetime | None = None


@runtime_checkable
class KeyReader(Protocol):
    """A Reader that can also list keys."""

    async def list_keys(self) -> Sequence[ApiKey]:
        """Every key this person may see. Raises AdapterError."""
        ...
