"""A submission as a batch/v1 Job: from the fields of a JobSpec over a template, or from a manifest of its own.

The name ends in a part of the intent's id, so that sending the same intent twice meets "already exists" and never makes
two jobs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml

from adapters.base import Invalid, Unsupported
from adapters.kubernetes.quantity import show_bytes
from adapters.kubernetes.rows_queues import CLUSTERQUEUE, VOLCANO
from adapters.kubernetes.slim import INTENT_LABEL, KUEUE_LABEL, OWNER_ANNOTATION, VOLCANO_ANNOTATION
from adapters.model import JobSpec
from adapters.text import clean

LARGEST_MANIFEST = 512 * 1024
MOST_ALIASES = 16
"""YAML aliases multiply: a few are a convenience, many are a bomb."""
LONGEST_NAME = 63
_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")
_ARRAY = re.compile(r"(?P<first>\d+)-(?P<last>\d+)(?:%(?P<limit>\d+))?", re.ASCII)
OPTIONS = frozenset(
    {
        "manifest", "template", "image", "backoff_limit", "ttl_seconds", "priority_class", "node_selector",
        "service_account", "exact_name", "gpu_resource",
    }
)  # fmt: skip
"""What `JobSpec.extensions` may hold here."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a profile gives to every submission: a namespace, an image, templates by name (paths of manifests)."""

    namespace: str = "default"
    image: str | None = None
    template: str | None = None
    templates: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Made:
    """A finished manifest and what a person should know about how it was made."""

    body: dict[str, Any]
    namespace: str
    name: str
    warnings: list[str] = field(default_factory=list)

    def encoded(self) -> bytes:
        return json.dumps(self.body, indent=2, default=str).encode()


def make(spec: JobSpec, intent_id: UUID, owner: str | None, defaults: Defaults) -> Made:
    """Raises Invalid for what cannot be said in Kubernetes' terms, Unsupported for what it does not have."""
    unknown = sorted(set(spec.extensions) - OPTIONS)
    if unknown:
        raise Invalid(f"There is no option {clean(unknown[0], 80)}.", f"There are: {', '.join(sorted(OPTIONS))}.")
    if spec.dependencies:
        raise Unsupported("Kubernetes jobs cannot wait for other jobs.", "Use a workflow engine, or submit it later.")
    text = spec.extensions.get("manifest") or (spec.script if _is_manifest(spec.script) else None)
    namespace, labels, annotations = _place(spec.queue, defaults.namespace)
    if text is not None:
        body = read_manifest(text)
        made = Made(body, namespace, "")
        if spec.queue is None:
            made.namespace = str(_child(body, "metadata").get("namespace") or namespace)
    else:
        made = Made(_base(spec, defaults), namespace, "")
        _fill(made, spec, defaults)
    _name(made, spec, intent_id)
    metadata = _child(made.body, "metadata")
    metadata["namespace"] = made.namespace
    _child(metadata, "labels").update({INTENT_LABEL: str(intent_id), **labels})
    if owner:
        _child(metadata, "annotations")[OWNER_ANNOTATION] = owner
    job = _child(made.body, "spec")
    if annotations:
        template = _child(job, "template")
        _child(_child(template, "metadata"), "annotations").update(annotations)
        _child(template, "spec")["schedulerName"] = "volcano"
    if spec.hold or KUEUE_LABEL in labels:
        job["suspend"] = True
    return made


def _is_manifest(script: str | None) -> bool:
    return script is not None and re.search(r"^\s*\"?apiVersion\"?\s*:", script, re.MULTILINE) is not None


