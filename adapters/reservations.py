"""Reservations of a scheduler that has them: how they are listed. Making and ending them are intents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from adapters.model import Reservation


@runtime_checkable
class ReservationReader(Protocol):
    """A Reader that can also list reservations. No watch brings them: they are read when somebody looks."""

    async def list_reservations(self) -> Sequence[Reservation]:
        """Every reservation this person may see. Raises AdapterError."""
        ...
