"""A person's own command for state changes of jobs: bounded in number and time, told no more than it needs.

The command is a list of words that no shell reads. What changed stands in its environment (``PILOTHOUSE_*``) and, as
one JSON object, on its standard input. It gets no other part of our environment than what a desktop or terminal needs.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from adapters.model import Job, as_json
from adapters.text import clean
from console.profiles import Hooks

AT_ONCE = 4
WAITING = 100  # changes that wait for their turn; what comes beyond is dropped and said
LONGEST = 1024  # characters of a value in the environment
_KEPT = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TERM", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY",
    "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "TMUX", "TMUX_PANE", "STY",
)  # fmt: skip


class JobChange(NamedTuple):
    """A job that came from one state into another. `watched` or, if not, one of the person's own."""

    job: Job
    before: str
    after: str
    watched: bool


class HookRunner:
    """Runs the command for changes. `run` returns at once; `stop` ends what still runs.

    Args:
        say: told in a sentence what went wrong with the command.
    """

    def __init__(self, settings: Hooks, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._say = say
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._dropped = 0

    def wants(self, change: JobChange) -> bool:
        """Whether the settings ask for the command at this change."""
        settings = self._settings
        if not settings.on_change or (settings.states and change.after not in settings.states):
            return False
        return settings.jobs == "both" or settings.jobs == ("watched" if change.watched else "own")

    def run(self, change: JobChange) -> None:
        """Run the command for a change that it is wanted for."""
        if not self.wants(change):
            return
        if len(self._tasks) >= AT_ONCE + WAITING:
            self._dropped += 1
            self._say(f"The hook is too slow: {self._dropped} changes were not passed to it.")
            return
        task = asyncio.create_task(self._run(change), name="hook")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """End what runs, and drop what waits."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, change: JobChange) -> None:
        async with self._slots:
            try:
                code = await self._command(change)
            except TimeoutError:
                self._say(f"The hook did not end within {self._settings.timeout:g} s and was ended.")
            except (OSError, ValueError) as error:
                told = error.strerror if isinstance(error, OSError) else str(error)
                self._say(f"The hook {clean(self._settings.on_change[0], 60)} cannot be run: {clean(told or '', 100)}.")
            else:
                if code:
                    self._say(f"The hook {clean(self._settings.on_change[0], 60)} failed with exit code {code}.")

    async def _command(self, change: JobChange) -> int:
        """Run it once; returns its exit code. Raises TimeoutError and OSError; ends its whole group in any case."""
        nowhere = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *self._settings.on_change, stdin=asyncio.subprocess.PIPE, stdout=nowhere, stderr=nowhere,
            env=environment(change, os.environ), start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(self._settings.timeout):
                await process.communicate(told(change))  # a command that does not read its input is no failure
            return process.returncode or 0
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def environment(change: JobChange, ours: Mapping[str, str]) -> dict[str, str]:
    """The variables that the command gets."""
    kept = {name: value for name, value in ours.items() if name in _KEPT or name.startswith("LC_")}
    job = change.job
    facts = {
        "CLUSTER": job.cluster, "JOB_ID": job.id, "JOB_NAME": job.name, "OWNER": job.owner, "QUEUE": job.queue,
        "STATUS": change.after, "STATUS_BEFORE": change.before, "EXIT_CODE": job.exit_code, "REASON": job.reason,
    }  # fmt: skip
    return kept | {f"PILOTHOUSE_{name}": clean(str(v), LONGEST) for name, v in facts.items() if v is not None}


def told(change: JobChange) -> bytes:
    """What the command reads: one JSON object in a line."""
    facts = {
        "version": 1, "event": "job_changed", "watched": change.watched, "before": change.before,
        "after": change.after, "job": as_json(change.job),
    }  # fmt: skip
    return json.dumps(facts).encode() + b"\n"
