"""Every scenario in English and in Chinese: each run must give the golden, byte for byte.

After a wanted change: UPDATE_GOLDEN=1 (never in continuous integration), and read what changed.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from console.audit import AuditLog, verify
from console.config import Config
from console.engine import Engine
from tests.doubles.slurm_replay import install
from tests.scenarios.runner import Run

if TYPE_CHECKING:
    from adapters.local.launch import EmbeddedCluster

HERE = Path(__file__).parent
SCENARIOS: list[dict[str, Any]] = yaml.safe_load((HERE / "scenarios.yaml").read_text())
RECORDED = HERE.parent / "data" / "slurm" / "24.11" / "answers.json"
SUBMITS = """#!/bin/sh
cat > /dev/null
[ -f {counter} ] || echo 900 > {counter}
n=$(cat {counter})
echo $((n + 1)) > {counter}
echo $n
"""
DONE = "#!/bin/sh\nexit 0\n"
SILENT = """#!/bin/sh
[ "$1" = -V ] && echo 'slurm 24.11.5' && exit 0
echo 'slurm_load_jobs error: Socket timed out on send/recv operation' >&2
exit 1
"""


def slurm(folder: Path, *, silent: bool = False, recorded: Path = RECORDED) -> dict[str, Any]:
    """Recorded reads; sbatch and scancel of a few lines that say what real ones say."""
    place = install(folder / "bin", recorded)
    asked = f'#!/bin/sh\nexec {sys.executable} -S {HERE / "squeue.py"} {recorded} "$@"\n'
    scripts = {"squeue": asked, "sbatch": SUBMITS.format(counter=folder / "next"), "scancel": DONE}
    if silent:
        scripts = dict.fromkeys(("squeue", "sinfo", "scontrol", "sacct", "sbatch", "scancel", "sacctmgr"), SILENT)
    for name, text in scripts.items():
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    return {"type": "slurm", "bin_dir": str(place), "owner": "alice"}


@pytest.fixture
def configured(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[list[str]], Config]:
    def make(on: list[str]) -> Config:
        clusters: dict[str, Any] = {}
        for name in on:
            if name == "embedded":
                cluster: EmbeddedCluster = request.getfixturevalue("embedded_cluster")
                written = tomllib.loads(cluster.config.read_text())
                clusters[name] = next(iter(written["clusters"].values()))
            else:
                clusters[name] = slurm(tmp_path / name, silent=name == "silent")
        return Config.model_validate({"version": 1, "clusters": clusters})

    return make


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking again after a write is not waited for, and the person of the recordings is alice."""
    monkeypatch.setattr("console.gate.verify.POLLED", (0.01,))
    monkeypatch.setattr("console.gate.verify.PUSHED", (0.01, 0.05))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario["id"]))
async def test_a_scenario(
    scenario: dict[str, Any], language: str, configured: Callable[[list[str]], Config], tmp_path: Path
) -> None:
    audit = AuditLog(tmp_path / "audit")
    async with Engine(configured(scenario["clusters"]), feeds=False, settle=False, audit=audit) as engine:
        record = await Run(engine, language).run(scenario)
    golden = HERE / "golden" / f"{scenario['id']}.yaml"
    if os.environ.get("UPDATE_GOLDEN") and not os.environ.get("CI"):
        golden.write_text(record)
    assert record == golden.read_text()
    if any(audit.records()):
        assert verify(audit.paths.log).ok
    _invariants(yaml.safe_load(record))


def _invariants(record: dict[str, Any]) -> None:
    """What holds for every scenario, whatever its golden says."""
    intents = [line for line in record["audit"] if line.startswith("intent")]
    assert len(record["requests"]) == len(intents)
    assert all("| confirmed by dialog" in line or "| autopilot" in line for line in intents)
    assert "Bearer abcdef" not in yaml.safe_dump(record["audit"])


def test_every_golden_belongs_to_a_scenario() -> None:
    assert {path.stem for path in (HERE / "golden").glob("*.yaml")} == {scenario["id"] for scenario in SCENARIOS}
    assert len({scenario["id"] for scenario in SCENARIOS}) == len(SCENARIOS) >= 12
