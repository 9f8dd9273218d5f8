"""Small objects for tests to put into the double."""

from __future__ import annotations

import uuid
from typing import Any

Obj = dict[str, Any]
CREATED = "2026-11-30T01:25:52Z"


def job(name: str, namespace: str = "team-a", **options: Any) -> Obj:
    """A batch/v1 Job. Options: suspend, active, ready, parallelism, completions, labels, cpu, status."""
    spec: Obj = {
        "parallelism": options.get("parallelism", 1),
        "completions": options.get("completions", 1),
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": options.get("suspend", False),
        "template": {
            "metadata": {"labels": {"job-name": name}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example/tool:1",
                        "resources": {"requests": {"cpu": options.get("cpu", "500m"), "memory": "512Mi"}},
                    }
                ],
            },
        },
    }
    status: Obj = {}
    if options.get("active"):
        status = {"startTime": CREATED, "active": options["active"], "ready": options.get("ready", 0)}
    if options.get("suspend"):
        status["conditions"] = [
            {"type": "Suspended", "status": "True", "lastTransitionTime": CREATED, "reason": "JobSuspended"}
        ]
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": options.get("uid") or str(uuid.uuid4()),
            "generation": 1,
            "creationTimestamp": CREATED,
            "labels": options.get("labels", {"user": "eddy"}),
        },
        "spec": spec,
        "status": options.get("status", status),
    }


def bound_pod(name: str, node_name: str | None, namespace: str = "team-a", **options: Any) -> Obj:
    """A pod on a node. Options: phase, controller (a kind), owner (a Job object), labels, cpu, volumes, index."""
    phase = options.get("phase", "Running")
    owners: list[Obj] = []
    if options.get("owner") is not None:
        held = options["owner"]["metadata"]
        owners = [_reference("batch/v1", "Job", held["name"], held["uid"])]
    elif options.get("controller"):
        owners = [_reference("apps/v1", options["controller"], f"{options['controller'].lower()}-1", str(uuid.uuid4()))]
    state: Obj = {"running": {"startedAt": CREATED}}
    if phase in ("Succeeded", "Failed"):
        code = 0 if phase == "Succeeded" else 1
        state = {"terminated": {"exitCode": code, "reason": "Completed", "startedAt": CREATED, "finishedAt": CREATED}}
    spec: Obj = {
        "containers": [
            {
                "name": "main",
                "image": "registry.example/tool:1",
                "resources": {"requests": {"cpu": options.get("cpu", "100m")}},
            }
        ],
        "volumes": options.get("volumes", []),
    }
    if node_name is not None:
        spec["nodeName"] = node_name
    metadata: Obj = {
        "name": name,
        "namespace": namespace,
        "uid": str(uuid.uuid4()),
        "creationTimestamp": CREATED,
        "labels": options.get("labels", {"app": name}),
        "ownerReferences": owners,
    }
    if options.get("owner") is not None:
        metadata["labels"] = {
            "batch.kubernetes.io/controller-uid": options["owner"]["metadata"]["uid"],
            "batch.kubernetes.io/job-name": options["owner"]["metadata"]["name"],
        }
    if options.get("index") is not None:
        metadata["annotations"] = {"batch.kubernetes.io/job-completion-index": str(options["index"])}
    statuses = [{"name": "main", "state": state, "restartCount": 0}] if phase != "Pending" else []
    return {
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase, "startTime": CREATED, "containerStatuses": statuses},
    }


def _reference(version: str, kind: str, name: str, uid: str) -> Obj:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}


def node(name: str, *, unschedulable: bool = False, cpu: str = "63500m") -> Obj:
    """A node that is ready."""
    return {
        "metadata": {
            "name": name,
            "uid": str(uuid.uuid4()),
            "creationTimestamp": CREATED,
            "labels": {"topology.kubernetes.io/zone": "zone-1"},
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"unschedulable": True} if unschedulable else {},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "256Gi", "pods": "250"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": CREATED}],
        },
    }


def budget(name: str, labels: dict[str, str], allowed: int, namespace: str = "team-a") -> Obj:
    """A disruption budget."""
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1},
    }
