"""``pilothouse wait ID ...``: wait until jobs are over. Done (0) where all succeeded, failed (1) otherwise."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from contextlib import aclosing
from typing import Any, cast

from adapters.base import AdapterError, Interest, InterestCell, NotFound, Reader, SourceState
from adapters.model import Delta, Job
from adapters.text import clean
from console.cli.amounts import duration
from console.cli.exits import DONE, FAILED, CommandFailed
from console.cli.opening import with_reader
from console.cli.output import emit_json


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID")
    parser.add_argument("--timeout", type=duration, metavar="TIME", help="give up after so long, such as 90m")


def run(args: Namespace) -> int:
    async def wait(reader: Reader) -> int:
        waiting = Waiting(reader, args.ids, args.json)
        try:
            async with asyncio.timeout(args.timeout):
                await waiting.to_the_end()
        except TimeoutError:
            left = ", ".join(clean(id) for id in waiting.left)
            raise CommandFailed(f"still not over: {left}", "The jobs go on; nothing was done to them.") from None
        return DONE if waiting.all_succeeded else FAILED

    return with_reader(args, wait)


class Waiting:
    """Jobs that are waited for. Learns of their ends from the watch, which keeps to the pace of the backend."""

    def __init__(self, reader: Reader, ids: list[str], as_json: bool) -> None:
        self._reader = reader
        self._as_json = as_json
        self.left = dict.fromkeys(ids)
        self.all_succeeded = True
        self._listed: set[str] = set()

    async def to_the_end(self) -> None:
        """Return when all are over. Raises NotFound for one that never was, or what reading meets at first."""
        for id in list(self.left):
            self._look(await self._reader.get_job(id))
        cell = InterestCell(Interest(frozenset({"job"})))
        async with aclosing(cast("Any", self._reader.watch(cell))) as items:
            while self.left:
                await self._take(await anext(items))

    async def _take(self, item: Delta | SourceState) -> None:
        if isinstance(item, SourceState):
            if item.error is not None:
                print(f"pilothouse: {clean(item.error.message)}; waiting on", file=sys.stderr)
            return
        for row in item.upserts:
            if isinstance(row, Job):
                self._listed.add(row.id)
                self._look(row)
        gone = {ref.id for ref in item.removals if ref.kind == "job"}
        if item.snapshot and not item.more:  # what the whole list does not hold has left it before
            gone |= self.left.keys() - self._listed
        if not item.more:
            self._listed.clear()
        for id in gone & self.left.keys():
            await self._look_up(id)

    async def _look_up(self, id: str) -> None:
        """A job that has left the list: the scheduler may still know how it ended."""
        try:
            self._look(await self._reader.get_job(id))
        except NotFound:
            self.left.pop(id, None)
            self.all_succeeded = False
            print(f"pilothouse: job {clean(id)} is gone, and how it ended is not known", file=sys.stderr)
        except AdapterError as error:
            print(f"pilothouse: {clean(error.message)}", file=sys.stderr)

    def _look(self, job: Job) -> None:
        if job.id not in self.left or not job.finished:
            return
        del self.left[job.id]
        self.all_succeeded = self.all_succeeded and job.status == "succeeded"
        if self._as_json:
            emit_json(job)
        else:
            exit_code = f", exit code {job.exit_code}" if job.exit_code is not None else ""
            print(f"{job.id} {job.status}{exit_code}", flush=True)
