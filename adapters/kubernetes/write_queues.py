"""Writes on queues: the quota of a namespace, Kueue's nominal quotas, and stopping Kueue's queues."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from adapters.base import Invalid, NotFound, Unsupported
from adapters.intents import Change, CloseQueue, HttpRequest, Intent, SetQueueQuota, Target, TargetedIntent
from adapters.kubernetes.access import Right
from adapters.kubernetes.discovery import parse
from adapters.kubernetes.drafts import JSON_BODY, MANAGER, Desk, Draft, patch, pointer, step
from adapters.kubernetes.observing import queue_target, read_queue
from adapters.kubernetes.quantity import QuantityError, quantity
from adapters.kubernetes.records import Raw
from adapters.kubernetes.resources import KUEUE_GROUP, RESOURCES, VOLCANO_GROUP
from adapters.kubernetes.rows_queues import CLUSTERQUEUE, VOLCANO
from adapters.kubernetes.slim import items, part, text, uid_of
from adapters.text import clean

OWN_QUOTA = "pilothouse"
"""The name of a ResourceQuota that is made where a namespace has none."""


async def plan_open_queue(desk: Desk, intent: Intent) -> Draft:
    return await _plan_stop_policy(desk, intent, "None", "Close it for starts.")


async def plan_close_queue(desk: Desk, intent: Intent) -> Draft:
    what = cast(CloseQueue, intent).what
    if what != "starts":
        raise Unsupported(
            "Kubernetes' queues cannot refuse submissions; Kueue's can stop their jobs from starting.",
            "Close it for starts, or set the quota count/jobs.batch of the namespace.",
        )
    return await _plan_stop_policy(desk, intent, "Hold", "Open it.")


async def _plan_stop_policy(desk: Desk, intent: Intent, policy: str, undo: str) -> Draft:
    draft = Draft(undo=undo)
    for ref in cast(TargetedIntent, intent).refs:
        key, namespace, name = _kueue_object(desk, ref.id)
        await desk.must_be_allowed(Right("patch", KUEUE_GROUP, key, namespace or ""))
        raw = await read_queue(desk.api, desk.offer, ref.id)
        target = await queue_target(desk.api, desk.offer, ref)
        path = desk.api.prefix + desk.offer.kinds[key].path(namespace, name)
        request = patch(path, uid_of(raw), [{"op": "add", "path": "/spec/stopPolicy", "value": policy}])
        before = text(part(raw, "spec"), "stopPolicy") or "None"
        draft.add(
            step(request, target, f"Set the stop policy of {clean(ref.id, 200)} to {policy}"),
            Change(ref, "stop_policy", clean(before, 40), policy),
        )
    return draft


def _kueue_object(desk: Desk, name: str) -> tuple[str, str | None, str]:
    """Resource key, namespace and name of a queue of Kueue. Raises Unsupported for others."""
    if name.startswith(CLUSTERQUEUE) and "clusterqueues" in desk.offer.kinds:
        return "clusterqueues", None, name.removeprefix(CLUSTERQUEUE)
    if "/" in name and "localqueues" in desk.offer.kinds:
        namespace, _, plain = name.partition("/")
        return "localqueues", namespace, plain
    raise Unsupported(f"{clean(name, 200)} is not a queue of Kueue.", "Only those can be stopped.")


async def plan_set_queue_quota(desk: Desk, intent: Intent) -> Draft:
    wanted = cast(SetQueueQuota, intent)
    draft = Draft(undo="Set the quota back.")
    for ref in wanted.refs:
        raw = await read_queue(desk.api, desk.offer, ref.id)
        target = await queue_target(desk.api, desk.offer, ref)
        # A limit that is not there yet is told as none, so that its coming shows when the target is read again.
        target = replace(target, values={**dict.fromkeys(wanted.limits), **target.values})
        if ref.id.startswith(CLUSTERQUEUE):
            await desk.must_be_allowed(Right("patch", KUEUE_GROUP, "clusterqueues"))
            _nominal_quota(desk, draft, target, raw, wanted.limits)
        elif ref.id.startswith(VOLCANO):
            await desk.must_be_allowed(Right("patch", VOLCANO_GROUP, "queues"))
            _capability(desk, draft, target, raw, wanted.limits)
        elif "/" in ref.id:
            parent = text(part(raw, "spec"), "clusterQueue")
            raise Unsupported(
                "A LocalQueue has no quota of its own.",
                clean(f"Set that of {CLUSTERQUEUE}{parent}, which it draws from."),
            )
        else:
            await _namespace_quota(desk, draft, target, wanted.limits)
    return draft


def _checked(name: str, value: str | int) -> str:
    try:
        if quantity(str(value)) >= 0:
            return str(value)
    except QuantityError as error:
        raise Invalid(str(error), f"Correct the limit of {clean(name, 120)}.") from None
    raise Invalid(f"The limit of {clean(name, 120)} must not be negative.", "Correct it.")


async def _namespace_quota(desk: Desk, draft: Draft, target: Target, limits: Mapping[str, str | int | None]) -> None:
    """Patch the namespace's ResourceQuotas, or make one. ``quota:resource`` names the quota where there are several."""
    namespace = target.ref.id
    kind = RESOURCES["resourcequotas"]
    await desk.must_be_allowed(Right("patch", "", "resourcequotas", namespace))
    held = {
        text(part(one, "metadata"), "name"): one
        for one in items(parse((await desk.api.get(kind.path(namespace))).body), "items")
    }
    if not held:
        await _make_quota(desk, draft, target, limits)
        return
    chosen: dict[str, dict[str, str | int | None]] = {}
    for name, value in limits.items():
        quota, resource = _which(name, held)
        chosen.setdefault(quota, {})[resource] = value
    for quota, wanted in chosen.items():
        raw = held[quota]
        hard, used = part(part(raw, "spec"), "hard"), part(part(raw, "status"), "used")
        ops: list[Mapping[str, Any]] = [] if hard else [{"op": "add", "path": "/spec/hard", "value": {}}]
        for resource, value in wanted.items():
            ops += _limit_ops(
                draft,
                target,
                f"{quota}: {resource}",
                hard.get(resource),
                used.get(resource),
                value,
                pointer("spec", "hard", resource),
            )
        path = desk.api.prefix + kind.path(namespace, quota)
        draft.add(step(patch(path, uid_of(raw), ops), target, f"Set the quota {clean(quota)} of {clean(namespace)}"))


