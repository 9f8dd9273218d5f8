"""The server process: binds, tells that it is ready, serves until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import shutil
import signal
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from adapters.local import seed
from adapters.local.app import make_app
from adapters.local.cluster import Cluster
from adapters.local.lockfile import hold
from adapters.local.problem import StartError
from adapters.local.settings import Settings
from adapters.local.strays import end_strays

SWEEP_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Serve:
    """Where and how to serve. `ready_fd` is written one line with the URL once requests are answered; with the
    end of the pipe `parent_fd` the server ends too, and then removes the folder `sweep`, which its dead parent cannot.
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 0
    settings: Settings = field(default_factory=Settings)
    ready_fd: int | None = None
    parent_fd: int | None = None
    sweep: Path | None = None
    quiet: bool = False


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises StartError that names the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(512)
    except (OSError, OverflowError) as error:
        sock.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise StartError(f"port {port} on {host} is taken by another program: choose another with --port") from None
        raise StartError(f"cannot listen on {host}, port {port}: {getattr(error, 'strerror', None) or error}") from None
    return sock


def remove_abandoned(folder: Path) -> None:
    """Remove a folder once no process carries it in its arguments any more."""
    end_strays(folder, time.monotonic() + SWEEP_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)


def url_of(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(serve: Serve) -> int:
    """Serve until SIGINT or SIGTERM. Returns the exit code; refusals to start are one line on stderr."""
    try:
        with hold(serve.folder, "server"):
            seed.set_up(serve.folder)
            sock = bind(serve.host, serve.port)
            with sock:
                # the event loop and the writer hand work to each other: neither may keep the other waiting for long
                sys.setswitchinterval(0.001)
                cluster = Cluster(serve.folder, serve.settings)
                orphaned = asyncio.run(_serve(serve, sock, cluster))
        if orphaned and serve.sweep is not None:
            remove_abandoned(serve.sweep)
    except StartError as error:
        print(f"pilothouse serve: {error}", file=sys.stderr)
        return 1
    return 0


async def _serve(serve: Serve, sock: socket.socket, cluster: Cluster) -> bool:
    """Returns whether it ended because its parent had died."""
    config = uvicorn.Config(
        make_app(cluster), log_level="warning", access_log=False, server_header=False, date_header=False,
        timeout_graceful_shutdown=5, timeout_keep_alive=75, lifespan="on", ws="none", backlog=512,
    )  # fmt: skip
    server = uvicorn.Server(config)
    # uvicorn waits for open streams before it ends the application: end them as soon as it is told to stop
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True
        cluster.broker.close()
        cluster.release_waiters()

    lost_parent = False

    def orphaned() -> None:
        nonlocal lost_parent
        lost_parent = True
        if serve.parent_fd is not None:
            loop.remove_reader(serve.parent_fd)
        stop()

    with _no_handlers(server):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        if serve.parent_fd is not None:
            loop.add_reader(serve.parent_fd, orphaned)
        serving = asyncio.create_task(server.serve([sock]))
        # uvicorn has no event for it; the socket accepts already, so that nobody waits for this but the announcement
        while not server.started and not serving.done():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        if server.started:
            _announce(serve, url_of(sock))
        await serving
    return lost_parent


@contextlib.contextmanager
def _no_handlers(server: uvicorn.Server):  # type: ignore[no-untyped-def]
    """uvicorn would install its own signal handlers and raise the signal again after the end."""
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    yield


def _announce(serve: Serve, url: str) -> None:
    if serve.ready_fd is not None:
        with os.fdopen(serve.ready_fd, "w") as pipe:
            pipe.write(url + "\n")
    if not serve.quiet:
        _warn_if_open(serve.host)
        print(f"Serving {serve.folder} at {url}", flush=True)
        print(f"Administrator's key: {serve.folder / seed.ADMIN_KEY}; workers join with: "
              f"{serve.folder / seed.JOIN_TOKEN}", flush=True)  # fmt: skip


def _warn_if_open(host: str) -> None:
    """Plain HTTP is for this machine only."""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if not local:
        print(f"pilothouse serve: {host} is not a loopback address: keys travel there in clear text", file=sys.stderr)
