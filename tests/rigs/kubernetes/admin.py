"""Hands of the tests on an API server: plain requests as its administrator, past the adapter."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import httpx

from adapters.kubernetes.credentials import Credential, ssl_context
from adapters.kubernetes.kubeconfig import load, resolve

Obj = dict[str, Any]
MERGE = "application/merge-patch+json"
FRESH = httpx.Limits(max_keepalive_connections=0)
"""A connection that is kept may be closed by a server that restarts, just as a request is sent on it."""


class Admin:
    """Requests as the administrator. A path is that of a list, as ``/api/v1/namespaces/team-a/pods``."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    @classmethod
    def by_token(cls, url: str, token: str, authority: Path) -> Admin:
        context = ssl.create_default_context(cafile=str(authority))
        headers = {"authorization": f"Bearer {token}"}
        return cls(
            httpx.Client(base_url=url, verify=context, headers=headers, timeout=60, limits=FRESH, trust_env=False)
        )

    @classmethod
    def by_kubeconfig(cls, path: Path) -> Admin:
        """With the token or the client certificate of the file's current context."""
        config = resolve(load([path]))
        cert, key = (
            data or (Path(name).read_bytes() if name else None)
            for data, name in (
                (config.client_cert_data, config.client_cert_file),
                (config.client_key_data, config.client_key_file),
            )
        )
        context = ssl_context(config, Credential(cert=cert, key=key))
        headers = {"authorization": f"Bearer {config.token}"} if config.token else {}
        return cls(httpx.Client(base_url=config.server, verify=context, headers=headers, timeout=60, limits=FRESH))

    def answers(self, path: str) -> bool:
        try:
            return self.client.get(path, timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def get(self, path: str) -> Obj:
        return self._checked(self.client.get(path))

    def find(self, path: str) -> Obj | None:
        """The object, None where there is none."""
        answer = self.client.get(path)
        return None if answer.status_code == 404 else self._checked(answer)

    def items(self, path: str, name: str = "items") -> list[Obj]:
        return list(self.get(path).get(name) or [])

    def create(self, path: str, obj: Obj) -> Obj:
        return self._checked(self.client.post(path, json=obj))

    def ensure(self, path: str, obj: Obj) -> None:
        """Create it unless it is there."""
        answer = self.client.post(path, json=obj)
        if answer.status_code != 409:
            self._checked(answer)

    def merge(self, path: str, change: Obj) -> Obj:
        return self._checked(self.client.patch(path, json=change, headers={"content-type": MERGE}))

    def delete(self, path: str, *, force: bool = False) -> None:
        """Delete it at once with `force`; what is gone already is fine."""
        options: Obj = {"propagationPolicy": "Background"}
        if force:
            options["gracePeriodSeconds"] = 0
        answer = self.client.request("DELETE", path, json=options)
        if answer.status_code != 404:
            self._checked(answer)

    @staticmethod
    def _checked(answer: httpx.Response) -> Obj:
        assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
        return dict(answer.json())

    @staticmethod
    def compact(etcd: str) -> None:
        """Forget all versions before the present one, by etcd's JSON gateway."""
        told = httpx.post(f"{etcd}/v3/kv/range", json={"key": "AA==", "limit": "1"}, trust_env=False).json()
        revision = told["header"]["revision"]
        body = {"revision": revision, "physical": True}
        httpx.post(f"{etcd}/v3/kv/compaction", json=body, timeout=60, trust_env=False).raise_for_status()

    def close(self) -> None:
        self.client.close()
