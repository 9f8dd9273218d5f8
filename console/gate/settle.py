"""At the start: writes of earlier runs whose outcome was never recorded are looked up and closed with a line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from adapters.base import AdapterError, Reader
from adapters.intents import SubmitJob
from adapters.model import Ref
from adapters.text import clean
from console.audit import AuditLog, Record
from console.audit.process import still_runs
from console.gate.record import read_ref, ref_record


def dangling(records: Iterable[Record]) -> list[Record]:
    """Intent lines without a result line, oldest first, of processes that are gone."""
    open_lines: dict[tuple[Any, Any], Record] = {}
    for record in records:
        key = (record.get("operation"), record.get("step"))
        if record.get("kind") == "intent":
            open_lines[key] = record
        elif record.get("kind") == "result":
            open_lines.pop(key, None)
    return [record for record in open_lines.values() if not still_runs(record.get("process") or {})]


async def settle(audit: AuditLog, readers: Mapping[str, Reader]) -> list[Record]:
    """Close what can be closed; returns the lines that were written. A cluster that cannot be read waits for next time.

    Raises AuditError where the log can be neither read nor written.
    """
    written: list[Record] = []
    for record in await asyncio.to_thread(lambda: dangling(audit.records())):
        reader = readers.get(str(record.get("cluster")))
        if reader is None:
            continue
        try:
            found = await _look_up(record, reader)
        except AdapterError:
            continue
        line = await asyncio.to_thread(_close, audit, record, found)
        if line is not None:
            written.append(line)
    return written


async def _look_up(record: Record, reader: Reader) -> dict[str, Any]:
    """What the backend says now about what that line was to do. Raises AdapterError."""
    refs = [ref for target in record.get("targets") or () if (ref := read_ref(target)) is not None]
    if record.get("action") == SubmitJob.verb or not refs:
        made = await reader.find_intent(str(record.get("intent_id")))
        if made:
            told = f"It was done: the backend has {clean(', '.join(ref.id for ref in made), 200)}."
            return {"outcome": "accepted", "message": told, "created": [ref_record(ref) for ref in made]}
        return {"outcome": "unknown", "message": "The backend shows nothing that came of it."}
    now = await reader.observe(refs)
    states = {_name(ref): (target.state if (target := now.get(ref)) is not None else "gone") for ref in refs}
    told = "; ".join(f"{name} is {clean(state, 32)}" for name, state in list(states.items())[:5])
    return {"outcome": "unknown", "message": f"Whether it was done cannot be told. Now: {told}.", "states": states}


def _name(ref: Ref) -> str:
    return clean(f"{ref.kind} {ref.id}", 80)


def _close(audit: AuditLog, record: Record, found: Mapping[str, Any]) -> Record | None:
    """Write the closing line, unless another process has just done so."""
    kept = ("cluster", "origin", "identity", "action", "intent_id", "plan_id", "operation", "step", "targets",
            "request_digest")  # fmt: skip

    def still_open() -> bool:
        return any(other.get("seq") == record["seq"] for other in dangling(audit.records()))

    fields = {name: record.get(name) for name in kept}
    return audit.append_if(still_open, "result", closed_by="lookup", **fields, **found)
