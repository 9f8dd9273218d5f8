"""The cases: what is right, what is wrong, and what is left open is counted and printed."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.model import Dependency, Job, Node, Queue
from console.diagnosis.causes import CAUSES
from console.diagnosis.cluster import why_nothing_starts
from console.diagnosis.failed import why_failed
from console.diagnosis.findings import Finding
from console.diagnosis.pending import why_pending

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
CASES: list[dict[str, Any]] = [
    case for file in sorted(Path(__file__).parent.glob("cases_*.yaml")) for case in yaml.safe_load(file.read_text())
]
RIGHT_AT_LEAST, WRONG_AT_MOST = 0.85, 2


def job(given: dict[str, Any], status: str) -> Job:
    values = {"id": "7", "status": status, "raw_status": "", "cluster": "c", **given}
    values["dependencies"] = tuple(Dependency(**one) for one in values.get("dependencies", ()))
    values["node_names"] = tuple(values.get("node_names", ()))
    return Job(**values)


def nodes(case: dict[str, Any]) -> list[Node]:
    found = []
    for given in case.get("nodes", ()):
        beat = given.get("heartbeat_time")
        found.append(
            Node(**{**given, "cluster": "c", "heartbeat_time": datetime.fromisoformat(str(beat)) if beat else None})
        )
    return found


def answer(case: dict[str, Any]) -> Finding:
    queues = [Queue(**given, cluster="c") for given in case.get("queues", ())]
    if case["ask"] == "cluster":
        jobs = [job(given, "pending") for given in case.get("jobs", ())]
        return why_nothing_starts(jobs, nodes(case), queues, now=NOW, failure=case.get("failure"))
    if case["ask"] == "pending":
        others = {given["id"]: job(given, "running") for given in case.get("others", ())}
        return why_pending(job(case["job"], "pending"), queues=queues, nodes=nodes(case), others=others)
    return why_failed(job(case["job"], "failed"), tails=case.get("log"), nodes=nodes(case))


def verdict(case: dict[str, Any]) -> str:
    """right, wrong, or abstained: an `unknown` where there was an answer."""
    cause = answer(case).cause
    if cause == case["right"]:
        return "right"
    return "abstained" if cause == "unknown" else "wrong"


def test_there_are_enough_cases_and_a_third_has_no_answer() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) >= 60
    assert all(case["right"] in CAUSES for case in CASES)
    assert sum(case["right"] == "unknown" for case in CASES) * 3 >= len(CASES)


def test_how_many_are_right(capsys: pytest.CaptureFixture[str]) -> None:
    answerable = [case for case in CASES if case["right"] != "unknown"]
    open_ones = [case for case in CASES if case["right"] == "unknown"]
    known, unknown = Counter(map(verdict, answerable)), Counter(map(verdict, open_ones))
    wrong = [f"{case['id']}: {answer(case).cause}, not {case['right']}" for case in CASES if verdict(case) == "wrong"]
    abstained = [case["id"] for case in answerable if verdict(case) == "abstained"]
    with capsys.disabled():
        print(
            f"\ndiagnosis: {known['right']} of {len(answerable)} right, {known['abstained']} left open {abstained}, "
            f"{len(wrong)} wrong {wrong}; without an answer: {unknown['right']} of {len(open_ones)} said so"
        )
    assert known["right"] >= RIGHT_AT_LEAST * len(answerable)
    assert len(wrong) <= WRONG_AT_MOST


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_every_answer_quotes_what_it_rests_on(case: dict[str, Any]) -> None:
    found = answer(case)
    assert found.evidence and all(evidence.source and evidence.quote for evidence in found.evidence)
    assert (found.confidence == "unknown") == (found.cause == "unknown")
    if found.cause not in ("unknown", "nothing_waits", "starting_normally", "cancelled_by_owner"):
        assert found.changes
    if "blocker" in case:
        assert found.blocker is not None and found.blocker.id == case["blocker"]
    if "estimate" in case:
        assert (found.estimate is not None) is case["estimate"]
