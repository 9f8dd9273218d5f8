"""What is suggested for what was said, with its reasons: the cases of suggestions.yaml."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.model import Job
from console.diagnosis.suggest import suggest

T0 = datetime(2026, 1, 1, tzinfo=UTC)
CASES = yaml.safe_load((Path(__file__).parent / "suggestions.yaml").read_text())


def past(case: dict[str, Any]) -> list[Job]:
    jobs = []
    for kind in case["history"]:
        for n in range(kind["count"]):
            jobs.append(
                Job(
                    f"{kind['name']}{n}", kind["name"], kind.get("status", "succeeded"), cores=kind["cores"],
                    owner=kind.get("owner", "alice"), start_time=T0, end_time=T0 + timedelta(seconds=kind["ran"]),
                    extensions={"max_memory_bytes": kind["peak"]},
                )
            )  # fmt: skip
    return jobs


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['say']} {len(case['history'])}")
def test_a_suggestion(case: dict[str, Any]) -> None:
    found = suggest(case["say"], past(case), "alice")
    values = {name: value for name, value in found.spec._asdict().items() if value is not None}
    assert values == case["out"]
    assert set(found.because) == set(values)
