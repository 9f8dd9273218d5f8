"""Version, discovery and the reviews of one's own rights."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from tests.doubles.kube_api.answers import Refusal, as_json, no_such_group
from tests.doubles.kube_api.kinds import OLDER_VERSIONS, OTHER_GROUPS
from tests.doubles.kube_api.rights import ANONYMOUS, Person
from tests.doubles.kube_api.server import KubeDouble
from tests.doubles.kube_api.store import stamp

VERSION = {
    "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36", "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35", "gitVersion": "v1.36.2", "gitCommit": "98b35193b2ac7a23a673325f5e9b830ecd5ba406",
    "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "go1.27.3", "compiler": "gc",
    "platform": "linux/amd64",
}  # fmt: skip
_ORDER = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def answer(
    double: KubeDouble, person: Person, method: str, parts: list[str], body: bytes, accept: str
) -> Response | None:
    """The answer to what is not about stored objects; None for the rest. Raises Refusal."""
    if parts == ["version"]:
        return as_json(VERSION)
    if parts == ["api"]:
        return as_json({"kind": "APIVersions", "versions": ["v1"]})
    if parts == ["apis"]:
        return as_json(_groups(double))
    if len(parts) == 3 and parts[0] == "apis":
        return as_json(_resources(double, parts[1], parts[2]))
    if parts == ["api", "v1"]:
        return as_json(_resources(double, "", "v1"))
    if method == "POST" and parts[-1:] == ["selfsubjectreviews"]:
        return as_json(_self(person), 201)
    if method == "POST" and parts[-1:] == ["selfsubjectaccessreviews"]:
        return as_json(_access(person, json.loads(body)), 201)
    if method == "POST" and parts[-1:] == ["selfsubjectrulesreviews"]:
        return as_json(_rules(person, json.loads(body)), 201)
    return None


def _versions(double: KubeDouble) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: ["v1"] for name in OTHER_GROUPS}
    for kind in double.kinds:
        if kind.group:
            found[kind.group] = [kind.version, *OLDER_VERSIONS.get(kind.group, ())]
    return found


def _groups(double: KubeDouble) -> dict[str, Any]:
    groups = []
    for name, versions in _versions(double).items():
        listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
        groups.append({"name": name, "versions": listed, "preferredVersion": listed[0]})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _resources(double: KubeDouble, group: str, version: str) -> dict[str, Any]:
    if group and version not in _versions(double).get(group, []):
        raise no_such_group()
    listed = [
        {
            "name": kind.plural,
            "singularName": kind.kind.lower(),
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": _ORDER,
        }
        for kind in double.kinds
        if kind.group == group
    ]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": listed,
    }


def _self(person: Person) -> dict[str, Any]:
    info: dict[str, Any] = {"username": person.name}
    if person.uid:
        info["uid"] = person.uid
    return {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": stamp()},
        "status": {"userInfo": {**info, "groups": list(person.groups)}},
    }


def _access(person: Person, review: dict[str, Any]) -> dict[str, Any]:
    if person is ANONYMOUS:
        raise Refusal(403, "Forbidden", 'selfsubjectaccessreviews is forbidden: User "system:anonymous" cannot create')
    wanted = review["spec"]["resourceAttributes"]
    resource = wanted.get("resource", "")
    if wanted.get("subresource"):
        resource = f"{resource}/{wanted['subresource']}"
    rule = person.allowed(wanted.get("verb", ""), wanted.get("group", ""), resource, wanted.get("namespace"))
    status: dict[str, Any] = {"allowed": rule is not None}
    if rule is not None and rule.binding:
        status["reason"] = f"RBAC: allowed by {rule.binding}"
    attributes = {name: value for name, value in wanted.items() if value}
    return {**review, "spec": {"resourceAttributes": attributes}, "status": status}


def _rules(person: Person, review: dict[str, Any]) -> dict[str, Any]:
    namespace = review["spec"]["namespace"]
    listed = [
        {"verbs": sorted(rule.verbs), "apiGroups": sorted(rule.groups), "resources": sorted(rule.resources)}
        for rule in person.rules
        if rule.namespace in (None, namespace)
    ]
    return {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": {"resourceRules": listed, "nonResourceRules": [], "incomplete": False},
    }
