"""The kubeconfig by client-go's rules."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.base import Invalid, Unreachable
from adapters.kubernetes import detect
from adapters.kubernetes.credentials import warnings_of
from adapters.kubernetes.kubeconfig import find, in_cluster, kubeconfig_paths, load, resolve


def write(path: Path, **sections: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **sections}))
    return path


def cluster(name: str, **body: Any) -> dict[str, Any]:
    return {"name": name, "cluster": {"server": f"https://{name}.example:6443", **body}}


def context(name: str, cluster_: str, user: str, **body: Any) -> dict[str, Any]:
    return {"name": name, "context": {"cluster": cluster_, "user": user, **body}}


def test_files_are_merged_and_the_first_has_its_way(tmp_path: Path) -> None:
    one = write(
        tmp_path / "a" / "one",
        clusters=[cluster("prod", **{"certificate-authority": "ca.crt"})],
        contexts=[context("prod", "prod", "me", namespace="team-a")],
    )
    two = write(
        tmp_path / "b" / "two",
        **{"current-context": "prod"},
        clusters=[cluster("prod", **{"insecure-skip-tls-verify": True}), cluster("test")],
        users=[{"name": "me", "user": {"tokenFile": "token"}}],
        contexts=[context("test", "test", "me")],
    )
    merged = load([one, two])
    found = resolve(merged)
    assert (found.context, found.namespace, found.server) == ("prod", "team-a", "https://prod.example:6443")
    assert not found.insecure and found.ca_file == str(tmp_path / "a" / "ca.crt")
    assert found.token_file == str(tmp_path / "b" / "token")
    assert resolve(merged, "test", "other").namespace == "other"


def test_missing_files_of_the_variable_are_skipped(tmp_path: Path) -> None:
    held = write(tmp_path / "config")
    assert kubeconfig_paths({"KUBECONFIG": f"{tmp_path}/nope:{held}:"}) == [held]
    home = write(tmp_path / "home" / ".kube" / "config")
    assert kubeconfig_paths({"HOME": str(tmp_path / "home")}) == [home]
    assert kubeconfig_paths({}) == []


def test_all_ways_to_sign_in_are_read(tmp_path: Path) -> None:
    pem = base64.b64encode(b"PEM").decode()
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "bin/login",
        "args": ["--x"],
        "env": [{"name": "A", "value": "b"}],
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    users = [
        {"name": "cert", "user": {"client-certificate-data": pem, "client-key": "key.pem"}},
        {"name": "basic", "user": {"username": "ann", "password": "pw"}},
        {"name": "exec", "user": {"exec": plugin}},
        {"name": "old", "user": {"auth-provider": {"name": "gcp"}}},
        {"name": "as", "user": {"token": "t", "as": "boss"}},
    ]
    extra = {"proxy-url": "http://proxy.example:3128", "tls-server-name": "api.internal"}
    path = write(
        tmp_path / "config",
        clusters=[cluster("c", **extra)],
        users=users,
        contexts=[context(user["name"], "c", user["name"]) for user in users],
    )
    merged = load([path])
    cert, exec_ = resolve(merged, "cert"), resolve(merged, "exec").exec
    assert (cert.client_cert_data, cert.client_key_file) == (b"PEM", str(tmp_path / "key.pem"))
    assert (cert.proxy_url, cert.tls_server_name) == ("http://proxy.example:3128", "api.internal")
    assert resolve(merged, "basic").basic == ("ann", "pw")
    assert exec_ is not None and exec_.argv == (str(tmp_path / "bin/login"), "--x") and exec_.env == (("A", "b"),)
    assert resolve(merged, "old").unsupported_auth == "gcp"
    assert "boss" in " ".join(warnings_of(resolve(merged, "as")))
    assert "pw" not in repr(resolve(merged, "basic")) and "'t'" not in repr(resolve(merged, "as"))


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("a: [", "line"), ("- just\n- a list", "not a kubeconfig"), ("{}", "no current context"),
        ("current-context: nope", "no context nope"),
        ("current-context: x\ncontexts: [{name: x, context: {cluster: gone}}]", "gone"),
        ("current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
         "clusters: [{name: c, cluster: {}}]", "server"),
        ("current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
         "clusters: [{name: c, cluster: {server: 'https://a', certificate-authority-data: abc}}]", "base64"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said(tmp_path: Path, content: str, error: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises((Invalid, Unreachable)) as caught:
        find(kubeconfig=str(path))
    assert error in caught.value.message and caught.value.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="does not exist"):
        find(kubeconfig=str(tmp_path / "nope"))


def test_the_insecure_flag_is_a_warning(tmp_path: Path) -> None:
    path = write(
        tmp_path / "config",
        **{"current-context": "c"},
        clusters=[cluster("c", **{"insecure-skip-tls-verify": True})],
        contexts=[context("c", "c", "")],
    )
    assert any("not verified" in text for text in warnings_of(find(kubeconfig=str(path))))


def test_inside_a_pod(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    (tmp_path / "ca.crt").write_text("PEM")
    (tmp_path / "namespace").write_text("team-a\n")
    env = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    found = in_cluster(env, tmp_path)
    assert found is not None
    assert (found.server, found.namespace, found.token_file) == (
        "https://[fd00::1]:443",
        "team-a",
        str(tmp_path / "token"),
    )
    assert in_cluster({}, tmp_path) is None and in_cluster(env, tmp_path / "nope") is None


def test_detection_is_cheap_and_never_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nope"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert detect() is None
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/false"}
    path = write(
        tmp_path / "config",
        **{"current-context": "c"},
        clusters=[cluster("c")],
        users=[{"name": "u", "user": {"exec": plugin}}],
        contexts=[context("c", "c", "u")],
    )
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert detect() == "c"
    path.write_text("a: [")
    assert detect() is None
