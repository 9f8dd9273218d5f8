"""A copy of the log's head where its owner cannot change it: the host's syslog or journal."""

from __future__ import annotations

import syslog

from console.audit.chain import Head


def to_syslog(host: str, head: Head) -> None:
    """One line a head, at the level info: `pilothouse audit HOST count=N sha256=…`. Never fails."""
    syslog.openlog("pilothouse", syslog.LOG_PID, syslog.LOG_AUTH)
    syslog.syslog(syslog.LOG_INFO, f"audit {host} count={head.count} sha256={head.hash}")