def _which(name: str, held: Mapping[str, Raw]) -> tuple[str, str]:
    """The quota a limit belongs to: the one it names, the only one that has it, or the only one without a scope."""
    quota, colon, resource = name.partition(":")
    if colon:
        if quota.strip() not in held:
            raise NotFound(
                f"There is no quota {clean(quota, 120)}.", clean(f"There are: {', '.join(sorted(held))}.", 400)
            )
        return quota.strip(), resource.strip()
    unscoped = [
        one
        for one, raw in held.items()
        if not part(raw, "spec").get("scopes") and not part(raw, "spec").get("scopeSelector")
    ]
    having = [one for one in unscoped if name in part(part(held[one], "spec"), "hard")]
    for candidates in (having, unscoped, list(held)):
        if len(candidates) == 1:
            return candidates[0], name
    raise Invalid(
        f"Several quotas could hold {clean(name, 120)}.",
        clean(f"Write one of {', '.join(sorted(held))} and a colon before it.", 400),
    )


def _limit_ops(
    draft: Draft, target: Target, title: str, before: Any, used: Any, value: str | int | None, path: str
) -> list[Mapping[str, Any]]:
    draft.changes.append(Change(target.ref, clean(title, 200), _shown(before), _shown(value)))
    if value is None:
        return [{"op": "remove", "path": path}] if before is not None else []
    amount = _checked(title, value)
    try:
        if used is not None and quantity(str(used)) > quantity(amount):
            draft.warnings.append(
                f"{clean(title, 200)}: {clean(str(used), 60)} is in use, more than {clean(amount, 60)}. Nothing is "
                "ended, but nothing new starts until it is below."
            )
    except QuantityError:
        pass
    return [{"op": "add", "path": path, "value": amount}]


