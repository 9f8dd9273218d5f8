"""The lists of a cluster, each by one command: jobs, nodes with partitions, reservations."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from adapters.base import NotFound
from adapters.model import Job, Reservation
from adapters.slurm.calls import SlurmCalls
from adapters.slurm.jobs import DETAIL_FIELDS, JOB_FIELDS, detailed, job_of_record
from adapters.slurm.nodes import NODE_FIELDS, OLDER_FIELDS, STATE, NodeList, node_list, without_states
from adapters.slurm.reservations import by_node, parse_reservations
from adapters.slurm.table import fields_of

IN_A_THREAD = 2000
"""Records from which on they are parsed in a thread: 20 ms of work on a slow core."""


class JobMemory:
    """Turns records into rows, and gives the row of before for a record that has not changed.

    A busy cluster's list is mostly what it was; a row that is the same object costs nothing to compare, and 50,000
    rows are not made anew every half minute. It holds exactly the records of the last list.
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._rows: dict[bytes, Job] = {}

    def rows(self, records: Sequence[bytes]) -> list[Job]:
        """The rows of a whole list, in its order. Raises ProtocolError."""
        old, new = self._rows, {}
        with _no_collection():
            for record in records:
                new[record] = old.get(record) or job_of_record(record, self._cluster)
        self._rows = new
        return list(new.values())


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection while many rows are made: they hold no cycles, and each full collection in between stops
    every thread for as long as it takes to walk over all of them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


async def read_jobs(
    calls: SlurmCalls, *arguments: str, memory: JobMemory | None = None, counted: bool = False
) -> list[Job]:
    """Jobs of all states that the controller still knows, with further `arguments` of squeue. One that names a single
    unknown job gives an empty list. Raises AdapterError."""
    try:
        records = await calls.table("squeue", JOB_FIELDS, "-a", "-t", "all", *arguments, counted=counted)
    except NotFound:
        return []
    memory = memory or JobMemory(calls.options.cluster)
    if len(records) < IN_A_THREAD:
        return memory.rows(records)
    return await asyncio.to_thread(memory.rows, records)


class Detail(NamedTuple):
    """One job in full: the row, and its fields as they came, for paths."""

    job: Job
    fields: Mapping[str, str]


async def read_details(calls: SlurmCalls, query: str) -> list[Detail]:
    """Every record that `squeue -j` gives for an id, in full. Raises NotFound and other AdapterErrors."""
    records = await calls.table("squeue", DETAIL_FIELDS, "-a", "-t", "all", "-j", query)
    rows = [fields_of(record, len(DETAIL_FIELDS), "squeue") for record in records]
    found = [dict(zip(DETAIL_FIELDS, row, strict=True)) for row in rows]
    return [Detail(detailed(fields, calls.options.cluster), fields) for fields in found]


async def read_reservations(calls: SlurmCalls, *, counted: bool = False) -> tuple[Reservation, ...]:
    """All reservations. Raises AdapterError."""
    return parse_reservations(
        await calls.read("scontrol", "-o", "show", "reservation", counted=counted), calls.options.cluster
    )


async def read_nodes(
    calls: SlurmCalls, *arguments: str, counted: bool = False, reservations: Sequence[Reservation] | None = None
) -> NodeList:
    """All nodes and partitions, the nodes with their quotas where `reservations` are given. Raises AdapterError."""
    fields = OLDER_FIELDS if STATE in calls.unknown_fields else NODE_FIELDS
    records = await calls.table("sinfo", fields, "-a", "-N", *arguments, counted=counted)
    if fields is NODE_FIELDS and without_states(records):
        calls.unknown_fields.add(STATE)
        records = await calls.table("sinfo", OLDER_FIELDS, "-a", "-N", *arguments)
    return node_list(records, calls.options.cluster, by_node(reservations or ()))
