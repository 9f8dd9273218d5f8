"""Writes on jobs: submit, cancel, hold, release, suspend, resume, modify."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from adapters.base import Conflict, Invalid, NotFound, Unsupported
from adapters.intents import CancelJob, Change, HttpRequest, Intent, ModifyJob, SubmitJob, Target, TargetedIntent
from adapters.kubernetes.access import Right
from adapters.kubernetes.drafts import JSON_BODY, MANAGER, Desk, Draft, Ops, delete, patch, step
from adapters.kubernetes.manifest import make
from adapters.kubernetes.observing import job_target
from adapters.kubernetes.quantity import show_bytes
from adapters.kubernetes.records import Raw
from adapters.kubernetes.resources import RESOURCES
from adapters.kubernetes.rows_jobs import job_id
from adapters.kubernetes.slim import KUEUE_LABEL, items, part, text
from adapters.model import Ref
from adapters.text import clean

MODIFIABLE = {
    "parallelism": "parallelism",
    "nodes": "parallelism",
    "completions": "completions",
    "walltime_seconds": "activeDeadlineSeconds",
    "backoff_limit": "backoffLimit",
    "ttl_seconds": "ttlSecondsAfterFinished",
}
"""Field of the intent -> field of the Job's spec. `None` in `extensions` removes it."""


async def plan_submit(desk: Desk, intent: Intent) -> Draft:
    wanted = cast(SubmitJob, intent)
    made = make(wanted.spec, wanted.intent_id, desk.me, desk.defaults)
    await desk.must_be_allowed(Right("create", "batch", "jobs", made.namespace))
    path = f"{desk.api.prefix}{RESOURCES['jobs'].path(made.namespace)}"
    query = f"?fieldManager={MANAGER}&fieldValidation=Strict"
    request = HttpRequest("POST", path + query, JSON_BODY, made.encoded())
    draft = Draft(warnings=made.warnings)
    id = job_id((made.namespace, made.name))
    draft.add(
        step(request, None, f"Create the job {clean(id, 200)}"),
        Change(Ref(desk.cluster, "job", id), "status", "-", "suspended" if _is_held(made.body) else "pending"),
    )
    draft.undo = f"Cancel {clean(id, 200)}."
    return draft


def _is_held(body: Mapping[str, Any]) -> bool:
    return part(body, "spec").get("suspend") is True


async def _found(desk: Desk, intent: Intent) -> list[tuple[Target, Raw]]:
    """The targets that are not over, with their objects. Raises NotFound, and Conflict where all are over."""
    wanted = cast(TargetedIntent, intent)
    found: list[tuple[Target, Raw]] = []
    over: list[str] = []
    for ref in wanted.refs:
        target = await job_target(desk.details, desk.offer, ref)
        if target is None:
            raise NotFound(f"{ref.id} is another job of the same name now.", "Look at it again.")
        if target.finished:
            over.append(f"{ref.id} is over ({target.state})")
            continue
        found.append((target, await desk.details.raw(ref.id)))
    if not found:
        raise Conflict(f"{clean('; '.join(over), 500)}: there is nothing to do.", "Look at it again.")
    return found


def _path(desk: Desk, target: Target) -> str:
    named = desk.details.named(target.ref.id)
    kind = RESOURCES["pods" if named.is_pod else "jobs"]
    return desk.api.prefix + kind.path(named.namespace, named.name)


async def plan_cancel(desk: Desk, intent: Intent) -> Draft:
    signal = cast(CancelJob, intent).signal
    if signal not in (None, "TERM", "KILL"):
        raise Invalid(f"Kubernetes cannot send {signal}.", "It sends the image's stop signal, or KILL.")
    draft = Draft(undo=None)
    for target, raw in await _found(desk, intent):
        named = desk.details.named(target.ref.id)
        group, plural = ("", "pods") if named.is_pod else ("batch", "jobs")
        await desk.must_be_allowed(Right("delete", group, plural, named.namespace))
        request = delete(
            _path(desk, target),
            target.ref.born or "",
            desk.propagation,
            0 if signal == "KILL" and named.is_pod else None,
        )
        draft.add(
            step(request, target, f"Delete {clean(target.ref.id, 200)} and its pods"),
            Change(target.ref, "status", target.state, "cancelled"),
        )
        controller = next(
            (one for one in items(part(raw, "metadata"), "ownerReferences") if one.get("controller") is True), None
        )
        if controller is not None and named.is_pod:
            maker = clean(f"{text(controller, 'kind')} {text(controller, 'name')}", 200)
            draft.warnings.append(f"{maker} may make {clean(named.name)} anew: cancel that instead.")
    draft.warnings.append("Kubernetes forgets what is deleted: its pods and their logs are gone.")
    return draft


