"""Opens what a subcommand works on: the configuration, the engine without its feeds, one cluster."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli.addresses import address
from console.config import Config, load

if TYPE_CHECKING:
    from adapters.base import Reader
    from console.engine import Engine


def load_config(args: Namespace) -> Config:
    """The configuration that the options name, or what answers on this host. Names written as ``cluster/id`` are
    taken apart in `args`. Raises ConfigError, CommandFailed."""
    config = settings(Path(args.config) if args.config else None, read_only=args.read_only)
    address(args, config)
    return config


def settings(path: Path | str | None, *, read_only: bool = False) -> Config:
    """The configuration; where no file names a cluster, with the schedulers that answer here. Raises ConfigError."""
    config = load(path, read_only=read_only)
    if config.clusters or path is not None:
        return config
    from console.detection import with_detected

    return with_detected(config)


def with_engine(args: Namespace, action: Callable[[Engine], Awaitable[int]], *, settle: bool = False) -> int:
    """Run `action` on an engine that watches nothing; it is stopped, with sends in flight waited for, in any case.

    `settle` has it also look up what earlier runs sent without learning the outcome.
    """
    config = load_config(args)
    from console.engine import Engine

    async def work() -> int:
        async with Engine(config, feeds=False, settle=settle) as engine:
            return await action(engine)

    return asyncio.run(work())


def with_reader(args: Namespace, action: Callable[[Reader], Awaitable[int]]) -> int:
    """Run `action` on the Reader of the chosen cluster. Raises what opening it met."""

    async def work(engine: Engine) -> int:
        return await action(engine.reader(args.cluster))

    return with_engine(args, work)
