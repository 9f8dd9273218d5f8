"""Reservations, and the quotas of nodes that are kept by them.

A quota of q slots on a node of t is kept by reserving t - q of them for root: what is reserved no job can start on. The
reservations carry their meaning in their names, ``pilothouse_quota_<node>_<slots>_<n>``, so that whoever looks finds
them again; the highest n names the quota that holds. Facts, tried on 22.05, 24.11 and 26.05: several reservations of
cores on one node add up; one cannot be changed, only deleted; only idle cores can be reserved.
Sources: scontrol(1), `scontrol show reservation -o`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adapters.base import ProtocolError
from adapters.model import Reservation
from adapters.slurm import values
from adapters.text import clean

PREFIX = "pilothouse_quota_"
_OURS = re.compile(r"pilothouse_quota_(?P<node>.+)_(?P<slots>\d{1,7})_(?P<n>\d{1,7})", re.ASCII)
_HEAD = re.compile(
    r"ReservationName=(?P<name>.*?) StartTime=(?P<start>\S+) EndTime=(?P<end>\S+) Duration=(?P<duration>\S+)"
    r"(?: |\n +)Nodes=(?P<nodes>\S*) NodeCnt=(?P<count>\S+) CoreCnt=(?P<cores>\S+)(?P<rest>.*)",
    re.DOTALL,
)
_USERS = re.compile(r"\sUsers=(\S+)")
_STATE = re.compile(r"\sState=(\S+)")
_FLAGS = re.compile(r"\sFlags=(\S*)")
_NONE = "No reservations in the system"


@dataclass(frozen=True, slots=True)
class Kept:
    """One reservation of ours: `cores` set apart on a node for a quota of `slots`; `n` orders them in time."""

    name: str
    slots: int
    n: int
    cores: int


@dataclass(frozen=True, slots=True)
class NodeReservations:
    """What is reserved on one node: ours for its quota, and the names of the others."""

    ours: tuple[Kept, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (*(kept.name for kept in self.ours), *self.others)

    @property
    def cores(self) -> int:
        return sum(kept.cores for kept in self.ours)

    def quota(self, total: int, threads: int) -> int | None:
        """The quota in slots as it was asked for last; None where there is none."""
        latest = max(self.ours, key=lambda kept: kept.n, default=None)
        return None if latest is None else min(latest.slots, total)

    def unfulfilled(self, total: int, threads: int) -> int | None:
        """The quota where fewer cores are set apart than it needs; None where it is kept."""
        quota = self.quota(total, threads)
        if quota is None or self.cores >= cores_to_reserve(total, quota, threads):
            return None
        return quota


def cores_to_reserve(total: int, slots: int, threads: int) -> int:
    """Whole cores that must be set apart on a node of `total` slots to leave at most `slots`."""
    return math.ceil(max(0, total - slots) / max(1, threads))


def quota_name(node: str, slots: int, n: int) -> str:
    """The name of the n-th reservation that keeps a quota."""
    return f"{PREFIX}{node}_{slots}_{n}"


def parse_reservations(answer: bytes, cluster: str) -> tuple[Reservation, ...]:
    """The rows of `scontrol show reservation -o`, times as seconds of the epoch.

    Raises ProtocolError where a line is none: an answer that is not understood is never "no reservations".
    """
    text = answer.decode("utf-8", "surrogateescape").strip()
    if not text or text.startswith(_NONE):
        return ()
    return tuple(_reservation(line, cluster) for line in text.split("\n") if line.strip())


def _reservation(line: str, cluster: str) -> Reservation:
    found = _HEAD.match(line)
    if found is None:
        raise ProtocolError(f"A line of scontrol show reservation is not understood: {clean(line, 120)}")
    state, users, flags = _STATE.search(found["rest"]), _USERS.search(found["rest"]), _FLAGS.search(found["rest"])
    extensions: dict[str, str] = {"duration": clean(found["duration"], 64)}
    if flags and values.present(flags[1]):
        extensions["flags"] = clean(flags[1], 256)
    return Reservation(
        name=clean(found["name"], 256),
        status=clean(state[1], 64).lower() if state else "unknown",
        node_names=tuple(clean(name, 256) for name in values.hosts(found["nodes"])),
        cores=values.number(found["cores"]),
        start_time=values.when(found["start"]),
        end_time=values.when(found["end"]),
        users=tuple(clean(user, 256) for user in users[1].split(",") if values.present(user)) if users else (),
        cluster=cluster,
        extensions=extensions,
    )


def by_node(reservations: Iterable[Reservation]) -> Mapping[str, NodeReservations]:
    """What is reserved on each node."""
    ours: dict[str, list[Kept]] = {}
    others: dict[str, list[str]] = {}
    for row in reservations:
        name = _OURS.fullmatch(row.name)
        if name is not None and row.node_names == (name["node"],):
            kept = Kept(row.name, int(name["slots"]), int(name["n"]), row.cores or 0)
            ours.setdefault(name["node"], []).append(kept)
            continue
        for node in row.node_names:
            others.setdefault(node, []).append(row.name)
    return {
        node: NodeReservations(tuple(sorted(ours.get(node, ()), key=lambda kept: kept.n)), tuple(others.get(node, ())))
        for node in {*ours, *others}
    }
