"""Every conversation in English and in Chinese: one golden for what is done, one a language for what is said.

After a wanted change: UPDATE_GOLDEN=1 (never in continuous integration), and read what changed.
"""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from console.audit import AuditLog, verify
from console.config import Config
from console.engine import Engine
from tests.doubles.kube_api import running
from tests.doubles.kube_api.objects import node
from tests.lsf.support import add, lsf
from tests.scenarios.conversation import Conversation
from tests.scenarios.test_scenarios import slurm

if TYPE_CHECKING:
    from adapters.local.launch import EmbeddedCluster

HERE = Path(__file__).parent
GOLDEN = HERE / "golden_offline"
SCENARIOS: list[dict[str, Any]] = yaml.safe_load((HERE / "offline.yaml").read_text())


@pytest.fixture
def kubernetes(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A double of an API server with one node."""
    with running() as double:
        double.put("nodes", node("worker-1"))
        yield {
            "type": "kubernetes", "kubeconfig": str(double.kubeconfig(tmp_path, "admin")),
            "image": "registry.example/tool:1",
        }  # fmt: skip


@pytest.fixture
def configured(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[list[str]], Config]:
    def one(name: str) -> dict[str, Any]:
        match name:
            case "embedded":
                cluster: EmbeddedCluster = request.getfixturevalue("embedded_cluster")
                written = tomllib.loads(cluster.config.read_text())
                return dict(next(iter(written["clusters"].values())))
            case "lsf":
                double = lsf(tmp_path)
                for variable in ("PATH", "LSF_ENVDIR", "LSF_DOUBLE_DIALECT"):
                    monkeypatch.setenv(variable, double.environment[variable])
                submitted = int(time.time()) - 100  # all at once: a list begins with the newest
                for queue in ("normal", "short", "short"):
                    add(double, name="waits", queue=queue, submit=submitted)
                return {"type": "lsf"}
            case "kubernetes":
                found: dict[str, Any] = request.getfixturevalue("kubernetes")
                return found
            case _:
                return slurm(tmp_path / name, silent=name == "silent")

    return lambda names: Config.model_validate({"version": 1, "clusters": {name: one(name) for name in names}})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking again after a write is not waited for."""
    monkeypatch.setattr("console.gate.verify.POLLED", (0.01,))
    monkeypatch.setattr("console.gate.verify.PUSHED", (0.01, 0.05))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario["id"]))
async def test_a_conversation(
    scenario: dict[str, Any], language: str, configured: Callable[[list[str]], Config], tmp_path: Path
) -> None:
    audit = AuditLog(tmp_path / "audit")
    async with Engine(configured(scenario["clusters"]), feeds=False, settle=False, audit=audit) as engine:
        conversation = Conversation(engine, language)
        record = await conversation.run(scenario)
    replies = "\n\n----\n\n".join(conversation.replies) + "\n"
    done, told = GOLDEN / f"{scenario['id']}.yaml", GOLDEN / f"{scenario['id']}.{language}.md"
    if os.environ.get("UPDATE_GOLDEN") and not os.environ.get("CI"):
        GOLDEN.mkdir(exist_ok=True)
        done.write_text(record)
        told.write_text(replies)
    assert record == done.read_text()
    assert replies == told.read_text()
    if any(audit.records()):
        assert verify(audit.paths.log).ok
    intents = [line for line in yaml.safe_load(record)["audit"] if line.startswith("intent")]
    assert len(yaml.safe_load(record)["requests"]) == len(intents)


def test_every_golden_belongs_to_a_conversation() -> None:
    ids = {str(scenario["id"]) for scenario in SCENARIOS}
    assert {path.name.split(".")[0] for path in GOLDEN.iterdir()} == ids and len(ids) == len(SCENARIOS)
