"""The kinds of objects that are read, and their paths. Keyed by group: Volcano has a kind Job of its own.

`NEEDS` says which of them a row of the model is made from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from adapters.model import Kind

KUEUE_GROUP = "kueue.x-k8s.io"
VOLCANO_GROUP = "scheduling.volcano.sh"
OPTIONAL_GROUPS = (KUEUE_GROUP, VOLCANO_GROUP)


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind as the API names it. `selector` is a fieldSelector that every read of it carries."""

    key: str
    group: str
    version: str
    plural: str
    namespaced: bool = True
    selector: str | None = None
    title: str = ""

    @property
    def base(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The path of a list or an object, without the server's prefix."""
        parts = [self.base]
        if self.namespaced and namespace is not None:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name is not None:
            parts.append(quote(name, safe=""))
        if subresource is not None:
            parts.append(subresource)
        return "/".join(parts)

    def at(self, version: str) -> Resource:
        """The same kind in another version, as discovery told."""
        return self if version == self.version else replace(self, version=version)


RESOURCES: Mapping[str, Resource] = {
    item.key: item
    for item in (
        Resource("jobs", "batch", "v1", "jobs", title="jobs"),
        Resource("pods", "", "v1", "pods", title="pods"),
        Resource("nodes", "", "v1", "nodes", namespaced=False, title="nodes"),
        Resource("namespaces", "", "v1", "namespaces", namespaced=False, title="namespaces"),
        Resource("resourcequotas", "", "v1", "resourcequotas", title="quotas"),
        Resource("limitranges", "", "v1", "limitranges", title="default requests"),
        # Of all events only this one tells what no object tells: a Job whose pods are refused has no pod.
        Resource("events", "", "v1", "events", selector="reason=FailedCreate", title="events"),
        Resource("localqueues", KUEUE_GROUP, "v1beta1", "localqueues", title="Kueue queues"),
        Resource("clusterqueues", KUEUE_GROUP, "v1beta1", "clusterqueues", namespaced=False, title="Kueue quotas"),
        Resource("workloads", KUEUE_GROUP, "v1beta1", "workloads", title="Kueue workloads"),
        Resource("volcanoqueues", VOLCANO_GROUP, "v1beta1", "queues", namespaced=False, title="Volcano queues"),
    )
}

_FOR_JOBS = ("jobs", "pods", "events", "workloads")
_FOR_QUEUES = (
    *_FOR_JOBS,
    "namespaces",
    "resourcequotas",
    "limitranges",
    "localqueues",
    "clusterqueues",
    "volcanoqueues",
)
NEEDS: Mapping[Kind, tuple[str, ...]] = {
    "job": _FOR_JOBS,
    "queue": _FOR_QUEUES,
    "node": ("nodes", "pods"),
    "metrics": (*_FOR_QUEUES, "nodes"),
    "reservation": (),
}
PRIMARY: Mapping[Kind, str] = {"job": "jobs", "queue": "jobs", "node": "nodes", "metrics": "jobs"}
"""The kind of object without which there are no rows of this kind at all."""


def keys_for(kinds: frozenset[Kind]) -> tuple[str, ...]:
    """What must be read for these kinds of rows, in the order of `RESOURCES`."""
    wanted = {key for kind in kinds for key in NEEDS.get(kind, ())}
    return tuple(key for key in RESOURCES if key in wanted)
