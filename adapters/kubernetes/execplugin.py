"""Credential plugins of a kubeconfig (client.authentication.k8s.io/v1 and v1beta1).

Run without a terminal: standard input is closed and standard error is captured, so that nothing a plugin prints
reaches the screen; what it said goes into the error's hint. The answer is kept until `expirationTimestamp`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from adapters.base import AdapterError, Unauthenticated, Unreachable
from adapters.command import run_read
from adapters.kubernetes.kubeconfig import ClusterConfig, ExecConfig
from adapters.text import clean, clean_lines

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
TIMEOUT = 60.0
"""Seconds a plugin may take; those of the clouds call their own service."""
LARGEST_OUTPUT = 1024 * 1024
EARLY = timedelta(seconds=10)
"""A credential is renewed this much before it expires."""
FAILURE_KEPT = 5.0
"""Seconds for which a plugin that failed is not run again: ten watches fail at the same moment."""


@dataclass(frozen=True, slots=True)
class ExecCredential:
    """What a plugin gave: a token, a client certificate with its key (PEM), or both."""

    token: str | None = field(default=None, repr=False)
    cert: bytes | None = field(default=None, repr=False)
    key: bytes | None = field(default=None, repr=False)
    expires: datetime | None = None

    def valid(self, now: datetime) -> bool:
        return self.expires is None or now < self.expires - EARLY


class ExecPlugin:
    """One plugin of one context, with the credential it gave last."""

    def __init__(self, config: ExecConfig, cluster: ClusterConfig) -> None:
        self._config = config
        self._cluster = cluster
        self._held: ExecCredential | None = None
        self._failed: tuple[float, AdapterError] | None = None
        self.runs = 0

    async def credential(self, *, refresh: bool = False) -> ExecCredential:
        """The credential, from memory while it is valid; `refresh` asks the plugin anew. Raises Unauthenticated."""
        if self._held is not None and not refresh and self._held.valid(datetime.now(UTC)):
            return self._held
        if self._failed is not None and time.monotonic() - self._failed[0] < FAILURE_KEPT:
            raise self._failed[1]
        try:
            self._held = await self._run()
        except AdapterError as error:
            self._held, self._failed = None, (time.monotonic(), error)
            raise
        self._failed = None
        return self._held

    async def _run(self) -> ExecCredential:
        config, name = self._config, clean(self._config.argv[0], 200)
        if config.api_version not in API_VERSIONS:
            version = clean(config.api_version, 100) or "no version"
            raise Unauthenticated(
                f"The credential plugin {name} speaks {version}, which is not supported.",
                "Renew the kubeconfig entry with your cluster's tool: it must say client.authentication.k8s.io/v1.",
            )
        if config.interactive_mode == "Always":
            raise Unauthenticated(
                f"The credential plugin {name} needs a terminal to ask you something.",
                "Use a context whose plugin can run without one, or sign in with it in a shell first.",
            )
        self.runs += 1
        environment = dict(os.environ) | dict(config.env) | {"KUBERNETES_EXEC_INFO": json.dumps(self._info())}
        try:
            ended = await run_read(config.argv, environment, timeout=TIMEOUT, limit=LARGEST_OUTPUT)
        except Unreachable as error:
            hint = clean(config.install_hint, 400) or "Install it, or put it on the PATH."
            raise Unauthenticated(f"The credential plugin {name} cannot be started: {error.message}", hint) from None
        except AdapterError as error:
            raise Unauthenticated(
                f"The credential plugin {name} failed: {error.message}", _sign_in(name, b"")
            ) from None
        if ended.rc != 0:
            raise Unauthenticated(
                f"The credential plugin {name} ended with exit code {ended.rc}.", _sign_in(name, ended.stderr)
            )
        return read_credential(ended.stdout, config.api_version, name)

    def _info(self) -> dict[str, Any]:
        spec: dict[str, Any] = {"interactive": False}
        if self._config.provide_cluster_info:
            cluster = self._cluster
            known = {
                "server": cluster.server,
                "tls-server-name": cluster.tls_server_name,
                "insecure-skip-tls-verify": cluster.insecure or None,
                "proxy-url": cluster.proxy_url,
            }
            spec["cluster"] = {name: value for name, value in known.items() if value is not None}
        return {"kind": "ExecCredential", "apiVersion": self._config.api_version, "spec": spec}


def _sign_in(name: str, stderr: bytes) -> str:
    said = [line for line in clean_lines(stderr, 300) if line.strip()]
    words = f" It said: {said[-1]}" if said else ""
    return f"Sign in with it in a shell ({name}); it is tried again by itself.{words}"


def read_credential(output: bytes, version: str, name: str) -> ExecCredential:
    """Parse what a plugin wrote. Raises Unauthenticated; never quotes the output, which may hold a secret."""
    try:
        parsed = json.loads(output)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, Mapping) or parsed.get("kind") != "ExecCredential":
        raise Unauthenticated(
            f"The credential plugin {name} did not answer with an ExecCredential.", "Update the plugin."
        )
    if parsed.get("apiVersion") != version:
        raise Unauthenticated(
            f"The credential plugin {name} answered in another version than asked for ({version}).",
            "Renew the kubeconfig entry with your cluster's tool.",
        )
    status = parsed.get("status")
    status = status if isinstance(status, Mapping) else {}
    token, cert, key = (status.get(field) for field in ("token", "clientCertificateData", "clientKeyData"))
    if not token and not (cert and key):
        raise Unauthenticated(
            f"The credential plugin {name} gave neither a token nor a certificate.", _sign_in(name, b"")
        )
    return ExecCredential(
        token=str(token).strip() if token else None,
        cert=str(cert).encode() if cert else None,
        key=str(key).encode() if key else None,
        expires=_time(status.get("expirationTimestamp")),
    )


def _time(value: object) -> datetime | None:
    if not isinstance(value, str) or not value:
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
