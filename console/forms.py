"""From what is typed into a form to a job's specification or a change of one. No widget here."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from adapters.model import Job, JobSpec
from adapters.units import UnitError, exact_duration, parse_duration, parse_size, show_size

T = TypeVar("T")
LARGEST_SCRIPT = 4 * 1024 * 1024


class FieldError(Exception):
    """A field holds what cannot be; `field` names it, the message says what to type."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def submission(values: Mapping[str, str]) -> JobSpec:
    """The specification that a submit form asks for. Raises FieldError."""
    command, script = values.get("command", ""), values.get("script", "")
    if bool(command) == bool(script):
        raise FieldError("command", "Type a command, or name the file of a batch script: one of the two.")
    return JobSpec(
        command=_command(command),
        script=_script(script) if script else None,
        name=values.get("name") or None,
        queue=values.get("queue") or None,
        nodes=_number(values, "nodes"),
        cores=_number(values, "cores"),
        gpus=_number(values, "gpus", least=0),
        memory_bytes=_unit(values, "memory", parse_size),
        walltime_seconds=_unit(values, "walltime", parse_duration),
        array=values.get("array") or None,
        env=_env(values.get("env", "")),
        cwd=values.get("cwd") or None,
        account=values.get("account") or None,
        hold=values.get("hold", "").lower() in ("y", "yes"),
    )


def changes(values: Mapping[str, str], before: Mapping[str, str]) -> dict[str, Any]:
    """Fields of a ModifyJob that a person has changed. Raises FieldError; empty where nothing differs."""
    changed = {name: text for name, text in values.items() if text != before.get(name, "") and text}
    emptied = next((name for name, text in values.items() if not text and before.get(name)), None)
    if emptied is not None:
        raise FieldError(emptied, "It cannot be taken away, only changed.")
    parsed: dict[str, Any] = {name: changed[name] for name in ("name", "queue", "account") if name in changed}
    for name in ("cores", "nodes", "priority"):
        if name in changed:
            parsed[name] = _number(changed, name, least=None if name == "priority" else 1)
    if "memory" in changed:
        parsed["memory_bytes"] = _unit(changed, "memory", parse_size)
    if "walltime" in changed:
        parsed["walltime_seconds"] = _unit(changed, "walltime", parse_duration)
    return parsed


def queue_limits(text: str) -> dict[str, str | int | None]:
    """``pods=20 cpu=none``: resource -> limit, None lifts it. Raises FieldError."""
    limits: dict[str, str | int | None] = {}
    for word in text.split():
        name, separator, value = word.partition("=")
        if not (name and separator and value):
            raise FieldError("limits", f"{word!r} is not RESOURCE=LIMIT, such as pods=20, or RESOURCE=none.")
        limits[name] = None if value == "none" else int(value) if value.isascii() and value.isdigit() else value
    if not limits:
        raise FieldError("limits", "Name at least one limit, such as pods=20.")
    return limits


def reservation(values: Mapping[str, str]) -> dict[str, Any]:
    """Fields of a CreateReservation. Raises FieldError."""
    if not values.get("name"):
        raise FieldError("name", "A reservation needs a name.")
    start = values.get("start", "")
    try:
        start_time = datetime.fromisoformat(start).astimezone(UTC) if start else None
    except ValueError as error:
        raise FieldError("start", f"{start!r} is no time: write 2026-12-24 08:00.") from error
    return {
        "name": values["name"],
        "nodes": tuple(values.get("nodes", "").replace(",", " ").split()),
        "cores": _number(values, "cores"),
        "users": tuple(values.get("users", "").replace(",", " ").split()),
        "start_time": start_time,
        "duration_seconds": _unit(values, "duration", parse_duration),
    }


def of_job(job: Job) -> dict[str, str]:
    """What is known of a job, as one would type it: the start of a resubmission or a change."""
    return {
        "command": _command_of(job.extensions.get("command")),
        "name": job.name,
        "queue": job.queue or "",
        "nodes": "" if job.nodes is None else str(job.nodes),
        "cores": "" if job.cores is None else str(job.cores),
        "gpus": "" if not job.gpus else str(job.gpus),
        "memory": "" if job.memory_bytes is None else _exact_size(job.memory_bytes),
        "walltime": "" if job.walltime_seconds is None else exact_duration(job.walltime_seconds),
        "cwd": str(job.extensions.get("cwd") or ""),
        "account": str(job.extensions.get("account") or ""),
    }


def _command_of(command: Any) -> str:
    """A job's command as one types it. A text that only a shell understands is handed to one, as it was run by one."""
    if isinstance(command, list | tuple):
        return shlex.join(str(part) for part in command)
    text = str(command or "")
    try:
        return text if not _shell_sign(text) else shlex.join(("sh", "-c", text))
    except ValueError:
        return shlex.join(("sh", "-c", text))


def _shell_sign(text: str) -> str | None:
    """The first sign outside quotes that only a shell gives a meaning. Raises ValueError for an open quote."""
    words = shlex.shlex(text, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return next((word for word in words if word and set(word) <= set("();<>|&")), None)


def _exact_size(size: int) -> str:
    """A size that reads back as the same number of bytes."""
    shown = show_size(size)
    try:
        return shown if parse_size(shown) == size else f"{size}B"
    except UnitError:
        return f"{size}B"


def _command(text: str) -> tuple[str, ...]:
    try:
        if (sign := _shell_sign(text)) is not None:
            raise FieldError("command", f"No shell reads it, so {sign} has no meaning: write sh -c '…' around it.")
        return tuple(shlex.split(text))
    except ValueError as error:
        raise FieldError("command", f"A quote is not closed: {error}.") from error


def _script(name: str) -> str:
    path = Path(name).expanduser()
    try:
        if path.stat().st_size > LARGEST_SCRIPT:
            raise FieldError("script", f"{path} is larger than 4 MiB.")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise FieldError("script", f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise FieldError("script", f"{path} is not text in UTF-8.") from error


def _number(values: Mapping[str, str], field: str, least: int | None = 1) -> int | None:
    text = values.get(field, "")
    if not text:
        return None
    try:
        number = int(text)
    except ValueError as error:
        raise FieldError(field, f"{text!r} is no whole number.") from error
    if least is not None and number < least:
        raise FieldError(field, f"At least {least}, not {number}.")
    return number


def _unit(values: Mapping[str, str], field: str, parse: Callable[[str], T]) -> T | None:
    text = values.get(field, "")
    try:
        return parse(text) if text else None
    except UnitError as error:
        raise FieldError(field, str(error)) from error


def _env(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise FieldError("env", f"A quote is not closed: {error}.") from error
    for word in words:
        name, separator, value = word.partition("=")
        if not (name and separator):
            raise FieldError("env", f"{word!r} is not NAME=VALUE.")
        pairs[name] = value
    return pairs