async def _make_quota(desk: Desk, draft: Draft, target: Target, limits: Mapping[str, str | int | None]) -> None:
    namespace = target.ref.id
    await desk.must_be_allowed(Right("create", "", "resourcequotas", namespace))
    hard = {name: _checked(name, value) for name, value in limits.items() if value is not None}
    if not hard:
        raise NotFound(f"The namespace {clean(namespace, 200)} has no quota.", "There is nothing to lift.")
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": OWN_QUOTA, "namespace": namespace},
        "spec": {"hard": hard},
    }
    path = (
        f"{desk.api.prefix}{RESOURCES['resourcequotas'].path(namespace)}?fieldManager={MANAGER}&fieldValidation=Strict"
    )
    request = HttpRequest("POST", path, JSON_BODY, json.dumps(body, indent=2).encode())
    changes = [Change(target.ref, clean(name, 200), "-", value) for name, value in hard.items()]
    draft.add(step(request, target, f"Create a quota in {clean(namespace, 200)}"), *changes)


def _nominal_quota(desk: Desk, draft: Draft, target: Target, raw: Raw, limits: Mapping[str, str | int | None]) -> None:
    """Kueue's nominal quotas: ``flavor:resource``, or ``resource`` where one flavor has it."""
    ops: list[Mapping[str, Any]] = []
    for name, value in limits.items():
        if value is None:
            raise Unsupported("A nominal quota of Kueue cannot be lifted.", "Set it to a number; 0 gives nothing.")
        place, before = _flavor(raw, name)
        draft.changes.append(Change(target.ref, clean(name, 200), _shown(before), str(value)))
        resource = name.rpartition(":")[2].strip()
        ops.append({"op": "test", "path": f"{place}/name", "value": resource})
        ops.append({"op": "add", "path": f"{place}/nominalQuota", "value": _checked(name, value)})
    path = desk.api.prefix + desk.offer.kinds["clusterqueues"].path(None, target.ref.id.removeprefix(CLUSTERQUEUE))
    draft.add(step(patch(path, uid_of(raw), ops), target, f"Set the nominal quota of {clean(target.ref.id, 200)}"))


def _flavor(raw: Raw, name: str) -> tuple[str, Any]:
    """The JSON pointer of a flavor's resource and its quota now. Raises NotFound, Invalid."""
    wanted_flavor, _, wanted = name.rpartition(":")
    found = [
        (f"/spec/resourceGroups/{g}/flavors/{f}/resources/{r}", resource.get("nominalQuota"), text(flavor, "name"))
        for g, group in enumerate(items(part(raw, "spec"), "resourceGroups"))
        for f, flavor in enumerate(items(group, "flavors"))
        for r, resource in enumerate(items(flavor, "resources"))
        if text(resource, "name") == wanted.strip() and wanted_flavor.strip() in ("", text(flavor, "name"))
    ]
    if not found:
        raise NotFound(f"The queue has no quota for {clean(name, 120)}.", "Kueue's flavors are its configuration.")
    if len(found) > 1:
        flavors = ", ".join(flavor for _, _, flavor in found)
        raise Invalid(
            f"Several flavors have {clean(wanted, 120)}.", clean(f"Write one of {flavors} and a colon before it.", 400)
        )
    return found[0][0], found[0][1]


def _capability(desk: Desk, draft: Draft, target: Target, raw: Raw, limits: Mapping[str, str | int | None]) -> None:
    """The capability of a Volcano Queue."""
    held, used = part(part(raw, "spec"), "capability"), part(part(raw, "status"), "allocated")
    ops: list[Mapping[str, Any]] = [] if held else [{"op": "add", "path": "/spec/capability", "value": {}}]
    for name, value in limits.items():
        where = pointer("spec", "capability", name)
        ops += _limit_ops(draft, target, name, held.get(name), used.get(name), value, where)
    path = desk.api.prefix + desk.offer.kinds["volcanoqueues"].path(None, target.ref.id.removeprefix(VOLCANO))
    draft.add(step(patch(path, uid_of(raw), ops), target, f"Set the capability of {clean(target.ref.id, 200)}"))


def _shown(value: object) -> str:
    return "-" if value is None else clean(str(value), 80)
