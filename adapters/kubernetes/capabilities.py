"""What can be done on this cluster by this person, and why the rest cannot: probed, never assumed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from adapters.base import Capabilities
from adapters.kubernetes import rows_jobs, rows_nodes, rows_queues
from adapters.kubernetes.access import Access, Right
from adapters.kubernetes.client import Api
from adapters.kubernetes.credentials import warnings_of
from adapters.kubernetes.discovery import Offer
from adapters.kubernetes.resources import KUEUE_GROUP, VOLCANO_GROUP

NEVER: Mapping[str, str] = MappingProxyType(
    {
        "requeue": "A Kubernetes job cannot run again: submit it anew.",
        "checkpoint": "Kubernetes has no checkpoint that a job can be told to write.",
        "reissue_token": "Kubernetes gives its nodes their credentials itself.",
        "create_reservation": "Kubernetes has no reservations.",
        "delete_reservation": "Kubernetes has no reservations.",
        "create_key": "API keys belong to the native scheduler; Kubernetes has its own accounts.",
        "revoke_key": "API keys belong to the native scheduler; Kubernetes has its own accounts.",
    }
)
NO_STOPPABLE_QUEUE = "Only Kueue's queues can be stopped, and this cluster has no Kueue."
ABSENT: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "job": frozenset({"dependencies", "logs_url"}),
        "queue": frozenset({"node_count", "max_walltime_seconds"}),
        "node": frozenset(),
    }
)
PARTS = frozenset({"follow", "dry_run", "logs", "modify", "push"})


def rights_of(namespace: str, kueue: bool) -> Mapping[str, tuple[Right, ...]]:
    """Verb -> the rights that it takes, any one of which is enough to offer it. Each plan asks again, for the
    namespace it is about."""
    patch_jobs = (Right("patch", "batch", "jobs", namespace),)
    patch_nodes = (Right("patch", "", "nodes"),)
    quotas: tuple[Right, ...] = (Right("patch", "", "resourcequotas", namespace),)
    found = {
        "submit": (Right("create", "batch", "jobs", namespace),),
        "cancel": (Right("delete", "batch", "jobs", namespace), Right("delete", "", "pods", namespace)),
        "hold": patch_jobs,
        "release": patch_jobs,
        "suspend": patch_jobs,
        "resume": patch_jobs,
        "modify": patch_jobs,
        "set_node_quota": patch_nodes,
        "drain": patch_nodes,
        "undrain": patch_nodes,
    }
    if kueue:
        stop = (
            Right("patch", KUEUE_GROUP, "localqueues", namespace),
            Right("patch", KUEUE_GROUP, "clusterqueues"),
        )
        found["open_queue"] = found["close_queue"] = stop
        quotas += (Right("patch", KUEUE_GROUP, "clusterqueues"),)
    found["set_queue_quota"] = quotas
    return found


async def probe(api: Api, offer: Offer, access: Access) -> Capabilities:
    """Ask the server what may be done, all at once. Raises nothing of its own."""
    namespace = api.config.namespace
    rights = rights_of(namespace, "clusterqueues" in offer.kinds)
    asked = sorted({right for needed in rights.values() for right in needed}, key=repr)
    answers = dict(zip(asked, await asyncio.gather(*(access.why_not(right) for right in asked)), strict=True))
    unsupported = dict(NEVER)
    if "open_queue" not in rights:
        unsupported["open_queue"] = unsupported["close_queue"] = NO_STOPPABLE_QUEUE
    supported = set()
    for verb, needed in rights.items():
        reasons = [answers[right] for right in needed]
        if any(reason is None for reason in reasons):
            supported.add(verb)
        else:
            unsupported[verb] = reasons[0] or ""
    parts = PARTS | {
        name for name, group in (("kueue", KUEUE_GROUP), ("volcano", VOLCANO_GROUP)) if group in offer.groups
    }
    return Capabilities(
        backend=f"kubernetes {offer.version or 'of unknown version'}",
        supported=frozenset(supported),
        unsupported=unsupported,
        absent=ABSENT,
        parts=frozenset(parts),
        push=True,
        extensions={**rows_nodes.EXTENSIONS, **rows_queues.EXTENSIONS, **rows_jobs.EXTENSIONS},
        notes=(*warnings_of(api.config), *offer.notes(), OWNER_NOTE, LOG_NOTE),
    )


OWNER_NOTE = (
    "Kubernetes does not keep who made a job: the owner is the annotation pilothouse/owner, or a label user or owner."
)
LOG_NOTE = "A container has one log: what it writes to standard error is in it too."
