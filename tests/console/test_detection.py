"""With no configuration the schedulers of this host are found; a file that names clusters switches that off."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.opening import settings
from console.config import Config
from console.detection import detect, with_detected
from tests.doubles.lsf.double import LsfDouble
from tests.doubles.slurm_replay import install

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: team/a@prod
contexts: [{name: team/a@prod, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.fixture(autouse=True)
def _bare_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))


async def test_a_bare_host_has_nothing() -> None:
    assert await detect() == {}


async def test_a_current_context_is_a_cluster_with_a_usable_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    assert {name: profile.type for name, profile in (await detect()).items()} == {"team-a-prod": "kubernetes"}


async def test_lsf_is_found_by_its_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    double = LsfDouble(tmp_path / "lsf")
    for name, value in double.environment.items():
        monkeypatch.setenv(name, value)
    assert [profile.type for profile in (await detect()).values()] == ["lsf"]


async def test_a_squeue_that_is_none_is_not_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin" / "squeue").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "squeue").chmod(0o755)
    assert await detect() == {}


async def test_slurm_whose_controller_is_silent_is_found_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "bin", tmp_path / "no-recordings")
    for command in ("squeue", "sinfo"):
        (tmp_path / "bin" / command).write_text(
            '#!/bin/sh\n[ "$1" = --version ] || [ "$1" = -V ] && { echo slurm 24.11.5; exit 0; }\nexit 1\n'
        )
    assert {name: profile.type for name, profile in (await detect()).items()} == {"slurm": "slurm"}


def test_several_at_once_are_several_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    double = LsfDouble(tmp_path / "lsf")
    for name, value in (double.environment | {"KUBECONFIG": str(tmp_path / "kubeconfig")}).items():
        monkeypatch.setenv(name, value)
    config = settings(None, read_only=True)
    assert [profile.type for profile in config.clusters.values()] == ["lsf", "kubernetes"]
    assert config.default == "lsf"
    assert all(profile.read_only for profile in config.clusters.values())


def test_a_named_cluster_switches_detection_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    config = Config.model_validate({"version": 1, "clusters": {"x": {"type": "slurm"}}})
    assert with_detected(config) is config


def test_a_file_that_was_named_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("version = 1\n")
    assert settings(tmp_path / "empty.toml").clusters == {}
