"""A real API server for the tests named ``test_real_*``: one that is started here, or one that is named.

KUBERIG_BIN names a folder with the programs, and a control plane of its own is started (tests/rigs/kubernetes);
KUBERIG_KUBECONFIG names an administrator's kubeconfig of any cluster: the tests then make namespaces of their own there
and touch nothing else. What needs the server's own machine (restarts, compaction, nodes, tokens) runs on the rig alone.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from adapters.kubernetes import open_kubernetes
from adapters.kubernetes.reader import KubernetesReader
from adapters.kubernetes.writer import KubernetesWriter
from tests.rigs.kubernetes.admin import Admin, Obj
from tests.rigs.kubernetes.people import RBAC, bind, role
from tests.rigs.kubernetes.rig import Rig, running_rig, why_not

NAMED = "KUBERIG_KUBECONFIG"
EDITOR = "pilothouse-test-editor"
IMAGE = os.environ.get("KUBERIG_IMAGE", "registry.example/tool:1")
WORK = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["*"]}
PODS = {"apiGroups": [""], "resources": ["pods", "pods/log", "events"], "verbs": ["get", "list", "watch", "delete"]}


@dataclass
class Real:
    """A cluster and its administrator. `rig` is None on a cluster that was only named."""

    admin: Admin
    kubeconfig: Path
    minor: int
    rig: Rig | None = None
    image: str = IMAGE
    made: list[str] = field(default_factory=list)

    def needs(self, minor: int, what: str) -> None:
        if self.minor < minor:
            pytest.skip(f"Kubernetes 1.{self.minor} has no {what} (1.{minor} and later)")

    def needs_controllers(self) -> None:
        if self.rig is not None and not self.rig.controllers:
            pytest.skip("this rig has no controller manager and scheduler")

    def namespace(self) -> str:
        """A new empty namespace, gone after the tests."""
        name = f"pilothouse-{secrets.token_hex(4)}"
        self.admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
        self.made.append(name)
        return name

    def editor(self, folder: Path, namespace: str) -> Path:
        """A kubeconfig of somebody who may work with the jobs and pods of one namespace only, by impersonation."""
        person = f"eddy-{namespace}"
        role(self.admin, EDITOR, WORK, PODS)
        bind(self.admin, person, EDITOR, person, namespace=namespace)
        return self.acting_as(folder, person, namespace)

    def acting_as(self, folder: Path, person: str, namespace: str, **more: Any) -> Path:
        config = yaml.safe_load(self.kubeconfig.read_text())
        named = next(one for one in config["contexts"] if one["name"] == config["current-context"])["context"]
        named["namespace"] = namespace
        for entry in config["users"]:
            if entry["name"] == named["user"]:
                entry["user"] |= {"as": person, **more}
        path = folder / f"kubeconfig-{person}"
        path.write_text(yaml.safe_dump(config))
        path.chmod(0o600)
        return path

    def job(self, namespace: str, name: str, *command: str, **spec: Any) -> Obj:
        """Create a Job whose one container runs `command`; `requests` are those of the container."""
        requests = spec.pop("requests", {"cpu": "10m"})
        container = {
            "name": "main",
            "image": self.image,
            "command": list(command) or ["sleep", "3600"],
            "resources": {"requests": requests, "limits": requests},
        }
        pod = {"restartPolicy": "Never", "containers": [container], "terminationGracePeriodSeconds": 1}
        body = {"metadata": {"name": name}, "spec": {"backoffLimit": 0, "template": {"spec": pod}, **spec}}
        return self.admin.create(f"/apis/batch/v1/namespaces/{namespace}/jobs", {"kind": "Job", **body})

    def opened(self, kubeconfig: Path | None = None, **options: Any) -> tuple[KubernetesReader, KubernetesWriter]:
        options.setdefault("image", self.image)
        reader, writer = open_kubernetes("kube", kubeconfig=str(kubeconfig or self.kubeconfig), **options)
        return cast(KubernetesReader, reader), cast(KubernetesWriter, writer)

    def clear(self) -> None:
        for name in self.made:
            self.admin.delete(f"/api/v1/namespaces/{name}")
        self.admin.delete(f"{RBAC}/clusterroles/{EDITOR}")


@contextmanager
def real_cluster(folder: Path) -> Iterator[Real]:
    """The cluster that the environment names; skips where there is none, with the reason."""
    named = os.environ.get(NAMED)
    if named:
        path = Path(named).expanduser()
        admin = Admin.by_kubeconfig(path)
        cluster = Real(admin, path, _minor(admin))
        try:
            yield cluster
        finally:
            cluster.clear()
            admin.close()
        return
    reason = why_not()
    if reason is not None:
        pytest.skip(f"no real Kubernetes here: {NAMED} names no cluster, and {reason}")
    with running_rig(folder) as rig:
        yield Real(rig.admin, rig.kubeconfig(), rig.minor, rig)


def _minor(admin: Admin) -> int:
    return int("".join(char for char in str(admin.get("/version")["minor"]) if char.isdigit()))
