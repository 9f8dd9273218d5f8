"""The calls to a cluster's commands: timeouts, one of a kind at a time, counted, failures as errors."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from adapters.base import AdapterError
from adapters.command import Finished, run_read, run_write
from adapters.plan import Command
from adapters.polling import CallMeter
from adapters.slurm.errors import error_of, write_error_of
from adapters.slurm.options import SlurmOptions
from adapters.slurm.table import Tokens

IN_A_THREAD = 1_000_000
"""Bytes from which on an answer is taken apart in a thread: 10 ms of work on a slow core."""


class SlurmCalls:
    """Runs Slurm's commands for one cluster.

    Reads of one program wait for each other: a console asks a busy controller one thing at a time. `meter` counts every
    call that reaches the controller; the watch counts its own.
    """

    def __init__(self, options: SlurmOptions, meter: CallMeter) -> None:
        self.options = options
        self.meter = meter
        self.total = 0
        self.unknown_fields: set[str] = set()
        """Fields of `-O` that this release does not know, as its answers have shown."""
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self, argv: Sequence[str], *, counted: bool = False, timeout: float | None = None) -> Finished:
        """Run a read and return whatever it said. `counted`: the caller has told the meter already."""
        if not counted:
            self.meter.record()
        self.total += 1
        async with self._locks[argv[0]]:
            return await run_read(argv, self.options.read_environment(), timeout=timeout or self.options.read_timeout)

    async def read(self, program: str, *arguments: str, counted: bool = False) -> bytes:
        """Standard output of a read that succeeds. Raises AdapterError for what it said instead."""
        finished = await self.run(self.options.argv(program, *arguments), counted=counted)
        if finished.rc != 0:
            raise error_of(finished)
        return finished.stdout

    async def table(self, program: str, fields: Sequence[str], *arguments: str, counted: bool = False) -> list[bytes]:
        """Records of `squeue -O` or `sinfo -O` with these fields, each field ended by NUL but for the last."""
        tokens = Tokens.fresh()
        answer = await self.read(program, "-h", *arguments, "-O", tokens.long_format(fields), counted=counted)
        if len(answer) < IN_A_THREAD:
            return tokens.records(self._without_cluster(answer), program)
        return await asyncio.to_thread(tokens.records, self._without_cluster(answer), program)

    def _without_cluster(self, answer: bytes) -> bytes:
        """`-M` puts a line with the cluster's name before the first record, even with `-h`."""
        if self.options.slurm_cluster and answer.startswith(b"CLUSTER: "):
            return answer.partition(b"\n")[2]
        return answer

    async def write(self, command: Command) -> tuple[Finished | None, AdapterError | None]:
        """Run a write: what it said, and the error where it failed or its outcome is not known."""
        self.meter.record()
        self.total += 1
        try:
            finished = await run_write(
                self.options.cluster, command, self.options.write_environment(), timeout=self.options.write_timeout
            )
        except AdapterError as error:
            return None, error
        return finished, write_error_of(finished) if finished.rc != 0 else None
