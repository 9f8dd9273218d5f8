"""Kueue's and Volcano's kinds for a rig: their groups, versions, scopes and names, with schemas that take anything.

The projects' own definitions are several hundred kilobytes and their controllers do not run here; what the console
needs of them is that discovery shows the kinds and that objects of them can be listed, watched and patched.
"""

from __future__ import annotations

from tests.rigs.kubernetes.admin import Admin, Obj

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KUEUE = ("kueue.x-k8s.io", ("v1beta1", "v1beta2"), {"localqueues": "LocalQueue", "clusterqueues": "ClusterQueue",
                                                    "workloads": "Workload"})  # fmt: skip
VOLCANO = ("scheduling.volcano.sh", ("v1beta1",), {"queues": "Queue"})
CLUSTER_WIDE = frozenset({"clusterqueues", "queues"})


def definition(group: str, versions: tuple[str, ...], plural: str, kind: str) -> Obj:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster" if plural in CLUSTER_WIDE else "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [
                {"name": one, "served": True, "storage": one == versions[-1], "schema": schema} for one in versions
            ],
        },
    }


def install(admin: Admin, what: tuple[str, tuple[str, ...], dict[str, str]]) -> None:
    """Make the kinds of one project and wait until they are served."""
    from tests.rigs.kubernetes.rig import until

    group, versions, kinds = what
    for plural, kind in kinds.items():
        admin.ensure(PATH, definition(group, versions, plural, kind))
    for plural in kinds:
        path = f"/apis/{group}/{versions[-1]}/{plural}"
        until(lambda path=path: admin.find(path) is not None, path)  # type: ignore[misc]


def remove(admin: Admin, what: tuple[str, tuple[str, ...], dict[str, str]]) -> None:
    for plural in what[2]:
        admin.delete(f"{PATH}/{plural}.{what[0]}")
