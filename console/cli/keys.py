"""``pilothouse keys``: API keys of the native scheduler. A new key is shown once and kept nowhere."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime

from adapters.base import Reader, Unsupported
from adapters.intents import CreateKey, RevokeKey
from adapters.keys import ApiKey, KeyReader
from console.cli.actions import action_adder
from console.cli.actions import run_action as run
from console.cli.opening import with_reader
from console.cli.output import Column, emit_rows
from console.cli.writing import build, change

__all__ = ["configure", "run"]

ROLES = ("mcp_readonly", "mcp_operator", "user", "cluster_admin")
COLUMNS: list[Column[ApiKey]] = [
    Column("ID", lambda key: key.id, keep=9),
    Column("PREFIX", lambda key: key.prefix or "-", keep=5),
    Column("OWNER", lambda key: key.owner or "-", keep=8, shrink=8),
    Column("ROLE", lambda key: key.role or "-", keep=7),
    Column("CREATED", lambda key: _time(key.created), keep=4),
    Column("LAST USED", lambda key: _time(key.last_used), keep=6),
]


def configure(parser: ArgumentParser) -> None:
    add = action_adder(parser)
    create = add("create", "make a key for a user; it is shown this once", _create)
    create.add_argument("user", metavar="USER")
    create.add_argument("--role", choices=ROLES, required=True)
    create.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")
    add("list", "the keys there are, without their secrets", _list)
    revoke = add("revoke", "make a key invalid for ever", _revoke)
    revoke.add_argument("key", metavar="ID")
    revoke.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")


def _create(args: Namespace) -> int:
    return change(args, lambda cluster: build(CreateKey, cluster=cluster, user=args.user, role=args.role))


def _revoke(args: Namespace) -> int:
    return change(args, lambda cluster: build(RevokeKey, cluster=cluster, key_id=args.key))


def _list(args: Namespace) -> int:
    async def show(reader: Reader) -> int:
        if not isinstance(reader, KeyReader):
            raise Unsupported(f"{reader.cluster} has no API keys of its own.")
        emit_rows(await reader.list_keys(), COLUMNS, as_lines_of_json=args.json, nothing="No keys.")
        return 0

    return with_reader(args, show)


def _time(moment: datetime | None) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if moment else "-"
