"""``cluster/id``, as the console writes and copies it, taken apart wherever a command names jobs or nodes."""

from __future__ import annotations

from argparse import Namespace

from console.cli.exits import USAGE, CommandFailed
from console.config import Config

_NAMED = ("id", "ids", "node", "nodes")  # the arguments that name objects


def address(args: Namespace, config: Config) -> None:
    """Take the cluster's name off what is named in `args`, and choose that cluster. Raises CommandFailed where the
    names are of several clusters, or of another one than ``--cluster`` says."""
    found: dict[str, list[str]] = {}
    for field in _NAMED:
        found[field] = [_cluster_of(name, config) for name in _names(args, field)]
    clusters = {cluster for named in found.values() for cluster in named}
    if clusters <= {""}:
        return
    asked = getattr(args, "cluster", None)
    chosen = clusters - {""}
    if len(clusters) > 1 or (asked is not None and asked not in chosen):
        told = ", ".join(sorted(chosen | ({asked} if asked else set())) + ["none"] * ("" in clusters))
        raise CommandFailed(
            f"These names are of several clusters: {told}.", "Name the objects of one cluster at a time.", USAGE
        )
    args.cluster = chosen.pop()
    for field in _NAMED:
        if names := _names(args, field):
            short = [name.removeprefix(f"{args.cluster}/") for name in names]
            setattr(args, field, short[0] if isinstance(getattr(args, field), str) else short)


def _names(args: Namespace, field: str) -> list[str]:
    given = getattr(args, field, None) or []
    return [given] if isinstance(given, str) else list(given)


def _cluster_of(name: str, config: Config) -> str:
    """The cluster that a name begins with; nothing where it is an id alone. Ids of Kubernetes hold slashes themselves:
    ``namespace/name`` and ``namespace/pod/name``."""
    cluster, *rest = name.split("/")
    profile = config.clusters.get(cluster)
    if profile is None or not any(rest):
        return ""
    if profile.type == "kubernetes" and (len(rest) < 2 or (len(rest) == 2 and rest[0] == "pod")):
        return ""
    return cluster
