"""A plugin of the suite: every mutating request and argv that leaves an adapter has its audit intent, in every test.

Tests that drive an adapter or the wire themselves, with no gate in between, are the exception: those of the folders
below, and single ones marked `drives_adapter`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters import outgoing
from console.audit import AuditLog
from tests.proof.ledger import BAD, FILE, GOOD, Ledger

MARK = "drives_adapter"
DRIVE_ADAPTERS = frozenset(
    {"adapters", "chaos", "contract", "kubernetes", "local", "lsf", "native", "replay", "rigs", "slurm"}
)
TESTS = Path(__file__).parent
CHILD = TESTS / "proof" / "child"


class AuditProof:
    """Watches the audit log and the adapters' ways out for as long as the suite runs."""

    def __init__(self, folder: Path) -> None:
        self.ledger = Ledger()
        self.found = folder / "audit-proof"
        self._end = outgoing.observe(self._left)
        self._append = AuditLog.append_if
        self._exempt = False
        self.programs_matched = 0
        AuditLog.append_if = self._watched(self._append)  # type: ignore[method-assign]

    def _left(self, cluster: str, request: Any) -> None:
        if not self._exempt:
            self.ledger.left(cluster, request)

    def _watched(self, append: Callable[..., Any]) -> Callable[..., Any]:
        def append_if(log: AuditLog, wanted: Callable[[], bool], kind: str, **fields: Any) -> Any:
            record = append(log, wanted, kind, **fields)
            self.ledger.wrote(record)
            return record

        return append_if

    def close(self) -> None:
        self._end()
        AuditLog.append_if = self._append  # type: ignore[method-assign]

    def programs(self) -> list[str]:
        """What programs that tests started have found so far."""
        return self.found.read_text("utf-8").splitlines() if self.found.exists() else []

    @pytest.fixture(autouse=True)
    def _everything_is_on_record(self, request: pytest.FixtureRequest) -> Iterator[None]:
        before = len(self.programs())
        self._exempt = request.node.get_closest_marker(MARK) is not None
        yield
        bad = self.ledger.take_violations()
        told = self.programs()[before:]
        self.programs_matched += sum(line.startswith(GOOD) for line in told)
        bad += [line.removeprefix(BAD) for line in told if line.startswith(BAD)]
        if bad and not self._exempt:
            pytest.fail("left without a line in the audit log: " + "; ".join(bad), pytrace=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            inside = item.path.is_relative_to(TESTS)
            if inside and item.path.relative_to(TESTS).parts[0] in DRIVE_ADAPTERS:
                item.add_marker(MARK)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        programs = self.programs_matched
        if count := self.ledger.matched + programs:
            terminalreporter.write_line(
                f"audit proof: {count} mutating requests left, each after its line ({programs} in programs)"
            )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}: drives an adapter or the wire itself, without the gate")
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        return  # the tests run in processes of their own, each with a proof of its own
    proof = AuditProof(Path(os.environ["PILOTHOUSE_STATE_DIR"]).parent)
    os.environ[FILE] = str(proof.found)
    os.environ["PYTHONPATH"] = str(CHILD)
    config.pluginmanager.register(proof, "audit-proof-state")
    config.add_cleanup(proof.close)
