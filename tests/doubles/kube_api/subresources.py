"""Logs and disruption budgets."""

from __future__ import annotations

import re
from typing import Any

from starlette.responses import Response

from tests.doubles.kube_api.answers import Refusal, bad_request
from tests.doubles.kube_api.server import KubeDouble

Obj = dict[str, Any]
_ENTRY = re.compile(rb"^(?=\d{4}-\d\d-\d\dT)", re.MULTILINE)


def log(double: KubeDouble, pod: Obj, query: dict[str, str]) -> Response:
    """The log of a pod. What a test puts into `double.logs` begins each line with a time. Raises Refusal."""
    name = pod["metadata"]["name"]
    key = (pod["metadata"]["namespace"], name)
    containers = [one["name"] for one in pod["spec"]["containers"]]
    wanted = query.get("container", containers[0])
    if wanted not in containers:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    previous = query.get("previous") == "true"
    source = double.previous_logs if previous else double.logs
    if key not in source:
        if previous:
            raise bad_request(f'previous terminated container "{wanted}" in pod "{name}" not found')
        if not pod["spec"].get("nodeName"):
            return Response(b"", 204)
        raise bad_request(f'container "{wanted}" in pod "{name}" is waiting to start: ContainerCreating')
    lines = entries(source[key])
    if "sinceTime" in query:
        since = query["sinceTime"][:19].encode()
        lines = [line for line in lines if line[:19] >= since]
    if query.get("timestamps") != "true":
        lines = [line.partition(b" ")[2] for line in lines]
    if "tailLines" in query:
        count = int(query["tailLines"])
        lines = lines[-count:] if count else []
    return Response(b"".join(lines), 200, {"content-type": "text/plain"})


def entries(text: bytes) -> list[bytes]:
    """The entries of a log: each begins with a time; an entry may hold newlines of its own."""
    return [found for found in _ENTRY.split(text) if found]


def check_budgets(double: KubeDouble, pod: Obj) -> None:
    """Refuses an eviction that a disruption budget does not allow."""
    labels = pod["metadata"].get("labels") or {}
    for _, budget in double.store.listed(double.served("poddisruptionbudgets"), pod["metadata"]["namespace"]):
        selector = budget["spec"]["selector"]["matchLabels"]
        chosen = all(labels.get(name) == value for name, value in selector.items())
        if chosen and budget["status"]["disruptionsAllowed"] < 1:
            raise _blocked(budget)


def _blocked(budget: Obj) -> Refusal:
    name, status = budget["metadata"]["name"], budget["status"]
    text = (
        f"The disruption budget {name} needs {status['desiredHealthy']} healthy pods and has "
        f"{status['currentHealthy']} currently"
    )
    return Refusal(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        {"causes": [{"reason": "DisruptionBudget", "message": text}]},
    )
