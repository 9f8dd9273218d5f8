"""``pilothouse audit``: the record of every change and every refusal on this host."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adapters.text import clean
from console import audit
from console.cli.actions import action_adder
from console.cli.actions import run_action as run
from console.cli.amounts import count, moment
from console.cli.exits import DONE, FAILED, CommandFailed
from console.cli.output import Column, emit_json, emit_rows

__all__ = ["configure", "run"]

COLUMNS: list[Column[Mapping[str, Any]]] = [
    Column("TIME", lambda line: _text(line, "time"), keep=8),
    Column("KIND", lambda line: _text(line, "kind"), keep=9),
    Column("PERSON", lambda line: _text(line, "person"), keep=6),
    Column("ORIGIN", lambda line: _text(line, "origin"), keep=3),
    Column("CLUSTER", lambda line: _text(line, "cluster"), keep=4),
    Column("ACTION", lambda line: _text(line, "action"), keep=8),
    Column("TARGETS", lambda line: _targets(line.get("targets")), keep=7, shrink=12),
    Column("DECISION", lambda line: _text(line, "decision"), keep=5, shrink=12),
    Column("OUTCOME", lambda line: _outcome(line), keep=7, shrink=12),
]


def configure(parser: ArgumentParser) -> None:
    add = action_adder(parser)
    tail = add("tail", "the last lines of this host's log", _tail)
    tail.add_argument("-n", "--lines", type=count, default=20, metavar="N", help="how many (20)")
    verify = add("verify", "check that no line was changed, removed, added or cut off", _verify)
    verify.add_argument("files", nargs="*", type=Path, metavar="FILE", help="logs; without any, those of every host")
    export = add("export", "this host's log for other programs, to standard output", _export)
    export.add_argument("--format", choices=("jsonl", "csv"), default="jsonl")
    export.add_argument("--since", type=moment, metavar="TIME", help="such as 2026-03-01 or 2026-03-01T12:00Z")
    export.add_argument("--until", type=moment, metavar="TIME")


def _tail(args: Namespace) -> int:
    lines: list[Mapping[str, Any]] = [*audit.default_log().tail(args.lines)]
    emit_rows(lines, COLUMNS, as_lines_of_json=args.json, nothing="Nothing is on record yet.")
    return DONE


def _verify(args: Namespace) -> int:
    logs: list[Path] = args.files or audit.all_logs()
    if not logs:
        folder = audit.state_folder() / "audit"
        raise CommandFailed(f"there is no audit log in {folder}", "It is begun with the first change or refusal.")
    good = [_verify_one(log, args.json) for log in logs]
    return DONE if all(good) else FAILED


def _verify_one(log: Path, as_json: bool) -> bool:
    found = audit.verify(log)
    if as_json:
        emit_json(
            {
                "log": str(log),
                "ok": found.ok,
                "lines": found.lines,
                "head": found.head.hash,
                "problems": [str(problem) for problem in found.problems],
                "notes": [str(note) for note in found.notes],
            }
        )
        return found.ok
    print(f"{'holds' if found.ok else 'BROKEN'}  {clean(str(log))}: {found.lines} lines, head {found.head.hash[:16]}")
    for problem in found.problems:
        print(f"  problem: {clean(str(problem))}")
    for note in found.notes:
        print(f"  note: {clean(str(note))}")
    return found.ok


def _export(args: Namespace) -> int:
    records = audit.default_log().records()
    sys.stdout.writelines(audit.export(records, args.format, since=args.since, until=args.until))
    return DONE


def _text(line: Mapping[str, Any], name: str) -> str:
    value = line.get(name)
    return "-" if value is None or value == "" else clean(str(value), 200)


def _targets(targets: Any) -> str:
    names = [str(target.get("id")) for target in targets or () if isinstance(target, Mapping)]
    return clean(" ".join(names), 200) or "-"


def _outcome(line: Mapping[str, Any]) -> str:
    """What came of it; of a refusal its rule."""
    return clean(str(line.get("outcome") or line.get("rule") or "-"), 200)
