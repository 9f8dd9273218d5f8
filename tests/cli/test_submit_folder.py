"""Where a job begins: in the folder of this machine where its cluster sees that, else where its image says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.__main__ import main
from tests.doubles.kube_api import running


def container(config: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """The container of the Job that would be sent."""
    argv = ["--config", str(config), "--json", "submit", "--dry-run", "--name", "x", *options, "--", "true"]
    assert main(argv) == 0
    plan = json.loads(capsys.readouterr().out)
    (found,) = json.loads(plan["requests"][0]["body"])["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_a_container_begins_where_its_image_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running() as double:
        config = tmp_path / "config.toml"
        config.write_text(
            f'version = 1\n[clusters.kube]\ntype = "kubernetes"\nimage = "registry.example/tool:1"\n'
            f'kubeconfig = "{double.kubeconfig(tmp_path)}"\n'
        )
        assert "workingDir" not in container(config, capsys)
        assert container(config, capsys, "--cwd", "/data")["workingDir"] == "/data"
        assert double.mutations == []
