"""Running commands: what is read, what is ended and what is left alone."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from adapters import command, outgoing
from adapters.base import ProtocolError, Unavailable, UnknownOutcome, Unreachable
from adapters.plan import Command, Request

PYTHON = sys.executable


@pytest.fixture
def environment() -> dict[str, str]:
    return dict(os.environ)


@pytest.fixture
def started() -> Iterator[list[int]]:
    """Process ids that a test learns of; whatever is left of them is ended."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            psutil.Process(pid).kill()


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_reads_bytes_and_exit_code(environment: dict[str, str]) -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\xff\\0|'); sys.stderr.write('no such job'); sys.exit(7)"
    finished = await command.run_read([PYTHON, "-c", code], environment)
    assert (finished.rc, finished.stdout, finished.stderr) == (7, b"\xff\0|", b"no such job")


async def test_arguments_reach_the_program_unchanged(environment: dict[str, str]) -> None:
    hostile = ["; rm -rf x", "$HOME", "a\nb", "--help", "", "*", "日本"]
    code = "import sys, os; sys.stdout.buffer.write(b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    finished = await command.run_read([PYTHON, "-c", code, *hostile], environment)
    assert finished.stdout.decode().split("\0") == hostile


async def test_standard_input_is_closed_or_what_was_given(environment: dict[str, str]) -> None:
    argv = [PYTHON, "-c", "import sys; print(repr(sys.stdin.buffer.read()))"]
    assert (await command.run_read(argv, environment)).stdout == b"b''\n"
    assert (await command.run_read(argv, environment, stdin=b"#!/bin/sh\n")).stdout == b"b'#!/bin/sh\\n'\n"


async def test_a_command_has_no_terminal_to_ask_at(environment: dict[str, str]) -> None:
    code = "import os\ntry:\n os.open('/dev/tty', os.O_RDWR)\nexcept OSError as error:\n print(error.errno)"
    assert (await command.run_read([PYTHON, "-c", code], environment)).stdout.strip() == b"6"


async def test_a_slow_read_is_ended_with_its_children(
    environment: dict[str, str], tmp_path: Path, started: list[int]
) -> None:
    note = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {note}.new; mv {note}.new {note}; wait"
    with pytest.raises(Unavailable, match=r"sh did not answer within 1 s"):
        await command.run_read(["sh", "-c", script], environment, timeout=1.0)
    started.append(int(note.read_text()))
    until(lambda: gone(started[0]))


async def test_a_child_that_keeps_the_pipe_open_is_ended_too(
    environment: dict[str, str], tmp_path: Path, started: list[int]
) -> None:
    note = tmp_path / "pid"
    with pytest.raises(Unavailable):
        await command.run_read(["sh", "-c", f"sleep 600 & echo $! > {note}"], environment, timeout=1.0)
    started.append(int(note.read_text()))
    until(lambda: gone(started[0]))


