"""The kubeconfig: which server, which credentials, which namespace.

Rules of client-go: files of KUBECONFIG (separated as in PATH; missing ones are skipped) are merged, and for each named
entry, and for current-context, the first file that has it wins. Paths in a file are relative to that file. Without
KUBECONFIG and ~/.kube/config, a pod's service account is used.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from adapters.base import Invalid, Unreachable
from adapters.text import clean

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
LARGEST_FILE = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExecConfig:
    """A credential plugin: argv, extra environment, and what it is told about itself."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    interactive_mode: str = "IfAvailable"
    provide_cluster_info: bool = False
    install_hint: str = ""


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """One resolved context. PEM data as bytes, secrets kept out of `repr`.

    `impersonate_more` holds the headers for uid, groups and extra of the person `impersonate` names.
    """

    server: str
    context: str = ""
    namespace: str = "default"
    user: str = ""
    ca_data: bytes | None = None
    ca_file: str | None = None
    insecure: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None
    basic: tuple[str, str] | None = field(default=None, repr=False)
    client_cert_data: bytes | None = field(default=None, repr=False)
    client_key_data: bytes | None = field(default=None, repr=False)
    client_cert_file: str | None = None
    client_key_file: str | None = None
    exec: ExecConfig | None = None
    impersonate: str | None = None
    impersonate_more: tuple[tuple[str, str], ...] = ()
    unsupported_auth: str | None = None


def kubeconfig_paths(environ: Mapping[str, str] | None = None) -> list[Path]:
    """The files to read, in order; those that do not exist are left out."""
    env = os.environ if environ is None else environ
    named = [Path(part).expanduser() for part in env.get("KUBECONFIG", "").split(os.pathsep) if part]
    if not named:
        home = env.get("HOME")
        named = [Path(home) / ".kube" / "config"] if home else []
    return [path for path in named if path.is_file()]


def _read_file(path: Path) -> dict[str, Any]:
    """Parse one file. Raises Invalid with the place of the mistake, never with its content."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise Invalid(f"The kubeconfig {path} is larger than 8 MiB.", "Name the right file in KUBECONFIG.")
        parsed = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise Invalid(f"The kubeconfig {path} cannot be read: {error.strerror}.", "Check its permissions.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark is not None else ""
        raise Invalid(f"The kubeconfig {path} is not valid YAML{place}.", "Correct the file.") from None
    except RecursionError:
        raise Invalid(f"The kubeconfig {path} is nested too deeply.", "Correct the file.") from None
    if parsed is None:
        return {}
    if not isinstance(parsed, dict):
        raise Invalid(f"The kubeconfig {path} is not a kubeconfig.", "It must be a mapping with clusters and users.")
    return parsed


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Several files as one. Each entry keeps the folder of its file, for relative paths."""

    paths: tuple[Path, ...]
    current: str
    clusters: Mapping[str, tuple[dict[str, Any], Path]]
    users: Mapping[str, tuple[dict[str, Any], Path]]
    contexts: Mapping[str, dict[str, Any]]


def load(paths: Sequence[Path]) -> Kubeconfig:
    """Read and merge. Raises Invalid."""
    merged: dict[str, dict[str, tuple[dict[str, Any], Path]]] = {"clusters": {}, "users": {}, "contexts": {}}
    current = ""
    for path in paths:
        parsed = _read_file(path)
        current = current or str(parsed.get("current-context") or "")
        for section, singular in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
            for entry in parsed.get(section) or []:
                if isinstance(entry, dict) and entry.get("name") is not None:
                    body = entry.get(singular)
                    value = (body if isinstance(body, dict) else {}, path.parent)
                    merged[section].setdefault(str(entry["name"]), value)
    contexts = {name: body for name, (body, _) in merged["contexts"].items()}
    return Kubeconfig(tuple(paths), current, merged["clusters"], merged["users"], contexts)


def resolve(config: Kubeconfig, context: str | None = None, namespace: str | None = None) -> ClusterConfig:
    """The cluster and credentials of a context (the current one by default). Raises Invalid, Unreachable."""
    name = context or config.current
    if not name:
        raise Unreachable("The kubeconfig names no current context.", "Choose one: kubectl config use-context NAME.")
    entry = config.contexts.get(name)
    if entry is None:
        known = ", ".join(sorted(config.contexts)[:10]) or "none"
        raise Invalid(f"The kubeconfig has no context {clean(name)}.", clean(f"It has: {known}."))
    cluster_name, user_name = str(entry.get("cluster") or ""), str(entry.get("user") or "")
    if cluster_name not in config.clusters:
        raise Invalid(
            clean(f"Context {name} names the cluster {cluster_name}, which the kubeconfig does not have."),
            "Correct the context, or name all files in KUBECONFIG.",
        )
    cluster, cluster_folder = config.clusters[cluster_name]
    user, user_folder = config.users.get(user_name, ({}, cluster_folder))
    server = str(cluster.get("server") or "").rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise Invalid(
            clean(f"Cluster {cluster_name} has no usable server address: {server!r}."), "Correct the kubeconfig."
        )
    return ClusterConfig(
        server=server,
        context=name,
        namespace=namespace or str(entry.get("namespace") or "default"),
        user=user_name,
        **_tls(cluster, cluster_folder),
        **_credentials(user, user_folder),
    )