def _place(queue: str | None, namespace: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Namespace, labels and pod annotations that bring a job into a queue."""
    if queue is None:
        return namespace, {}, {}
    if queue.startswith(CLUSTERQUEUE):
        raise Invalid(f"Jobs are not submitted to {clean(queue)} itself.", "Name a LocalQueue: namespace/queue.")
    if queue.startswith(VOLCANO):
        return namespace, {}, {VOLCANO_ANNOTATION: queue.removeprefix(VOLCANO)}
    place, slash, local = queue.partition("/")
    return place, {KUEUE_LABEL: local} if slash else {}, {}


def read_manifest(text: object) -> dict[str, Any]:
    """One batch/v1 Job out of YAML or JSON text, or a mapping. Raises Invalid."""
    if isinstance(text, Mapping):
        parsed: Any = json.loads(json.dumps(dict(text), default=str))
    else:
        parsed = _parse_yaml(str(text))
    if not isinstance(parsed, dict) or (parsed.get("apiVersion"), parsed.get("kind")) != ("batch/v1", "Job"):
        raise Invalid("The manifest is not a batch/v1 Job.", "Only Jobs are submitted here: use kubectl for the rest.")
    return parsed


def _parse_yaml(text: str) -> Any:
    if len(text) > LARGEST_MANIFEST:
        raise Invalid("The manifest is larger than 512 KiB.", "Use kubectl for it.")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        aliases = sum(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader))
        if aliases > MOST_ALIASES:
            raise Invalid("The manifest has too many YAML aliases.", "Write the repeated parts out.")
        documents = [one for one in yaml.load_all(text, Loader=loader) if one is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark is not None else ""
        raise Invalid(f"The manifest is not valid YAML{place}.", "Correct it.") from None
    except RecursionError:
        raise Invalid("The manifest is nested too deeply.", "Correct it.") from None
    if len(documents) != 1:
        raise Invalid(f"The manifest holds {len(documents)} objects.", "Submit one Job at a time.")
    return documents[0]


def _base(spec: JobSpec, defaults: Defaults) -> dict[str, Any]:
    name = spec.extensions.get("template") or defaults.template
    if name is None:
        return {"apiVersion": "batch/v1", "kind": "Job"}
    path = defaults.templates.get(str(name))
    if path is None:
        known = ", ".join(sorted(defaults.templates)) or "none"
        raise Invalid(f"The profile has no template {clean(str(name), 80)}.", clean(f"It has: {known}."))
    try:
        return read_manifest(Path(path).expanduser().read_text())
    except OSError as error:
        raise Invalid(
            f"The template {clean(path, 300)} cannot be read: {error.strerror}.", "Correct the profile."
        ) from None


def _fill(made: Made, spec: JobSpec, defaults: Defaults) -> None:
    """Put the fields of the spec over the template; what is not set stays the template's."""
    job = _child(made.body, "spec")
    pod = _child(_child(job, "template"), "spec")
    containers = pod.setdefault("containers", [])
    if not containers:
        containers.append({"name": "main"})
    container = containers[0]
    options = spec.extensions
    image = options.get("image") or container.get("image") or defaults.image
    if not image:
        raise Invalid("A container needs an image.", "Give one (image), or set a default in the profile.")
    container["image"] = str(image)
    _command(made, container, spec)
    pod.setdefault("restartPolicy", "Never")
    job.setdefault("backoffLimit", 0)
    for name, value in (
        ("backoffLimit", options.get("backoff_limit")),
        ("ttlSecondsAfterFinished", options.get("ttl_seconds")),
    ):
        if value is not None:
            job[name] = _count(name, value)
    if spec.walltime_seconds is not None:
        job["activeDeadlineSeconds"] = spec.walltime_seconds
    for name, key in (("priorityClassName", "priority_class"), ("serviceAccountName", "service_account")):
        if options.get(key):
            pod[name] = str(options[key])
    if isinstance(options.get("node_selector"), Mapping):
        pod["nodeSelector"] = {str(name): str(value) for name, value in options["node_selector"].items()}
    _width(job, spec)
    _resources(made, container, spec)
    for name in ("output", "error", "account"):
        if getattr(spec, name) is not None:
            made.warnings.append(f"Kubernetes has no {name} of a job: it is left out.")


def _command(made: Made, container: dict[str, Any], spec: JobSpec) -> None:
    if spec.script is not None:
        first = spec.script.splitlines()[0] if spec.script else ""
        shell = first[2:].split() if first.startswith("#!") else []
        container["command"] = [*(shell or ["/bin/sh"]), "-c", spec.script]
        container.pop("args", None)
    else:
        container["command"] = list(spec.command)
        container.pop("args", None)
    if spec.env:
        held = {item.get("name"): item for item in container.get("env", []) if isinstance(item, dict)}
        held.update({name: {"name": name, "value": value} for name, value in spec.env.items()})
        container["env"] = list(held.values())
    if spec.cwd is not None:
        container["workingDir"] = spec.cwd
        made.warnings.append(f"It begins in {clean(spec.cwd, 200)}, a folder of the container and not of this machine.")


def _width(job: dict[str, Any], spec: JobSpec) -> None:
    """How many pods: an array's elements, or one a node."""
    if spec.array is not None:
        found = _ARRAY.fullmatch(spec.array)
        if found is None or int(found["first"]) != 0 or int(found["last"]) >= 100_000:
            raise Invalid(
                f"{clean(spec.array, 80)} cannot be an array here.",
                "An Indexed job counts from 0 without gaps: 0-9, or 0-9%2 for two at a time.",
            )
        count = int(found["last"]) + 1
        limit = int(found["limit"] or count)
        job.update(completions=count, parallelism=min(max(1, limit), count), completionMode="Indexed")
    elif spec.nodes is not None and spec.nodes > 1:
        job.update(completions=spec.nodes, parallelism=spec.nodes, completionMode="Indexed")


def _resources(made: Made, container: dict[str, Any], spec: JobSpec) -> None:
    """Requests of one pod: of a job over several nodes, the share of each, rounded up."""
    pods = spec.nodes if spec.nodes is not None and spec.nodes > 1 and spec.array is None else 1
    resources = _child(container, "resources")
    requests = _child(resources, "requests")
    if spec.cores is not None:
        requests["cpu"] = str(-(-spec.cores // pods))
    if spec.memory_bytes is not None:
        amount = show_bytes(-(-spec.memory_bytes // pods))
        requests["memory"] = amount
        _child(resources, "limits")["memory"] = amount
    if spec.gpus is not None:
        name = str(spec.extensions.get("gpu_resource") or "nvidia.com/gpu")
        amount = str(-(-spec.gpus // pods))
        requests[name] = amount
        _child(resources, "limits")[name] = amount
    if not requests:
        resources.pop("requests")
    if not resources:
        container.pop("resources")
    if pods > 1 and (spec.cores or spec.memory_bytes or spec.gpus):
        made.warnings.append(f"Each of the {pods} pods asks for its share, rounded up.")


def _name(made: Made, spec: JobSpec, intent_id: UUID) -> None:
    metadata = _child(made.body, "metadata")
    generated = metadata.pop("generateName", None)
    fixed = metadata.get("name") if spec.name is None else None
    if spec.extensions.get("exact_name") is True and (spec.name or fixed):
        made.name = str(spec.name or fixed)
    else:
        first = spec.command[0].rpartition("/")[2] if spec.command else "job"
        wish = str(spec.name or fixed or generated or first)
        made.name = dns_name(wish, intent_id.hex[:8])
    metadata["name"] = made.name


def dns_name(wish: str, suffix: str) -> str:
    """A name that Kubernetes takes (RFC 1123), ending in `suffix`."""
    plain = _NOT_IN_NAMES.sub("-", wish.lower()).strip("-")[: LONGEST_NAME - len(suffix) - 1].strip("-")
    return f"{plain or 'job'}-{suffix}"


def _count(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    raise Invalid(f"{name} must be a whole number of at least 0, not {clean(str(value), 60)}.", "Correct it.")


def _child(parent: dict[str, Any], name: str) -> dict[str, Any]:
    """The mapping of that name, made if there is none."""
    child = parent.get(name)
    if not isinstance(child, dict):
        child = parent[name] = {}
    return child
