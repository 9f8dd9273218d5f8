"""``pilothouse metrics``: totals of the cluster."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from adapters.base import Reader
from adapters.model import Metrics
from adapters.text import clean
from adapters.units import show_size
from console.cli.nodes import used_of
from console.cli.opening import with_reader
from console.cli.output import emit_json


def configure(parser: ArgumentParser) -> None:
    """It takes no arguments of its own."""


def run(args: Namespace) -> int:
    async def show(reader: Reader) -> int:
        metrics = await reader.metrics()
        if args.json:
            emit_json(metrics)
        else:
            print(*summary_lines(metrics), sep="\n")
        return 0

    return with_reader(args, show)


def summary_lines(metrics: Metrics) -> list[str]:
    """A few lines for people; what is not known shows as `-`."""
    memory = f"{show_size(metrics.memory_bytes_used)}/{show_size(metrics.memory_bytes_total)}"
    lines = [
        f"jobs    {_counts(metrics.jobs)}",
        f"nodes   {_counts(metrics.nodes)}",
        f"slots   {used_of(metrics.slots_used, metrics.slots_total)}",
        f"cores   {used_of(metrics.cores_used, metrics.cores_total)}",
        f"gpus    {used_of(metrics.gpus_used, metrics.gpus_total)}",
        f"memory  {memory}",
    ]
    queues = [
        f"{clean(name)}: {pending} pending, {running} running" for name, (pending, running) in metrics.queues.items()
    ]
    return lines + [f"queue   {line}" for line in queues]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {clean(name)}" for name, number in counts.items()) or "-"
