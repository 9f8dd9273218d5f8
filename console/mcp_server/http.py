"""MCP over HTTP for clients on this machine: a unix socket in a folder of the owner's alone, or loopback with a token.

On a login node every user reaches loopback, so the token is never optional there. Host and Origin are checked on both,
so that no web page can use a browser to get in.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from console.audit import AuditError, state_folder
from console.audit.files import prepare_folder, read_private, replace_private

PATH = "/mcp"
SOCKET_NAME = "mcp.sock"


class TokenOnly:
    """Lets a request through that carries the token; the others get 401 and nothing else."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "").encode("utf-8", "replace")
            if not hmac.compare_digest(given, self._expected):
                told = {"error": "A token is needed: Authorization: Bearer …"}
                await JSONResponse(told, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
                return
        await self._app(scope, receive, send)


def token_file() -> Path:
    return state_folder() / "mcp" / "token"


def token() -> str:
    """The token of this person on this host, made once; 0600. Raises AuditError where the file is not private."""
    path = token_file()
    prepare_folder(path.parent)
    try:
        return read_private(path).decode().strip()
    except FileNotFoundError:
        made = secrets.token_urlsafe(32)
        replace_private(path, made.encode() + b"\n")
        return made


def loopback_socket(port: int) -> socket.socket:
    """A listening socket on 127.0.0.1; port 0 takes a free one. Raises OSError."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
    except OSError:
        listening.close()
        raise
    return listening


def unix_socket(path: Path | None = None) -> tuple[socket.socket, Path]:
    """A listening socket in a 0700 folder of ours; a dead one is replaced, a live one is not. Raises AuditError."""
    place = path if path is not None else _runtime_folder() / SOCKET_NAME
    prepare_folder(place.parent)
    if place.is_socket():
        _remove_dead(place)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listening.bind(str(place))
    except OSError as error:
        listening.close()
        raise AuditError(f"{place} cannot be used: {error.strerror}.", "Name another one with --socket.") from error
    finally:
        os.umask(before)
    return listening, place


def _runtime_folder() -> Path:
    given = os.environ.get("XDG_RUNTIME_DIR")
    return Path(given) / "pilothouse" if given else state_folder() / "mcp"


def _remove_dead(place: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(place))
        except OSError:
            place.unlink(missing_ok=True)
        else:
            raise AuditError(f"Another server listens on {place}.", "Name another one with --socket.")


def app(server: MCPServer, *, port: int | None, needed: str | None) -> ASGIApp:
    """The ASGI application. `port`: that of the loopback socket, None for a unix socket; `needed`: the token."""
    names = ("127.0.0.1", "localhost")
    hosts = [f"{name}:{port}" for name in names] if port is not None else [*names, *(f"{n}:*" for n in names)]
    security = TransportSecuritySettings(
        allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts] if port is not None else []
    )
    inner: ASGIApp = server.streamable_http_app(streamable_http_path=PATH, transport_security=security)
    return TokenOnly(inner, needed) if needed is not None else inner


class _Server(uvicorn.Server):
    """Ends at a signal and returns; uvicorn's own would raise the signal again and leave the socket's file behind."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        for number in signals:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)


async def serve(application: ASGIApp, listening: socket.socket) -> None:
    """Serve until the process is told to end; nothing is written to standard output."""
    config = uvicorn.Config(application, log_level="warning", access_log=False, lifespan="on", proxy_headers=False)
    await _Server(config).serve(sockets=[listening])