async def test_a_cancelled_read_is_ended(environment: dict[str, str], tmp_path: Path, started: list[int]) -> None:
    note = tmp_path / "pid"
    argv = ["sh", "-c", f"echo $$ > {note}.new; mv {note}.new {note}; exec sleep 600"]
    task = asyncio.ensure_future(command.run_read(argv, environment, timeout=60))
    await asyncio.to_thread(until, note.exists)
    started.append(int(note.read_text()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    until(lambda: gone(started[0]))


async def test_too_much_output_is_an_error_and_not_a_cut_answer(environment: dict[str, str]) -> None:
    with pytest.raises(ProtocolError, match="more than 1,000 bytes"):
        await command.run_read([PYTHON, "-c", "print('x' * 100000)"], environment, limit=1000)


async def test_errors_without_end_do_not_block(environment: dict[str, str]) -> None:
    code = "import sys; sys.stderr.write('e' * 3_000_000); print('done')"
    finished = await command.run_read([PYTHON, "-c", code], environment)
    assert finished.stdout == b"done\n" and len(finished.stderr) == command.STDERR_LIMIT


@pytest.mark.parametrize("name", ["no-such-command-here", "/no/such/command"])
async def test_a_missing_command_is_unreachable(environment: dict[str, str], name: str) -> None:
    with pytest.raises(Unreachable, match=f"The command {name} is not on the PATH"):
        await command.run_read([name], environment)
    with pytest.raises(Unreachable):
        await command.run_write("c", Command((name,)), environment)


async def test_a_command_of_another_machine_is_unreachable(environment: dict[str, str], tmp_path: Path) -> None:
    broken = tmp_path / "squeue"
    broken.write_bytes(b"\x7fELF of nothing")
    broken.chmod(0o755)
    with pytest.raises(Unreachable, match="could not be started"):
        await command.run_read([str(broken)], environment)
    with pytest.raises(Unreachable, match="could not be started"):
        await command.run_write("c", Command((str(broken),)), environment)


async def test_a_write_gets_its_standard_input_and_is_reported(environment: dict[str, str]) -> None:
    seen: list[tuple[str, Request]] = []
    end = outgoing.observe(lambda cluster, request: seen.append((cluster, request)))
    request = Command((PYTHON, "-c", "import sys; print(sys.stdin.read()); sys.exit(3)"), b"script")
    try:
        finished = await command.run_write("rig", request, environment)
    finally:
        end()
    assert (finished.rc, finished.stdout) == (3, b"script\n")
    assert seen == [("rig", request)]


async def test_a_read_is_not_reported(environment: dict[str, str]) -> None:
    seen: list[Request] = []
    end = outgoing.observe(lambda _, request: seen.append(request))
    try:
        await command.run_read([PYTHON, "-c", "pass"], environment)
    finally:
        end()
    assert seen == []


async def test_a_slow_write_is_unknown_and_goes_on(
    environment: dict[str, str], tmp_path: Path, started: list[int]
) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    script = f"while [ ! -e {go} ]; do sleep 0.05; done; echo out; echo err >&2; echo $$ > {done}"
    with pytest.raises(UnknownOutcome, match=r"has not ended after 0.5 s"):
        await command.run_write("rig", Command(("sh", "-c", script)), environment, timeout=0.5)
    assert not done.exists()
    go.touch()
    until(done.exists)


async def test_a_cancelled_write_goes_on(environment: dict[str, str], tmp_path: Path) -> None:
    begun, go, done = tmp_path / "begun", tmp_path / "go", tmp_path / "done"
    script = f"touch {begun}; while [ ! -e {go} ]; do sleep 0.05; done; touch {done}"
    task = asyncio.ensure_future(command.run_write("rig", Command(("sh", "-c", script)), environment))
    await asyncio.to_thread(until, begun.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.touch()
    until(done.exists)


def test_the_environment_is_cleaned_by_prefix() -> None:
    dirty = {
        "SQUEUE_FORMAT": "%i",
        "SLURM_CONF": "/etc/x",
        "SLURM_CLUSTERS": "other",
        "LANG": "de_DE.UTF-8",
        "LC_TIME": "fr",
        "HOME": "/h",
    }
    clean = command.clean_environment(
        dirty, ("SQUEUE_", "SLURM_"), keep=("SLURM_CONF",), extra={"SLURM_TIME_FORMAT": "%s"}
    )
    assert clean == {"SLURM_CONF": "/etc/x", "HOME": "/h", "LC_ALL": "C", "SLURM_TIME_FORMAT": "%s"}
    mine = command.clean_environment(dirty, ("SQUEUE_", "SLURM_"), c_locale=False)
    assert mine == {"LANG": "de_DE.UTF-8", "LC_TIME": "fr", "HOME": "/h"}


async def test_no_program_gets_the_keys_of_the_chats_model(environment: dict[str, str]) -> None:
    """A submission hands its environment on to the job, where every administrator and its log can see it."""
    keys = {"ANTHROPIC_API_KEY": "sk-1", "ANTHROPIC_AUTH_TOKEN": "t-1", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    code = "import os; print(sorted(name for name in os.environ if 'ANTHROPIC' in name), os.environ['KEPT'])"
    given = {**environment, **keys, "KEPT": "kept"}
    read = await command.run_read([PYTHON, "-c", code], given)
    written = await command.run_write("demo", Command((PYTHON, "-c", code)), given)
    assert read.stdout == written.stdout == b"[] kept\n"
