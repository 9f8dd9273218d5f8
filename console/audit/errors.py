"""Why a line could not be put on record."""

from __future__ import annotations

from typing import ClassVar

from adapters.base import AdapterError


class AuditError(AdapterError):
    """The audit log cannot be written or read as it must be. What was to be recorded does not happen."""

    title: ClassVar[str] = "Cannot be put on record"
    code: ClassVar[str] = "audit"