async def plan_hold(desk: Desk, intent: Intent) -> Draft:
    return await _plan_suspension(desk, intent, True)


async def plan_release(desk: Desk, intent: Intent) -> Draft:
    return await _plan_suspension(desk, intent, False)


async def _plan_suspension(desk: Desk, intent: Intent, wanted: bool) -> Draft:
    draft = Draft(undo="Release or resume it." if wanted else "Hold or suspend it.")
    for target, raw in await _found(desk, intent):
        await _only_jobs(desk, target, "be suspended")
        now = _is_held(raw)
        ops: Ops = [{"op": "add", "path": "/spec/suspend", "value": wanted}]
        verb = "Suspend" if wanted else "Resume"
        draft.add(
            step(patch(_path(desk, target), target.ref.born or "", ops), target, f"{verb} {clean(target.ref.id, 200)}"),
            Change(target.ref, "suspended", str(now).lower(), str(wanted).lower()),
        )
        if wanted and target.state == "running":
            draft.warnings.append(
                f"The pods of {clean(target.label)} are ended; when it is resumed they begin again from the start."
            )
        if KUEUE_LABEL in part(part(raw, "metadata"), "labels"):
            draft.warnings.append(f"Kueue decides when {clean(target.label)} runs and may undo this.")
    return draft


async def _only_jobs(desk: Desk, target: Target, what: str) -> None:
    named = desk.details.named(target.ref.id)
    if named.is_pod:
        raise Unsupported(
            f"{clean(target.label)} is a pod that no Job made: it cannot {what}.", "Only Jobs can; cancel it instead."
        )
    await desk.must_be_allowed(Right("patch", "batch", "jobs", named.namespace))


async def plan_modify(desk: Desk, intent: Intent) -> Draft:
    wanted = cast(ModifyJob, intent)
    draft = Draft(undo="Modify it back.")
    for target, raw in await _found(desk, intent):
        await _only_jobs(desk, target, "be modified")
        ops: list[Mapping[str, Any]] = []
        for name, value in wanted.changes().items():
            ops += _modification(name, value, raw, target, draft)
        request = patch(_path(desk, target), target.ref.born or "", ops)
        draft.add(step(request, target, f"Change {clean(target.ref.id, 200)}"))
    return draft


def _modification(name: str, value: Any, raw: Raw, target: Target, draft: Draft) -> list[Mapping[str, Any]]:
    spec = part(raw, "spec")
    if name in MODIFIABLE:
        member = MODIFIABLE[name]
        before = spec.get(member)
        draft.changes.append(Change(target.ref, name, _shown(before), _shown(value)))
        if value is None:
            return [{"op": "remove", "path": f"/spec/{member}"}] if before is not None else []
        if not isinstance(value, int) or isinstance(value, bool):
            raise Invalid(f"{name} must be a whole number, not {clean(str(value), 60)}.", "Correct it.")
        return [{"op": "add", "path": f"/spec/{member}", "value": value}]
    if name in ("cores", "memory_bytes"):
        return _request_ops(name, int(value), spec, target, draft)
    raise Unsupported(
        f"Kubernetes cannot change the {clean(name, 60).replace('_', ' ')} of a job that exists.",
        f"Changeable are: {', '.join(sorted(MODIFIABLE))}; and cores and memory while it is suspended.",
    )


def _request_ops(
    name: str, value: int, spec: Mapping[str, Any], target: Target, draft: Draft
) -> list[Mapping[str, Any]]:
    """Requests of the first container: the API takes them while a job is suspended (1.36), and says so otherwise."""
    resource = "cpu" if name == "cores" else "memory"
    amount = str(value) if name == "cores" else show_bytes(value)
    containers = items(part(part(spec, "template"), "spec"), "containers")
    resources = part(containers[0], "resources") if containers else {}
    base = "/spec/template/spec/containers/0/resources"
    before = part(resources, "requests").get(resource)
    draft.changes.append(Change(target.ref, name, _shown(before), amount))
    ops: list[Mapping[str, Any]] = []
    if not part(resources, "requests"):
        if not resources:
            ops.append({"op": "add", "path": base, "value": {}})
        ops.append({"op": "add", "path": f"{base}/requests", "value": {}})
    ops.append({"op": "add", "path": f"{base}/requests/{resource}", "value": amount})
    if resource in part(resources, "limits"):
        ops.append({"op": "add", "path": f"{base}/limits/{resource}", "value": amount})
    return ops


def _shown(value: object) -> str:
    return "-" if value is None else clean(str(value), 80)
