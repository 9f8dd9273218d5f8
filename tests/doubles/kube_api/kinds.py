"""The kinds the double keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Served:
    """One kind: its group, version, plural, and whether it lives in namespaces. `builtin` is False for CRDs."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    builtin: bool = True

    @property
    def name(self) -> str:
        """``jobs.batch``, ``pods``: what error sentences call it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


CORE = (
    Served("", "v1", "pods", "Pod"),
    Served("", "v1", "nodes", "Node", namespaced=False),
    Served("", "v1", "namespaces", "Namespace", namespaced=False),
    Served("", "v1", "resourcequotas", "ResourceQuota"),
    Served("", "v1", "limitranges", "LimitRange"),
    Served("", "v1", "events", "Event"),
    Served("events.k8s.io", "v1", "events", "Event"),
    Served("batch", "v1", "jobs", "Job"),
    Served("batch", "v1", "cronjobs", "CronJob"),
    Served("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    Served("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False),
    Served("coordination.k8s.io", "v1", "leases", "Lease"),
)
KUEUE = (
    Served("kueue.x-k8s.io", "v1beta2", "workloads", "Workload", builtin=False),
    Served("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False, builtin=False),
    Served("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue", builtin=False),
)
VOLCANO = (Served("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False, builtin=False),)
OTHER_GROUPS = ("authentication.k8s.io", "authorization.k8s.io")
OLDER_VERSIONS = {"kueue.x-k8s.io": ("v1beta1",)}
"""Versions in which the same objects are served too."""

FIELD_LABELS = {
    "Job": {"metadata.name", "metadata.namespace", "status.successful"},
    "Pod": {
        "metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
        "spec.serviceAccountName", "status.phase", "status.podIP", "status.nominatedNodeName",
    },
    "Event": {
        "metadata.name", "metadata.namespace", "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
        "involvedObject.uid", "involvedObject.apiVersion", "reason", "type", "reportingComponent", "source",
    },
}  # fmt: skip
