"""The people of a rig, their rights and their namespaces; the same as those of the API server double."""

from __future__ import annotations

import secrets
from typing import Any

from tests.rigs.kubernetes.admin import Admin

TOKENS = {name: secrets.token_hex(16) for name in ("admin", "vera", "eddy", "nobody", "mallory")}
"""admin may do anything; vera reads everything; eddy works with jobs in team-a; the others have no rights."""
NAMESPACES = ("team-a", "team-b")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
_BATCH = {"apiGroups": ["batch"], "resources": ["jobs", "jobs/status"], "verbs": ["*"]}
_PODS = {"apiGroups": [""], "resources": ["pods", "pods/log", "events"], "verbs": ["get", "list", "watch", "delete"]}


def _subject(name: str) -> dict[str, str]:
    return {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def bind(admin: Admin, name: str, role: str, *people: str, namespace: str | None = None) -> None:
    """Give people a cluster role, in the cluster or in one namespace."""
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    place = f"/namespaces/{namespace}/rolebindings" if namespace else "/clusterrolebindings"
    body: dict[str, Any] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "roleRef": {"kind": "ClusterRole", "name": role, "apiGroup": "rbac.authorization.k8s.io"},
        "subjects": [_subject(one) for one in people],
    }
    admin.ensure(RBAC + place, body)


def role(admin: Admin, name: str, *rules: dict[str, Any]) -> None:
    body = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": list(rules),
    }
    admin.ensure(f"{RBAC}/clusterroles", body)


def grant(admin: Admin) -> None:
    """Namespaces, roles and bindings."""
    for name in NAMESPACES:
        admin.ensure("/api/v1/namespaces", {"metadata": {"name": name}})
    role(admin, "rig-editor", _BATCH, _PODS)
    role(admin, "rig-reader", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]})
    role(admin, "rig-operator", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})
    bind(admin, "rig-vera", "rig-reader", "vera")
    bind(admin, "rig-carol", "rig-operator", "carol")
    bind(admin, "rig-eddy", "rig-editor", "eddy", namespace="team-a")
