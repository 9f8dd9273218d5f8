"""What the API server checks of an object before it keeps it, as far as the recordings show it; and its defaults."""

from __future__ import annotations

import json
import re
from typing import Any

from adapters.kubernetes.quantity import QuantityError, quantity
from tests.doubles.kube_api.answers import Refusal, bad_request, denied, invalid, modified
from tests.doubles.kube_api.kinds import Served
from tests.doubles.kube_api.store import Store

Obj = dict[str, Any]
Cause = tuple[str, str, str]
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
JOB_SPEC = {
    "parallelism", "completions", "activeDeadlineSeconds", "podFailurePolicy", "successPolicy", "backoffLimit",
    "backoffLimitPerIndex", "maxFailedIndexes", "selector", "manualSelector", "template", "ttlSecondsAfterFinished",
    "completionMode", "suspend", "podReplacementPolicy", "managedBy",
}  # fmt: skip


def decode(served: Served, raw: bytes, strictness: str) -> tuple[Obj, list[str]]:
    """The object in a body and the warnings about it. Raises Refusal."""
    try:
        obj = json.loads(raw)
    except ValueError:
        said = "unexpected end of JSON input" if raw.strip()[-1:] != b"}" else "invalid character"
        text = raw.decode("utf-8", "replace")
        raise bad_request(
            f"the object provided is unrecognized (must be of type {served.kind}): couldn't get version/kind; "
            f"json parse error: {said} ({text})"
        ) from None
    if not isinstance(obj, dict):
        raise bad_request(f"the object provided is no {served.kind}")
    handled = f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}'
    unknown = sorted(set(obj.get("spec") or {}) - JOB_SPEC) if served.kind == "Job" else []
    if unknown and strictness == "Strict":
        raise bad_request(f'{handled}: strict decoding error: unknown field "spec.{unknown[0]}"')
    for value in _quantities(obj):
        try:
            quantity(str(value))
        except QuantityError:
            form = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
            raise bad_request(f"{handled}: quantities must match the regular expression '{form}'") from None
    for name in unknown:
        del obj["spec"][name]
    return obj, [f'unknown field "spec.{name}"' for name in unknown] if strictness == "Warn" else []


def _quantities(obj: Any) -> list[Any]:
    found = []
    if isinstance(obj, dict):
        for name, value in obj.items():
            if name in ("requests", "limits") and isinstance(value, dict):
                found += list(value.values())
            else:
                found += _quantities(value)
    elif isinstance(obj, list):
        for value in obj:
            found += _quantities(value)
    return found


def check_new(served: Served, obj: Obj, store: Store, namespace: str | None) -> None:
    """Admission and validation of a new object. Raises Refusal."""
    name = obj["metadata"]["name"]
    if namespace is not None:
        place = store.get(_namespaces(), None, namespace)
        if place is not None and place.get("status", {}).get("phase") == "Terminating":
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            refusal = denied(served, name, why)
            cause = f"namespace {namespace} is being terminated"
            refusal.body["details"]["causes"] = [
                {"reason": "NamespaceTerminating", "message": cause, "field": "metadata.namespace"}
            ]
            raise refusal
    pod = obj.get("spec", {}) if served.kind == "Pod" else {}
    if pod.get("priorityClassName") and store.get(_priorities(), None, pod["priorityClassName"]) is None:
        raise denied(served, name, f"no PriorityClass with name {pod['priorityClassName']} was found")
    causes = _name_causes(served, obj)
    if served.kind == "Job":
        causes += _job_causes(obj)
    if causes:
        raise invalid(served, name, causes)
    if namespace is not None:
        _check_count_quota(served, name, store, namespace)
    if served.kind == "Job":
        _default_job(obj)


def _namespaces() -> Served:
    return Served("", "v1", "namespaces", "Namespace", namespaced=False)


