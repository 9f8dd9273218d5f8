"""Every type that can be configured is opened by its adapter, with what the profile says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.base import Invalid, Reader, Writer
from console.adapters import OPENERS, open_cluster
from console.config import Config
from console.profiles import PROFILES

PROFILE: dict[str, dict[str, Any]] = {
    "native": {"url": "http://127.0.0.1:1", "token_env": "NOT_SET", "poll_floor": 5.0},
    "slurm": {"bin_dir": "/nowhere/bin", "poll_floor": 30.0, "calls_per_minute": 2.0},
    "lsf": {"unit_for_limits": "MB", "owner": "alice", "poll_floor": 30.0, "calls_per_minute": 2.0},
    "kubernetes": {"kubeconfig": "kubeconfig", "context": "here", "namespaces": ["a"]},
    "replay": {"file": "/nowhere/tape.jsonl", "speed": 0, "at": 3},
}
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: here, context: {cluster: c, user: u, namespace: n}}]
"""


def test_every_type_has_an_opener() -> None:
    assert set(OPENERS) == set(PROFILES) == set(PROFILE)


@pytest.mark.parametrize("kind", sorted(PROFILE))
async def test_a_profile_is_opened_without_asking_anything(kind: str, tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    (tmp_path / "kubeconfig").chmod(0o600)
    data = {"version": 1, "clusters": {"x": {"type": kind, **PROFILE[kind]}}}
    config = Config.model_validate(data, context={"folder": tmp_path})
    reader, writer = open_cluster("x", config.clusters["x"])
    try:
        assert isinstance(reader, Reader) and isinstance(writer, Writer)
        assert reader.cluster == writer.cluster == "x"
    finally:
        await reader.close()
        await writer.close()


@pytest.mark.parametrize(
    ("kind", "profile", "error"),
    [
        ("native", {"url": "http://cluster.example.org"}, Invalid),
        ("kubernetes", {"kubeconfig": "absent"}, Invalid),
    ],
)
def test_what_cannot_be_opened_is_an_expected_failure(
    kind: str, profile: dict[str, Any], error: type[Exception], tmp_path: Path
) -> None:
    data = {"version": 1, "clusters": {"x": {"type": kind, **profile}}}
    config = Config.model_validate(data, context={"folder": tmp_path})
    with pytest.raises(error):
        open_cluster("x", config.clusters["x"])
