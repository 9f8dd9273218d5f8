"""The scenarios with a model, in English and in Chinese, through the whole chat and the real SDK.

Each run must give the golden, byte for byte. After a wanted change: UPDATE_GOLDEN=1, and read what changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from console.audit import AuditLog, verify
from console.chat.model import ModelPlanner
from console.chat.retry import Patience
from console.config import Config
from console.engine import Engine
from tests.console.chat.endpoints import KEY, endpoint_at
from tests.doubles.messages_api import MessagesApi, serving
from tests.scenarios.model_runner import ModelRun
from tests.scenarios.test_scenarios import configured, quick

__all__ = ["configured", "quick"]  # fixtures

HERE = Path(__file__).parent
SCENARIOS: list[dict[str, Any]] = yaml.safe_load((HERE / "model_scenarios.yaml").read_text())


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario["id"]))
async def test_a_scenario_with_a_model(
    scenario: dict[str, Any], language: str, configured: Callable[[list[str]], Config], tmp_path: Path
) -> None:
    audit = AuditLog(tmp_path / "audit")
    api = MessagesApi(secrets=(KEY, "Bearer abcdef"))
    feeds = bool(scenario.get("feeds"))
    config = configured(scenario["clusters"])
    async with serving(api) as url, Engine(config, feeds=feeds, settle=False, audit=audit) as engine:
        planner = ModelPlanner(endpoint_at(url), Patience(first=0.01, cap=0.01))
        run = ModelRun(engine, language, planner, api)
        try:
            record = await run.run(scenario)
        finally:
            await run.chat.close()
    api.check()
    golden = HERE / "golden_model" / f"{scenario['id']}.yaml"
    if os.environ.get("UPDATE_GOLDEN") and not os.environ.get("CI"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(record)
    assert record == golden.read_text()
    if any(audit.records()):
        assert verify(audit.paths.log).ok
    found = yaml.safe_load(record)
    intents = [line for line in found["audit"] if line.startswith("intent")]
    assert len(found["requests"]) == len(intents) and all("| confirmed by dialog" in line for line in intents)


def test_every_golden_belongs_to_a_scenario() -> None:
    assert {path.stem for path in (HERE / "golden_model").glob("*.yaml")} == {scenario["id"] for scenario in SCENARIOS}
