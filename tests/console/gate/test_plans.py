"""Plans that wait in files: private, versioned, used once."""

from __future__ import annotations

import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.base import AdapterError, NotFound
from adapters.intents import CancelJob, HttpRequest, Plan, Step
from adapters.model import Ref
from console.gate.inbox import MOST, Full, Inbox
from console.gate.plans import LIFE, PlanFiles
from console.gate.prepared import Confirm, Prepared, Refused

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def prepared(id: str = "12") -> Prepared:
    intent = CancelJob(cluster="demo", refs=(Ref("demo", "job", id),), origin="mcp")
    return Prepared(Plan(intent, (Step(HttpRequest("POST", f"/jobs/{id}/control", (), b"{}")),)), Confirm("key"))


@pytest.fixture
def files(tmp_path: Path) -> PlanFiles:
    return PlanFiles(tmp_path / "plans", clock=lambda: NOW)


def test_a_plan_survives_its_process_and_is_private(files: PlanFiles, tmp_path: Path) -> None:
    put = files.put(prepared(), "I would cancel it\x1b[2J")
    again = PlanFiles(tmp_path / "plans", clock=lambda: NOW).get(put.plan_id[:8])
    assert again.intent == put.intent
    assert again.digest == put.digest
    assert again.said == "I would cancel it␛[2J"
    path = tmp_path / "plans" / f"{put.plan_id}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_plan_is_used_once_by_any_number_of_takers(files: PlanFiles) -> None:
    put = files.put(prepared())
    taken: list[str] = []

    def take() -> None:
        try:
            files.take(put.plan_id)
            taken.append("taken")
        except Refused:
            taken.append("refused")

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == ["refused"] * 7 + ["taken"]
    assert files.waiting() == []


def test_an_old_plan_cannot_be_answered(tmp_path: Path) -> None:
    put = PlanFiles(tmp_path / "p", clock=lambda: NOW).put(prepared())
    later = PlanFiles(tmp_path / "p", clock=lambda: NOW + LIFE + timedelta(seconds=1))
    with pytest.raises(NotFound):
        later.get(put.plan_id)
    later.sweep()
    assert list((tmp_path / "p").iterdir()) == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "zz", "0" * 32])
def test_names_that_are_no_plans(files: PlanFiles, name: str) -> None:
    with pytest.raises(AdapterError):
        files.get(name)
    with pytest.raises(AdapterError):
        files.take(name)


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"version": 2}', b"\xff"])
def test_a_damaged_file_is_passed_over(files: PlanFiles, tmp_path: Path, content: bytes) -> None:
    put = files.put(prepared())
    path = tmp_path / "plans" / f"{put.plan_id}.json"
    path.write_bytes(content)
    assert files.waiting() == []


def test_what_cannot_be_read_hides_no_other_plan(files: PlanFiles, tmp_path: Path) -> None:
    """Nesting without an end, and a time without one."""
    good, endless = files.put(prepared("1")), files.put(prepared("2"))
    path = tmp_path / "plans" / f"{endless.plan_id}.json"
    path.write_text(path.read_text().replace(NOW.isoformat(), "9999-12-31T23:59:59+00:00"))
    (tmp_path / "plans" / f"{'a' * 32}.json").write_bytes(b"[" * 200_000)
    (tmp_path / "plans" / f"{'a' * 32}.json").chmod(0o600)
    assert [plan.plan_id for plan in files.waiting()] == [good.plan_id]
    files.sweep()
    assert files.get(good.plan_id).intent == good.intent


def test_a_file_open_to_others_is_passed_over(files: PlanFiles, tmp_path: Path) -> None:
    put = files.put(prepared())
    (tmp_path / "plans" / f"{put.plan_id}.json").chmod(0o644)
    assert files.waiting() == []


async def test_a_proposal_waits_until_it_is_answered() -> None:
    inbox = Inbox()
    seen: list[int] = []
    inbox.watchers.append(lambda: seen.append(len(inbox)))
    first, second = inbox.add(prepared("1"), "t1"), inbox.add(prepared("2"), "t1")
    inbox.close(first, "approved")
    assert await first.wait() == "approved"
    assert inbox.withdraw("t1") == [second]
    assert await second.wait() == "withdrawn"
    assert seen == [1, 2, 1, 0]
    inbox.close(first, "declined")
    assert first.answer == "approved"


async def test_an_agent_cannot_bury_a_person_in_proposals() -> None:
    inbox = Inbox()
    for n in range(MOST):
        inbox.add(prepared(str(n)), "t")
    with pytest.raises(Full):
        inbox.add(prepared("x"), "t")
