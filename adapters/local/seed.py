"""What a new data folder holds: secrets, an administrator's key, queues."""

from __future__ import annotations

import getpass
import secrets
import tomllib
from pathlib import Path
from typing import Any

from adapters.local import access, tokens, values
from adapters.local.database import Tx
from adapters.local.problem import Problem, StartError
from adapters.local.schema import open_database

ADMIN_KEY, JOIN_TOKEN, QUEUES = "admin.key", "join.token", "queues.toml"

DEFAULT_QUEUES = """\
# The queues of this cluster, read at each start. Limits are HH:MM, memory is text with a unit; what is absent is
# not limited. A queue that is taken out here stays as long as it holds jobs, and is closed.
version = 1

[queues.short]
description = "Up to ten minutes, first"
priority = 50
run_limit = "00:10"

[queues.normal]
description = "The usual one"
priority = 30

[queues.long]
description = "Whatever takes long, last"
priority = 10
default_run_limit = "24:00"
"""
_QUEUE_FIELDS = frozenset(
    {"description", "priority", "run_limit", "default_run_limit", "default_cores", "default_mem", "default_gpus",
     "max_slots", "user_slots"}
)  # fmt: skip


def meta(tx: Tx, name: str) -> str:
    """A value of the database's own. Raises StartError where the database was never set up."""
    row = tx.one("SELECT value FROM meta WHERE name = ?", name)
    if row is None:
        raise StartError(f"the database has no {name}: it was not set up completely")
    return str(row["value"])


def set_up(folder: Path) -> None:
    """Make what is missing in a data folder: database, secrets, key files, queues. Raises StartError.

    The key file is written before the commit that makes its key valid: a crash in between leaves a key that does not
    work, and the next start makes another one.
    """
    connection, _ = open_database(folder)
    try:
        import time

        tx = Tx(connection, time.time())
        connection.execute("BEGIN IMMEDIATE")
        if tx.one("SELECT 1 FROM meta WHERE name = 'session_secret'") is None:
            _first_time(tx, folder)
        _apply_queues(tx, folder)
        connection.execute("COMMIT")
        (folder / "logs").mkdir(mode=0o711, exist_ok=True)
    except OSError as error:
        raise StartError(f"cannot set up the data folder {folder}: {error}") from None
    finally:
        connection.close()


def _first_time(tx: Tx, folder: Path) -> None:
    tx.insert("meta", name="session_secret", value=secrets.token_hex(32))
    made = access.create_key(tx, getpass.getuser(), "cluster_admin")
    tokens.write_secret(folder / ADMIN_KEY, made["key"])
    tokens.write_secret(folder / JOIN_TOKEN, access.create_join_token(tx))
    queues = folder / QUEUES
    if not queues.exists():
        queues.write_text(DEFAULT_QUEUES, "utf-8")


def _apply_queues(tx: Tx, folder: Path) -> None:
    """Bring the queues to what the file says; open and active stay as they were."""
    path = folder / QUEUES
    if not path.exists():
        return
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StartError(f"{path}: {error}") from None
    if document.get("version") != 1:
        raise StartError(f"{path}: version must be 1")
    wanted = document.get("queues")
    if not isinstance(wanted, dict) or not wanted:
        raise StartError(f"{path}: there is no [queues.NAME]")
    for name, fields in wanted.items():
        columns = _queue_columns(path, name, fields)
        tx.run("INSERT OR IGNORE INTO queues (name) VALUES (?)", name)
        tx.update("queues", "name", name, **columns)
    for row in tx.all("SELECT name FROM queues"):
        if row["name"] in wanted:
            continue
        if tx.one("SELECT 1 FROM jobs WHERE queue = ? AND ended IS NULL", row["name"]) is None:
            tx.run("DELETE FROM queues WHERE name = ?", row["name"])
        else:
            tx.update("queues", "name", row["name"], open=0, reason=f"no longer in {QUEUES}")


def _queue_columns(path: Path, name: str, fields: Any) -> dict[str, Any]:
    if not isinstance(fields, dict):
        raise StartError(f"{path}: queues.{name} must be a table")
    unknown = sorted(set(fields) - _QUEUE_FIELDS)
    if unknown:
        raise StartError(f"{path}: queues.{name} has no {unknown[0]!r}; known: {', '.join(sorted(_QUEUE_FIELDS))}")
    try:
        return {
            "description": values.line(fields.get("description", ""), "description") or "",
            "priority": values.whole(fields.get("priority", 30), "priority", 0, 1000),
            "default_cores": values.whole(fields.get("default_cores", 1), "default_cores", 1),
            "default_gpus": values.whole(fields.get("default_gpus", 0), "default_gpus", 0),
            **{
                field: None if fields.get(field) is None else read(fields[field])
                for field, read in (
                    ("run_limit", values.run_limit_seconds),
                    ("default_run_limit", values.run_limit_seconds),
                    ("default_mem", values.memory_mb),
                    ("max_slots", lambda v: values.whole(v, "max_slots", 0)),
                    ("user_slots", lambda v: values.whole(v, "user_slots", 1)),
                )
            },
        }
    except Problem as problem:
        raise StartError(f"{path}: queues.{name}: {problem.message}") from None
