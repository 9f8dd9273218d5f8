"""Rows to a file: CSV, JSON or Markdown, by the end of its name; and any text to a new file of its owner's alone."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from adapters.model import Row, as_json

FORMATS = ("csv", "json", "md")


class ExportError(Exception):
    """The rows could not be written; the message says why, in a sentence."""


def render(rows: Sequence[Row], form: str) -> str:
    """The rows as text. CSV and Markdown hold the plain fields, JSON everything."""
    if form == "json":
        return json.dumps([as_json(row) for row in rows], indent=1, ensure_ascii=False) + "\n"
    fields = [name for name in rows[0]._fields if name != "extensions"] if rows else []
    table = [[_cell(as_json(getattr(row, name))) for name in fields] for row in rows]
    if form == "csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(
            [fields, *([_harmless(cell) for cell in line] for line in table)]
        )
        return out.getvalue()
    lines = [fields, ["---"] * len(fields), *([cell.replace("|", "\\|") for cell in line] for line in table)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return " ".join(_cell(part) for part in value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def _harmless(cell: str) -> str:
    """A spreadsheet takes a cell that begins so for a formula: a job's name must not become one."""
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t") else cell


def export(rows: Sequence[Row], path: str) -> Path:
    """Write the rows to a new file that only its owner can read; returns its path. Raises ExportError."""
    form = form_of(path, FORMATS)
    return write_new(Path(path), render(rows, form))


def form_of(path: str, forms: Sequence[str]) -> str:
    """The form that the end of a name asks for. Raises ExportError."""
    form = Path(path).suffix[1:].lower()
    if form not in forms:
        raise ExportError(f"{path!r} does not end in .{', .'.join(forms[:-1])} or .{forms[-1]}.")
    return form


def named_by_time(prefix: str, form: str, now: datetime) -> Path:
    """A name in the working folder that no file has yet: ``pilothouse-20261130-140203.svg``."""
    stem = f"{prefix}-{now.astimezone():%Y%m%d-%H%M%S}"
    names = [f"{stem}.{form}", *(f"{stem}-{n}.{form}" for n in range(2, 100))]
    return next((path for name in names if not (path := Path(name)).exists()), Path(names[0]))


def write_new(path: Path, text: str) -> Path:
    """Write a text to a new file that only its owner can read; returns its path. Raises ExportError."""
    file = path.expanduser()
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as out:
            out.write(text)
    except FileExistsError as error:
        raise ExportError(f"{file} is there already; nothing was written.") from error
    except OSError as error:
        raise ExportError(f"{file} cannot be written: {error.strerror}.") from error
    return file.absolute()
