"""What the server does by itself, a little at a time: counts told, old rows retired, the event log kept short."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.local import queries, records
from adapters.local.database import Tx
from adapters.local.settings import Settings

PORTION = 500


def tell_counts(tx: Tx, queues: set[str], hosts: set[str]) -> None:
    """One event for each of these queues and hosts, with its counts as they are now."""
    for row in queries.list_queues(tx.db, queues) if queues else ():
        tx.event("queue", "updated", row, row["name"], None)
    for row in queries.list_hosts(tx.db, hosts) if hosts else ():
        tx.event("host", "updated", row, None, None)


def note_used(tx: Tx, used: Mapping[str, float]) -> None:
    """When keys were last used."""
    for key_id, at in used.items():
        tx.update("keys", "id", key_id, last_used=at)


def retire(tx: Tx, settings: Settings) -> bool:
    """Take a portion of old rows out of the lists. Returns whether there may be more."""
    more = _retire_jobs(tx, tx.now - settings.finished_kept)
    last = tx.one("SELECT max(id) FROM events")
    if last is not None and last[0] is not None:
        gone = tx.run(
            "DELETE FROM events WHERE id <= ? AND id IN (SELECT id FROM events ORDER BY id LIMIT 5000)",
            last[0] - settings.events_kept,
        )
        more = more or gone == 5000
    old = tx.now - settings.history_kept
    tx.run("DELETE FROM runs WHERE job IN (SELECT id FROM jobs WHERE ended < ? AND archived = 1 LIMIT 500)", old)
    tx.run(
        "DELETE FROM dependencies WHERE job IN (SELECT id FROM jobs WHERE ended < ? AND archived = 1 LIMIT 500)", old
    )
    tx.run("DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE ended < ? AND archived = 1 LIMIT 500)", old)
    tx.run("DELETE FROM answers WHERE at < ?", tx.now - 7 * 24 * 3600.0)
    tx.run("DELETE FROM keys WHERE prefix = 'session' AND created < ?", tx.now - 7 * 24 * 3600.0)
    return more


def _retire_jobs(tx: Tx, before: float) -> bool:
    """Jobs over for long leave the list and are history only; told as removed."""
    old = tx.all("SELECT * FROM jobs WHERE ended < ? AND archived = 0 LIMIT ?", before, PORTION)
    for job in old:
        tx.update("jobs", "id", job["id"], archived=1)
        tx.event("job", "removed", records.job_row(job), job["queue"], job["user"])
    return len(old) == PORTION
