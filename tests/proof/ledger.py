"""Counts what is on record and what leaves, in this process and in the programs that tests start."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.plan import Request, request_digest

FILE = "PILOTHOUSE_PROOF_FILE"
"""Environment variable: where programs that tests start write what they found, one line each."""
BAD, GOOD = "without a line in the audit log: ", "on record: "


@dataclass(slots=True)
class Ledger:
    """Each intent line allows one request with its digest to leave the cluster's adapter, after it."""

    recorded: Counter[tuple[str, str]] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    matched: int = 0

    def wrote(self, record: dict[str, Any] | None) -> None:
        """A line is on disk."""
        if record is not None and record.get("kind") == "intent":
            self.recorded[str(record.get("cluster")), str(record.get("request_digest"))] += 1

    def left(self, cluster: str, request: Request) -> None:
        """A request is about to leave."""
        key = (cluster, request_digest(request))
        if self.recorded[key] > 0:
            self.recorded[key] -= 1
            self.matched += 1
        else:
            self.violations.append(f"{cluster}: {' '.join(request.lines()[:1])}")

    def take_violations(self) -> list[str]:
        found, self.violations = self.violations, []
        return found


def check_on_disk(cluster: str, request: Request, found: Path, sent: Counter[str]) -> None:
    """In a program of its own: the line must be in the default audit log, on disk, before the request leaves."""
    from console.audit import default_log

    digest = request_digest(request)
    sent[digest] += 1
    lines = [record for record in default_log().records() if record.get("kind") == "intent"]
    written = sum(record.get("request_digest") == digest and record.get("cluster") == cluster for record in lines)
    told = f"{cluster}: {' '.join(request.lines()[:1])}"
    with found.open("a", encoding="utf-8") as file:
        file.write(f"{GOOD if written >= sent[digest] else BAD}{told}\n")
