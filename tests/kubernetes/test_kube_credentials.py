"""Signing in: token files, exec plugins, client certificates, and what happens when a credential expires."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.base import AdapterError, Invalid, Unauthenticated, Unreachable
from adapters.kubernetes.client import Api
from adapters.kubernetes.credentials import Credentials
from adapters.kubernetes.execplugin import ExecPlugin, read_credential
from adapters.kubernetes.kubeconfig import ClusterConfig, ExecConfig, find
from tests.doubles.kube_api import KubeDouble, running
from tests.doubles.kube_api.server import Fault
from tests.kubernetes.conftest import Opened

TLS = Path(__file__).parents[1] / "data" / "k8s-tls"
V1 = "client.authentication.k8s.io/v1"


def plugin(folder: Path, status: dict[str, Any], *, version: str = V1, said: str = "", code: int = 0) -> Path:
    """A credential plugin that counts its runs, keeps what it was told, and answers with this status."""
    answer = json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})
    script = folder / "plugin.sh"
    script.write_text(
        "#!/bin/sh\n"
        f'echo run >> "{folder}/runs"\n'
        f'printf "%s" "$KUBERNETES_EXEC_INFO" > "{folder}/info"\n'
        "if [ -t 0 ] || read line; then exit 9; fi\n"
        f"printf '%s' '{said}' >&2\n"
        f"cat <<'EOF'\n{answer}\nEOF\nexit {code}\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


def runs(folder: Path) -> int:
    path = folder / "runs"
    return len(path.read_text().splitlines()) if path.exists() else 0


def with_exec(double: KubeDouble, folder: Path, script: Path, **options: Any) -> str:
    """A kubeconfig whose user signs in by this plugin."""
    path = double.kubeconfig(folder, None)
    config = yaml.safe_load(path.read_text())
    config["users"][0]["user"] = {"exec": {"apiVersion": V1, "command": str(script), **options}}
    path.write_text(yaml.safe_dump(config))
    return str(path)


@pytest.mark.parametrize("version", [V1, f"{V1}beta1"])
async def test_a_plugin_is_asked_once_and_kept(
    double: KubeDouble, opened: Opened, tmp_path: Path, version: str
) -> None:
    expires = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    script = plugin(tmp_path, {"token": "admin-token", "expirationTimestamp": expires}, version=version)
    reader = opened.reader(kubeconfig=with_exec(double, tmp_path, script, apiVersion=version, provideClusterInfo=True))
    await reader.list_jobs()
    await reader.list_nodes()
    assert runs(tmp_path) == 1
    info = json.loads((tmp_path / "info").read_text())
    assert info["apiVersion"] == version and info["spec"]["interactive"] is False
    assert info["spec"]["cluster"]["server"] == double.url


async def test_an_expired_credential_is_asked_for_anew(double: KubeDouble, opened: Opened, tmp_path: Path) -> None:
    past = (datetime.now(UTC) + timedelta(seconds=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    script = plugin(tmp_path, {"token": "admin-token", "expirationTimestamp": past})
    reader = opened.reader(kubeconfig=with_exec(double, tmp_path, script))
    await reader.me()
    first = runs(tmp_path)
    await reader.whoami()
    assert runs(tmp_path) > first


async def test_a_401_renews_once_and_a_403_never(double: KubeDouble, opened: Opened, tmp_path: Path) -> None:
    script = plugin(tmp_path, {"token": "bad-token"})
    reader = opened.reader(kubeconfig=with_exec(double, tmp_path, script))
    with pytest.raises(Unauthenticated) as caught:
        await reader.list_jobs()
    assert runs(tmp_path) <= 3 and str(script) in caught.value.hint
    before = runs(tmp_path)
    plugin(tmp_path, {"token": "nobody-token"})
    with pytest.raises(AdapterError) as refused:
        await reader.list_nodes()
    assert refused.value.code == "forbidden" and runs(tmp_path) <= before + 1


async def test_a_plugin_that_fails_says_what_it_said_and_is_not_run_again_at_once(tmp_path: Path) -> None:
    script = plugin(tmp_path, {"token": "x"}, said="\x1b[31mYour session has expired", code=3)
    config = ClusterConfig("https://a", exec=ExecConfig((str(script),)))
    held = ExecPlugin(config.exec or ExecConfig(()), config)
    for _ in range(3):
        with pytest.raises(Unauthenticated) as caught:
            await held.credential()
    assert runs(tmp_path) == 1
    assert "exit code 3" in caught.value.message and "Your session has expired" in caught.value.hint
    assert "\x1b" not in caught.value.hint


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (ExecConfig(("no-such-plugin-here",), install_hint="Get it from example.com"), "cannot be started"),
        (ExecConfig(("x",), api_version="client.authentication.k8s.io/v1alpha1"), "v1alpha1"),
        (ExecConfig(("x",), interactive_mode="Always"), "terminal"),
    ],
)
async def test_plugins_that_cannot_be_used(config: ExecConfig, said: str) -> None:
    with pytest.raises(Unauthenticated) as caught:
        await ExecPlugin(config, ClusterConfig("https://a")).credential()
    assert said in caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    "output", [b"", b"secret-token", b"[]", b'{"kind":"ExecCredential","apiVersion":"v9"}', b'{"kind":"Pod"}']
)
def test_an_answer_that_is_none_is_refused_without_quoting_it(output: bytes) -> None:
    with pytest.raises(Unauthenticated) as caught:
        read_credential(output, V1, "plugin")
    assert "secret" not in caught.value.message + caught.value.hint


async def test_a_token_file_is_stripped_and_read_again(double: KubeDouble, opened: Opened, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("bad-token\n\n")
    path = double.kubeconfig(tmp_path, None)
    config = yaml.safe_load(path.read_text())
    config["users"][0]["user"] = {"tokenFile": "token", "token": "nobody-token"}
    path.write_text(yaml.safe_dump(config))
    reader = opened.reader(kubeconfig=str(path))
    with pytest.raises(Unauthenticated) as caught:
        await reader.list_jobs()
    assert str(token) in caught.value.hint
    token.write_text("  viewer-token\n")
    assert (await reader.whoami()).name == "vera"
    token.unlink()
    with pytest.raises(Unauthenticated, match="cannot be read"):
        await reader.list_jobs()


async def test_a_renewed_kubeconfig_is_read_without_a_restart(
    double: KubeDouble, opened: Opened, tmp_path: Path
) -> None:
    reader = opened.reader("viewer")
    assert (await reader.whoami()).name == "vera"
    double.revoked.add("viewer-token")
    with pytest.raises(Unauthenticated):
        await reader.list_jobs()
    path = tmp_path / "kubeconfig-viewer"
    path.write_text(path.read_text().replace("viewer-token", "viewer-token.2"))
    assert (await reader.whoami()).name == "vera"


async def test_basic_authentication_and_nobody(double: KubeDouble, opened: Opened, tmp_path: Path) -> None:
    config = ClusterConfig("https://a", basic=("ann", "pw"))
    assert (await Credentials(config).current()).authorization == "Basic YW5uOnB3"
    with pytest.raises(Unauthenticated) as caught:
        await opened.reader(None, kubeconfig=str(double.kubeconfig(tmp_path, None))).list_jobs()
    assert 'User "system:anonymous" cannot list' in caught.value.message and caught.value.hint


async def test_a_header_never_carries_what_is_no_token(tmp_path: Path) -> None:
    for token in ("a\r\nx: y", "tök", "a\tb"):
        with pytest.raises(Unauthenticated):
            await Credentials(ClusterConfig("https://a", token=token)).current()
    with pytest.raises(Unauthenticated, match="auth-provider gcp"):
        await Credentials(ClusterConfig("https://a", unsupported_auth="gcp")).current()


async def ask(server: str, **options: Any) -> str:
    """Who a server that demands a client certificate takes us for."""
    config = ClusterConfig(server, token="viewer-token", **options)
    async with Api(lambda: config) as api:
        answer = await api.get("/version")
        return "1.36" if b"1.36.2" in answer.body else "?"


async def test_tls_by_name_by_authority_and_by_client_certificate() -> None:
    pair = {"client_cert_file": str(TLS / "client.crt"), "client_key_data": (TLS / "client.key").read_bytes()}
    trusted = {"ca_data": (TLS / "ca.crt").read_bytes(), "tls_server_name": "kube.test", **pair}
    with running(tls=(TLS / "server.crt", TLS / "server.key"), client_ca=TLS / "ca.crt") as double:
        assert await ask(double.url, **trusted) == "1.36"
        assert await ask(double.url, insecure=True, **pair) == "1.36"
        for wrong in ({**trusted, "tls_server_name": None}, {**trusted, "ca_data": None}):
            with pytest.raises(Unreachable) as caught:
                await ask(double.url, **wrong)
            assert "certificate" in caught.value.hint.lower()
        with pytest.raises(AdapterError):
            await ask(double.url, **{**trusted, "client_cert_file": None})
        with pytest.raises(AdapterError, match="certificate"):
            await ask(double.url, **{**trusted, "client_key_data": b"junk"})


async def test_a_proxy_of_the_kubeconfig_is_used(double: KubeDouble, opened: Opened, tmp_path: Path) -> None:
    proxy = "http://127.0.0.1:9"
    path = double.kubeconfig(tmp_path, "admin", **{"proxy-url": proxy})
    with pytest.raises(Unreachable) as caught:
        await opened.reader(kubeconfig=str(path)).list_jobs()
    assert caught.value.hint


async def test_proxies_of_the_environment(double: KubeDouble, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with pytest.raises(Unreachable):
        await opened.reader().list_jobs()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert await opened.reader().list_jobs() == []


def test_the_current_context_can_be_overruled(double: KubeDouble, tmp_path: Path) -> None:
    path = double.kubeconfig(tmp_path)
    assert find("double", "other", str(path)).namespace == "other"


def impersonating(double: KubeDouble, folder: Path, **user: Any) -> str:
    path = double.kubeconfig(folder, "admin")
    config = yaml.safe_load(path.read_text())
    config["users"][0]["user"] |= user
    path.write_text(yaml.safe_dump(config))
    return str(path)


async def test_groups_uid_and_extra_of_an_impersonated_person_are_sent(
    double: KubeDouble, opened: Opened, tmp_path: Path
) -> None:
    extra = {"scopes/Team": ["read", "write"]}
    path = impersonating(
        double, tmp_path, **{"as": "oper", "as-groups": ["ops", "blue"], "as-uid": "7", "as-user-extra": extra}
    )
    reader = opened.reader(kubeconfig=path)
    await reader.list_jobs()
    sent = [pair for pair in double.requests[-1].headers if pair[0].startswith("impersonate-")]
    assert sorted(sent) == [
        ("impersonate-extra-scopes%2fteam", "read"),
        ("impersonate-extra-scopes%2fteam", "write"),
        ("impersonate-group", "blue"),
        ("impersonate-group", "ops"),
        ("impersonate-uid", "7"),
        ("impersonate-user", "oper"),
    ]


@pytest.mark.parametrize("user", [{"as-groups": ["ops"]}, {"as": "ada\u0142"}], ids=["nobody", "not ASCII"])
def test_an_impersonation_that_cannot_be_sent_is_a_mistake_of_the_kubeconfig(
    double: KubeDouble, tmp_path: Path, user: dict[str, Any]
) -> None:
    with pytest.raises(Invalid, match="The kubeconfig impersonates"):
        find(kubeconfig=impersonating(double, tmp_path, **user))


@pytest.mark.parametrize(
    ("code", "message", "name"),
    [
        (404, "the server could not find the requested resource", "me"),
        (
            403,
            'selfsubjectreviews.authentication.k8s.io is forbidden: User "vera" cannot create resource '
            '"selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope',
            "vera",
        ),
    ],
    ids=["1.20", "not allowed"],
)
async def test_a_server_that_does_not_say_who_one_is_takes_writes_all_the_same(
    double: KubeDouble, opened: Opened, code: int, message: str, name: str
) -> None:
    reason = {404: "NotFound", 403: "Forbidden"}[code]
    status = {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": code}
    double.faults.append(
        Fault(lambda _, path: "/selfsubjectreviews" in path, code=code, body=json.dumps(status).encode())
    )
    reader = opened.reader()
    assert (await reader.whoami()).name == name
    assert await reader.me() == name
    assert (await reader.capabilities()).why_not("submit") is None
