"""The record of every decision and every write: append-only lines, chained and signed, on disk before anything is sent.

A changed, removed, added or reordered line and a cut tail are found by `verify`. Whoever owns the log, its head file
and its key can still write all three anew: only an anchor outside (syslog) guards against that.
"""

from __future__ import annotations

from pathlib import Path

from console.audit.errors import AuditError
from console.audit.export import export
from console.audit.files import state_folder
from console.audit.log import AuditLog, Record
from console.audit.verify import Finding, Verification, verify

__all__ = [
    "AuditError",
    "AuditLog",
    "Finding",
    "Record",
    "Verification",
    "all_logs",
    "default_log",
    "export",
    "state_folder",
    "verify",
]


def default_log() -> AuditLog:
    """The log of this host, in the state folder."""
    return AuditLog()


def all_logs(folder: Path | None = None) -> list[Path]:
    """The logs of every host that shares the folder."""
    return sorted((folder or state_folder() / "audit").glob("audit-*.jsonl"))