def _priorities() -> Served:
    return Served("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)


def _name_causes(served: Served, obj: Obj) -> list[Cause]:
    metadata = obj["metadata"]
    causes = []
    if not _NAME.fullmatch(metadata["name"]):
        causes.append(("metadata.name", "FieldValueInvalid", f'Invalid value: "{metadata["name"]}": {SUBDOMAIN}'))
    for value in (metadata.get("labels") or {}).values():
        if not _LABEL.fullmatch(value):
            causes.append(("metadata.labels", "FieldValueInvalid", f'Invalid value: "{value}": {LABEL}'))
    if served.kind == "Job" and not _LABEL.fullmatch(metadata["name"]):
        # Two labels carry the name: two causes, which the sentence tells once.
        causes += [("spec.template.labels", "FieldValueInvalid", f'Invalid value: "{metadata["name"]}": {LABEL}')] * 2
    return causes


def _job_causes(obj: Obj) -> list[Cause]:
    spec = obj.get("spec", {})
    causes: list[Cause] = []
    for field in ("parallelism", "completions", "backoffLimit"):
        if spec.get(field, 0) < 0:
            text = f"Invalid value: {spec[field]}: must be greater than or equal to 0"
            causes.append((f"spec.{field}", "FieldValueInvalid", text))
    pod = spec.get("template", {}).get("spec", {})
    base = "spec.template.spec"
    for i, container in enumerate(pod.get("containers", [])):
        if not container.get("image"):
            causes.append((f"{base}.containers[{i}].image", "FieldValueRequired", "Required value"))
        resources = container.get("resources", {})
        cpu, limit = resources.get("requests", {}).get("cpu"), resources.get("limits", {}).get("cpu")
        if cpu is not None and limit is not None and quantity(str(cpu)) > quantity(str(limit)):
            text = f'Invalid value: "{cpu}": must be less than or equal to cpu limit of {limit}'
            causes.append((f"{base}.containers[{i}].resources.requests", "FieldValueInvalid", text))
    if pod.get("restartPolicy", "Always") not in ("OnFailure", "Never"):
        text = 'Required value: valid values: "OnFailure", "Never"'
        causes.append((f"{base}.restartPolicy", "FieldValueRequired", text))
    return causes


def _check_count_quota(served: Served, name: str, store: Store, namespace: str) -> None:
    """The count quota of a kind (``count/jobs.batch``)."""
    resource = f"count/{served.name}"
    for _, quota in store.listed(Served("", "v1", "resourcequotas", "ResourceQuota"), namespace):
        hard = quota["spec"].get("hard", {}).get(resource)
        used = len(store.listed(served, namespace))
        if hard is not None and used + 1 > quantity(hard):
            why = (
                f"exceeded quota: {quota['metadata']['name']}, requested: {resource}=1, used: {resource}={used}, "
                f"limited: {resource}={hard}"
            )
            raise denied(served, name, why)


def _default_job(obj: Obj) -> None:
    metadata, spec = obj["metadata"], obj["spec"]
    spec.setdefault("parallelism", 1)
    if "completions" not in spec and spec.get("completionMode") != "Indexed":
        spec["completions"] = spec["parallelism"] if spec["parallelism"] == 1 else None
        if spec["completions"] is None:
            del spec["completions"]
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": metadata["uid"]}}
    own = {
        "batch.kubernetes.io/controller-uid": metadata["uid"],
        "batch.kubernetes.io/job-name": metadata["name"],
        "controller-uid": metadata["uid"],
        "job-name": metadata["name"],
    }
    labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    labels.update(own)
    # The server copies them to a job that has no labels of its own.
    if not metadata.get("labels"):
        metadata["labels"] = dict(labels)
    pod = spec["template"]["spec"]
    for container in pod.get("containers", []):
        container.setdefault("resources", {})
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        tag = container["image"].rpartition("/")[2].partition(":")[2]
        container.setdefault("imagePullPolicy", "IfNotPresent" if tag not in ("", "latest") else "Always")
    pod.setdefault("terminationGracePeriodSeconds", 30)
    pod.setdefault("dnsPolicy", "ClusterFirst")
    pod.setdefault("securityContext", {})
    pod.setdefault("schedulerName", "default-scheduler")
    obj.setdefault("status", {})


def check_changed(served: Served, old: Obj, new: Obj, *, mutable_resources: bool) -> None:
    """Validation of a changed object: what is immutable, what is out of range. Raises Refusal."""
    name = old["metadata"]["name"]
    version = new["metadata"].get("resourceVersion")
    if version not in (None, old["metadata"]["resourceVersion"]):
        raise modified(served, name)
    causes: list[Cause] = []
    if new["metadata"].get("uid") != old["metadata"]["uid"]:
        text = f'Invalid value: "{new["metadata"].get("uid")}": field is immutable'
        causes.append(("metadata.uid", "FieldValueInvalid", text))
    if served.kind == "Job":
        causes += _job_changes(old["spec"], new["spec"], mutable_resources)
    if served.kind == "ResourceQuota":
        for resource, value in new["spec"].get("hard", {}).items():
            causes += _quota_causes(served, name, resource, value)
    if causes:
        raise invalid(served, name, causes)


def _quota_causes(served: Served, name: str, resource: str, value: str) -> list[Cause]:
    try:
        if quantity(str(value)) >= 0:
            return []
    except QuantityError:
        form = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
        text = f"quantities must match the regular expression '{form}'"
        raise Refusal(422, "Invalid", f'"" is invalid: patch: Invalid value: "{value}": {text}', {}) from None
    text = f'Invalid value: "{value}": must be greater than or equal to 0'
    return [(f"spec.hard[{resource}]", "FieldValueInvalid", text)]


def _job_changes(old: Obj, new: Obj, mutable_resources: bool) -> list[Cause]:
    causes: list[Cause] = []
    completions = new.get("completions")
    scaled = new.get("completionMode") == "Indexed" and completions == new.get("parallelism")
    if completions != old.get("completions") and not scaled:
        text = f"Invalid value: {json.dumps(completions)}: field is immutable"
        causes.append(("spec.completions", "FieldValueInvalid", text))
    if new.get("parallelism", 1) < 0:
        text = f"Invalid value: {new['parallelism']}: must be greater than or equal to 0"
        causes.append(("spec.parallelism", "FieldValueInvalid", text))
    before, after = (_immutable_template(spec, mutable_resources, old.get("suspend") is True) for spec in (old, new))
    if before != after:
        text = f"Invalid value: {json.dumps(new['template'], separators=(',', ':'))}: field is immutable"
        causes.append(("spec.template", "FieldValueInvalid", text))
    return causes


def _immutable_template(spec: Obj, mutable_resources: bool, suspended: bool) -> Obj:
    """The template without what may change while a job is suspended: the node selector, and from 1.36 resources."""
    template: Obj = json.loads(json.dumps(spec["template"]))
    if suspended:
        template["spec"].pop("nodeSelector", None)
        if mutable_resources:
            for container in template["spec"].get("containers", []):
                container.pop("resources", None)
    return template
