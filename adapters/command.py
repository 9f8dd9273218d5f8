"""Run a scheduler's command: an argv, never a shell.

Reads and writes differ on purpose. A read that takes too long is ended, its whole process group with it. A write that
takes too long is left alone: whether it happened is then unknown, and ending it half way would not undo it. A write's
output goes to unnamed files, not pipes, so that it neither blocks nor dies when nobody reads any more.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from adapters import outgoing
from adapters.base import ProtocolError, Unavailable, UnknownOutcome, Unreachable
from adapters.plan import Command

READ_TIMEOUT = 8.0
WRITE_TIMEOUT = 30.0
OUTPUT_LIMIT = 512 * 1024 * 1024
"""Bytes of standard output a read may bring; a scheduler's list of a million jobs stays below it."""
STDERR_LIMIT = 64 * 1024
_CHUNK = 256 * 1024
_LOCALE = ("LANG", "LANGUAGE")
_NOT_THEIRS = ("ANTHROPIC_",)
"""Keys of the chat's model: no scheduler, no plugin and no job that inherits an environment gets them."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended by itself. `rc` is negative where a signal ended it; `seconds` is wall time."""

    argv: tuple[str, ...]
    rc: int
    stdout: bytes
    stderr: bytes
    seconds: float


def clean_environment(
    environment: Mapping[str, str],
    prefixes: Iterable[str],
    *,
    keep: Iterable[str] = (),
    extra: Mapping[str, str] | None = None,
    c_locale: bool = True,
) -> dict[str, str]:
    """`environment` without what begins with one of `prefixes`, but for the names in `keep`, and with `extra`.

    Schedulers read format, filter and default settings from such variables; an adapter that parses their output sets
    its own. With `c_locale`, messages, numbers and dates come in the C locale.
    """
    start, kept = tuple(prefixes), frozenset(keep)
    clean = {name: value for name, value in environment.items() if name in kept or not name.startswith(start)}
    if c_locale:
        clean = {name: value for name, value in clean.items() if name not in _LOCALE and not name.startswith("LC_")}
        clean["LC_ALL"] = "C"
    return clean | dict(extra or {})


def for_child(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` without what is no business of a program that we start."""
    return {name: value for name, value in environment.items() if not name.startswith(_NOT_THEIRS)}


def find_program(name: str, environment: Mapping[str, str]) -> str | None:
    """Where the program `name` lies on the PATH of `environment`; None where it does not."""
    return shutil.which(name, path=environment.get("PATH") or os.defpath)


def _program(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    found = find_program(argv[0], environment)
    if found is None:
        raise Unreachable(
            f"The command {argv[0]} is not on the PATH.",
            "Load the scheduler's module, or run the console on a login node of the cluster.",
        )
    return found


def _start_failed(argv: Sequence[str], error: OSError) -> Unreachable:
    return Unreachable(
        f"The command {argv[0]} could not be started: {error.strerror or error}.",
        "Nothing was sent. Try it in a shell on this host.",
    )


async def run_read(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: bytes | None = None,
    timeout: float = READ_TIMEOUT,
    limit: int = OUTPUT_LIMIT,
) -> Finished:
    """Run a command that changes nothing and return what it said, whatever its exit code.

    Raises Unreachable where it could not be started, Unavailable after `timeout` seconds and ProtocolError for
    output of more than `limit` bytes; then, and when cancelled, its whole process group is ended.
    """
    program = _program(argv, environment)
    begun = time.monotonic()
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            executable=program,
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=for_child(environment),
            # A group of its own, to end as a whole, and no terminal that it could ask for a password.
            start_new_session=True,
            limit=_CHUNK,
        )
    except OSError as error:
        raise _start_failed(argv, error) from error
    ended = False
    try:
        async with asyncio.timeout(timeout):
            out, err = await _converse(process, stdin, limit)
            rc = await process.wait()
        ended = True
    except TimeoutError:
        raise Unavailable(
            f"{argv[0]} did not answer within {timeout:g} s.", "The scheduler may be down or busy; it is asked again."
        ) from None
    except _TooMuch:
        raise ProtocolError(f"{argv[0]} answered with more than {limit:,} bytes.") from None
    finally:
        if not ended:
            await _end_group(process)
    return Finished(tuple(argv), rc, out, err, time.monotonic() - begun)


class _TooMuch(Exception):
    """More output than may be kept."""


async def _converse(process: asyncio.subprocess.Process, stdin: bytes | None, limit: int) -> tuple[bytes, bytes]:
    assert process.stdout is not None and process.stderr is not None
    # A task group ends the other streams' tasks when one of them fails; the first failure is the one that counts.
    try:
        async with asyncio.TaskGroup() as group:
            out = group.create_task(_drain(process.stdout, limit, fail=True))
            err = group.create_task(_drain(process.stderr, STDERR_LIMIT, fail=False))
            if stdin is not None:
                group.create_task(_feed(process, stdin))
    except* _TooMuch as failures:
        raise _TooMuch from failures
    return out.result(), err.result()


async def _drain(stream: asyncio.StreamReader, limit: int, *, fail: bool) -> bytes:
    """Read to the end; beyond `limit` bytes fail, or drop the rest so that the command is not blocked."""
    parts: list[bytes] = []
    size = 0
    while chunk := await stream.read(_CHUNK):
        if size + len(chunk) > limit:
            if fail:
                raise _TooMuch
            chunk = chunk[: limit - size]
        size += len(chunk)
        parts.append(chunk)
    return b"".join(parts)


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """End a command's process group, also where only children of it are left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(asyncio.CancelledError, TimeoutError):
        # SIGKILL works at once but for a process in uninterruptible sleep (a dead file system); do not hang on that.
        async with asyncio.timeout(2.0):
            await asyncio.shield(process.wait())


async def run_write(
    cluster: str,
    command: Command,
    environment: Mapping[str, str],
    *,
    timeout: float = WRITE_TIMEOUT,
) -> Finished:
    """Run a command that changes something, exactly as `command` holds it, and return what it said.

    Raises Unreachable where it could not be started (nothing was sent) and UnknownOutcome where it has not ended
    after `timeout` seconds; it then goes on by itself, and so it does when this coroutine is cancelled.
    """
    program = _program(command.argv, environment)
    outgoing.report(cluster, command)
    return await asyncio.to_thread(_write, program, command, for_child(environment), timeout)


def _write(program: str, command: Command, environment: dict[str, str], timeout: float) -> Finished:
    begun = time.monotonic()
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if command.stdin is not None:
            stdin.write(command.stdin)
            stdin.seek(0)
        try:
            process = subprocess.Popen(
                command.argv,
                executable=program,
                stdin=stdin if command.stdin is not None else subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise _start_failed(command.argv, error) from error
        try:
            rc = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise UnknownOutcome(
                f"{command.argv[0]} has not ended after {timeout:g} s; it goes on, and may still take effect.",
                "The target is read again; do not repeat the action before its state is clear.",
            ) from None
        seconds = time.monotonic() - begun
        return Finished(command.argv, rc, _contents(out, OUTPUT_LIMIT), _contents(err, STDERR_LIMIT), seconds)


def _contents(file: IO[bytes], limit: int) -> bytes:
    file.seek(0)
    return file.read(limit)