def _tls(cluster: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {
        "ca_data": _decode(cluster.get("certificate-authority-data"), "certificate-authority-data"),
        "ca_file": _path(cluster.get("certificate-authority"), folder),
        "insecure": cluster.get("insecure-skip-tls-verify") is True,
        "tls_server_name": _text(cluster.get("tls-server-name")),
        "proxy_url": _text(cluster.get("proxy-url")),
    }


def _credentials(user: dict[str, Any], folder: Path) -> dict[str, Any]:
    username, password = _text(user.get("username")), user.get("password")
    provider = user.get("auth-provider")
    return {
        "token": _text(user.get("token")),
        "token_file": _path(user.get("tokenFile"), folder),
        "basic": (username, str(password or "")) if username else None,
        "client_cert_data": _decode(user.get("client-certificate-data"), "client-certificate-data"),
        "client_key_data": _decode(user.get("client-key-data"), "client-key-data"),
        "client_cert_file": _path(user.get("client-certificate"), folder),
        "client_key_file": _path(user.get("client-key"), folder),
        "exec": _exec(user.get("exec"), folder),
        **_impersonation(user),
        "unsupported_auth": str(provider.get("name")) if isinstance(provider, dict) else None,
    }


def _impersonation(user: dict[str, Any]) -> dict[str, Any]:
    """As client-go: without a name, groups and the rest are a mistake. Raises Invalid."""
    name = _text(user.get("as"))
    more: list[tuple[str, str]] = []
    if uid := _text(user.get("as-uid")):
        more.append(("impersonate-uid", uid))
    more += [("impersonate-group", str(group)) for group in user.get("as-groups") or []]
    extra = user.get("as-user-extra")
    for key, values in extra.items() if isinstance(extra, dict) else ():
        more += [(f"impersonate-extra-{quote(str(key).lower(), safe='')}", str(value)) for value in values or []]
    if more and name is None:
        raise Invalid("The kubeconfig impersonates groups without a person.", "Name one (as), or take them out.")
    if not all(value.isascii() and value.isprintable() for _, value in (("", name or ""), *more)):
        raise Invalid("The kubeconfig impersonates somebody whose name cannot be sent.", "Correct the kubeconfig.")
    return {"impersonate": name, "impersonate_more": tuple(more)}


def _exec(body: Any, folder: Path) -> ExecConfig | None:
    if not isinstance(body, dict):
        return None
    command = str(body.get("command") or "")
    if "/" in command and not Path(command).is_absolute():
        command = str(folder / command)  # client-go: relative to the kubeconfig when it has a slash
    env = tuple(
        (str(item.get("name")), str(item.get("value") or ""))
        for item in body.get("env") or []
        if isinstance(item, dict) and item.get("name")
    )
    return ExecConfig(
        argv=(command, *(str(part) for part in body.get("args") or [])),
        env=env,
        api_version=str(body.get("apiVersion") or ""),
        interactive_mode=str(body.get("interactiveMode") or "IfAvailable"),
        provide_cluster_info=body.get("provideClusterInfo") is True,
        install_hint=str(body.get("installHint") or ""),
    )


def _text(value: Any) -> str | None:
    return str(value) if value not in (None, "") else None


def _path(value: Any, folder: Path) -> str | None:
    return str(folder / str(value)) if value else None


def _decode(value: Any, name: str) -> bytes | None:
    if not value:
        return None
    try:
        return base64.b64decode(str(value), validate=False)
    except (binascii.Error, ValueError):
        raise Invalid(f"The kubeconfig's {name} is not base64.", "Correct the kubeconfig.") from None


def in_cluster(environ: Mapping[str, str] | None = None, folder: Path = SERVICE_ACCOUNT) -> ClusterConfig | None:
    """The service account of the pod this runs in, None outside of one."""
    env = os.environ if environ is None else environ
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT")
    token, authority = folder / "token", folder / "ca.crt"
    if not host or not port or not token.is_file():
        return None
    shown = f"[{host}]" if ":" in host else host
    own = folder / "namespace"
    namespace = own.read_text().strip() if own.is_file() else "default"
    return ClusterConfig(
        server=f"https://{shown}:{port}",
        context="in-cluster",
        namespace=namespace or "default",
        ca_file=str(authority) if authority.is_file() else None,
        token_file=str(token),
    )


def find(context: str | None = None, namespace: str | None = None, kubeconfig: str | None = None) -> ClusterConfig:
    """The configuration to use now: the named file, KUBECONFIG, ~/.kube/config, or the pod's own.

    Raises Unreachable where there is none, Invalid where one cannot be used.
    """
    if kubeconfig and not Path(kubeconfig).expanduser().is_file():
        raise Invalid(clean(f"The kubeconfig {kubeconfig} does not exist."), "Correct the profile.")
    paths = [Path(kubeconfig).expanduser()] if kubeconfig else kubeconfig_paths()
    if paths:
        return resolve(load(paths), context, namespace)
    inside = in_cluster()
    if inside is None:
        raise Unreachable("There is no kubeconfig.", "Set KUBECONFIG or put one at ~/.kube/config.")
    return inside
