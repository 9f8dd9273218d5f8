"""The proof over the suite can fail: it finds what leaves without its line, here and in a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters import outgoing
from adapters.plan import Command, HttpRequest, request_digest
from console.audit import AuditLog
from tests.proof.ledger import BAD, FILE, GOOD, Ledger

REQUEST = HttpRequest("POST", "/x", (), b"{}")
PROGRAM = """
import sys
from adapters import outgoing
from adapters.plan import HttpRequest, request_digest
from console.audit import default_log
request = HttpRequest("POST", "/x", (), b"{}")
if sys.argv[1] == "audited":
    default_log().append("intent", cluster="demo", request_digest=request_digest(request))
outgoing.report("demo", request)
"""


def test_each_line_allows_one_request() -> None:
    ledger = Ledger()
    ledger.left("demo", REQUEST)
    assert ledger.take_violations() == ["demo: POST /x"]
    ledger.wrote({"kind": "intent", "cluster": "demo", "request_digest": request_digest(REQUEST)})
    ledger.wrote({"kind": "result", "cluster": "demo", "request_digest": request_digest(REQUEST)})
    ledger.left("demo", REQUEST)
    assert ledger.violations == [] and ledger.matched == 1
    ledger.left("demo", REQUEST)
    assert len(ledger.take_violations()) == 1
    ledger.wrote({"kind": "intent", "cluster": "other", "request_digest": request_digest(REQUEST)})
    ledger.left("demo", REQUEST)
    assert len(ledger.violations) == 1
    ledger.left("demo", Command(("scancel", "1")))
    assert ledger.violations[-1] == "demo: scancel 1"


def test_the_suite_watches_this_very_process(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    proof = request.config.pluginmanager.get_plugin("audit-proof-state")
    log = AuditLog(tmp_path / "audit")
    log.append("intent", cluster="demo", request_digest=request_digest(REQUEST))
    before = proof.ledger.matched
    outgoing.report("demo", REQUEST)
    assert proof.ledger.matched == before + 1
    outgoing.report("demo", REQUEST)
    assert proof.ledger.take_violations() == ["demo: POST /x"]
    outgoing.report("demo", HttpRequest("GET", "/x"))
    assert proof.ledger.violations == []


@pytest.mark.parametrize(("how", "expected"), [("audited", GOOD), ("not", BAD)])
def test_the_suite_watches_programs(how: str, expected: str, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    environment = os.environ | {FILE: str(tmp_path / "found"), "PILOTHOUSE_STATE_DIR": str(state)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, how], cwd=root, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "found").read_text() == f"{expected}demo: POST /x\n"


def test_a_test_without_the_line_fails(tmp_path: Path) -> None:
    """A suite of its own, with one good and one bad test and one that drives the adapter."""
    root = Path(__file__).parents[2]
    (tmp_path / "test_inner.py").write_text(
        "import pytest\n"
        "from adapters import outgoing\n"
        "from adapters.plan import HttpRequest\n"
        "def leave(): outgoing.report('demo', HttpRequest('POST', '/y'))\n"
        "def test_good(): pass\n"
        "def test_bad(): leave()\n"
        "@pytest.mark.drives_adapter\n"
        "def test_exempt(): leave()\n"
    )
    state = tmp_path / "state" / "s"
    state.mkdir(parents=True)
    environment = os.environ | {"PILOTHOUSE_STATE_DIR": str(state), "PYTHONPATH": str(root)}
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.audit_proof",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
    ]
    done = subprocess.run([*argv, "-q", "test_inner.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "3 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "left without a line in the audit log: demo: POST /y" in done.stdout
    assert json.dumps("test_exempt") not in done.stdout
