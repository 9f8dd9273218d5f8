"""Advance reservations as `brsvs -w` tells of them. Source: brsvs(1)."""

from __future__ import annotations

import re

from adapters.lsf.tables import Record
from adapters.lsf.units import count
from adapters.model import NOTHING, Reservation
from adapters.text import clean

# Columns hold several words where there are several users or hosts; ``used/reserved`` is what tells them apart.
_ROW = re.compile(r"^(.*?) *\b\d+/(\d+) +(.*?) +(\S+)$")


def reservation(cluster: str, record: Record) -> Reservation:
    """One row. Times stay as they are told, ``12/24/8/0-12/24/10/0``: without a year, they are no moments."""
    told = " ".join(record.get(name, "") for name in ("USER", "NCPUS", "RSV_HOSTS", "TIME_WINDOW"))
    found = _ROW.match(told)
    users, cores, hosts, window = (clean(part, 4096) for part in found.groups()) if found else ("", "", "", told)
    return Reservation(
        name=clean(record["RSVID"], 256),
        status="active",
        node_names=tuple(word.partition(":")[0] for word in hosts.split() if word != "-"),
        cores=count(cores),
        users=tuple(word for word in users.split() if word != "-"),
        cluster=cluster,
        extensions={"window": window} if window else NOTHING,
    )
