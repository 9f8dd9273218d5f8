"""``pilothouse mcp``: serve the tools to an MCP client, on standard input and output or over HTTP on this machine."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli.exits import FAILED, USAGE, CommandFailed
from console.cli.opening import load_config
from console.config import Config

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

DESCRIPTION = """Serve the tools to an MCP client.

Without an option: on standard input and output, also over ssh (ssh login pilothouse mcp).
Reads are answered; a write becomes a plan that a person approves: pilothouse approve."""


def configure(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--http", action="store_true", help="on a unix socket that only you can use")
    where.add_argument("--port", type=int, metavar="N", help="on 127.0.0.1, with a token; 0 takes a free port")
    parser.add_argument("--socket", metavar="FILE", help="the unix socket of --http")


def run(args: Namespace) -> int:
    config = as_service(load_config(args))
    if args.socket and not args.http:
        raise CommandFailed("--socket belongs to --http", code=USAGE)
    if args.port is not None and not 0 <= args.port <= 65535:
        raise CommandFailed(f"{args.port} is no port", code=USAGE)
    return asyncio.run(_serve(config, args))


def as_service(config: Config) -> Config:
    """The configuration with each profile's service key in place of the person's. "Mine" stays the person's: a profile
    with a service key must say whose jobs those are. Raises CommandFailed."""
    clusters = {}
    for name, profile in config.clusters.items():
        key = getattr(profile, "service_token_file", None)
        if key is not None:
            if profile.owner is None:
                told = f"cluster {name} has a service_token_file and no owner, so nobody's jobs are yours"
                raise CommandFailed(told, f'Set owner = "your name there" for {name} in the configuration.', USAGE)
            profile = profile.model_copy(update={"token_file": key, "token_env": None})
        clusters[name] = profile
    return config.model_copy(update={"clusters": clusters})


async def _serve(config: Config, args: Namespace) -> int:
    from console.engine import Engine
    from console.mcp_server.server import build
    from console.mcp_server.updates import FeedBus

    async with Engine(config, feeds=False) as engine:
        bus = FeedBus(engine)
        try:
            server = build(engine, bus=bus)
            if args.http or args.port is not None:
                await _over_http(server, args)
            else:
                await server.run_stdio_async()
        finally:
            await bus.close()
    return 0


async def _over_http(server: MCPServer, args: Namespace) -> None:
    from console.mcp_server import http

    place: Path | None = None
    if args.http:
        listening, place = http.unix_socket(Path(args.socket) if args.socket else None)
        application = http.app(server, port=None, needed=None)
        print(f"MCP on {place}", file=sys.stderr, flush=True)
    else:
        try:
            listening = http.loopback_socket(args.port)
        except OSError as error:
            raise CommandFailed(f"port {args.port} cannot be used: {error.strerror}", code=FAILED) from None
        port = listening.getsockname()[1]
        application = http.app(server, port=port, needed=http.token())
        told = f"MCP on http://127.0.0.1:{port}{http.PATH}, with the token in {http.token_file()}"
        print(told, file=sys.stderr, flush=True)
    try:
        await http.serve(application, listening)
    finally:
        listening.close()
        if place is not None:
            place.unlink(missing_ok=True)
