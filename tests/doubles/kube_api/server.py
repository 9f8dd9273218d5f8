"""The double's HTTP server: Starlette under uvicorn, on a free loopback port, in a thread of its own."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
import yaml
from starlette.applications import Starlette
from starlette.routing import Route

from adapters.plan import HttpRequest
from tests.doubles.kube_api.kinds import CORE, KUEUE, VOLCANO, Served
from tests.doubles.kube_api.store import Store


@dataclass
class Fault:
    """What to do to requests instead of answering them. `times` None is for ever.

    Args:
        match: (method, path with query) -> whether it is meant.
        code, body, headers: an answer of this kind.
        silent: do the work, but never answer.
        answer_after: seconds before the answer.
    """

    match: Callable[[str, str], bool]
    code: int | None = None
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    silent: bool = False
    perform: bool = False
    times: int | None = None
    answer_after: float = 0.0


@dataclass(eq=False)
class Link:
    """One open watch: what wakes it, and whether it has been cut."""

    wake: asyncio.Event = field(default_factory=asyncio.Event)
    broken: bool = False

    def cut(self) -> None:
        self.broken = True
        self.wake.set()


class KubeDouble:
    """One running double, and the ways to reach behind the adapter's back."""

    def __init__(self, *, kueue: bool = False, volcano: bool = False) -> None:
        self.store = Store()
        self.kinds: list[Served] = [*CORE, *(KUEUE if kueue else ()), *(VOLCANO if volcano else ())]
        self.streaming_lists = True
        self.knows_streaming_lists = True
        self.mutable_resources = True
        self.bookmark_period = 30.0
        self.silent = threading.Event()
        self.cut_in_mid_line = True
        self.faults: list[Fault] = []
        self.requests: list[HttpRequest] = []
        self.mutations: list[HttpRequest] = []
        self.logs: dict[tuple[str, str], bytes] = {}
        self.previous_logs: dict[tuple[str, str], bytes] = {}
        self.revoked: set[str] = set()
        self.warnings: dict[str, str] = {}
        self.policies: list[Callable[[Served, dict[str, Any]], Any]] = []
        self.date: str | None = None
        self.port = 0
        self.scheme = "http"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._links: set[Link] = set()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def served(self, plural: str) -> Served:
        return next(kind for kind in self.kinds if kind.plural == plural)

    def put(self, plural: str, obj: dict[str, Any], **options: Any) -> dict[str, Any]:
        return self.store.put(self.served(plural), obj, **options)

    def kubeconfig(self, folder: Path, person: str | None = "admin", namespace: str = "team-a", **cluster: Any) -> Path:
        """Write a kubeconfig for one of the people; None signs in as nobody."""
        user: dict[str, Any] = {"token": f"{person}-token"} if person else {}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "double",
            "clusters": [{"name": "double", "cluster": {"server": self.url, **cluster}}],
            "users": [{"name": "me", "user": user}],
            "contexts": [{"name": "double", "context": {"cluster": "double", "user": "me", "namespace": namespace}}],
        }
        path = folder / f"kubeconfig-{person}"
        path.write_text(yaml.safe_dump(config))
        path.chmod(0o600)
        return path

    def cut_watches(self) -> None:
        """Break every open watch, in mid-line where `cut_in_mid_line` says so."""
        loop = self._loop
        assert loop is not None
        for link in list(self._links):
            loop.call_soon_threadsafe(link.cut)

    def watches(self) -> int:
        return len(self._links)

    def link(self) -> Link:
        link = Link()
        self._links.add(link)
        return link

    def forget(self, link: Link) -> None:
        self._links.discard(link)

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop


@contextmanager
def running(
    *, kueue: bool = False, volcano: bool = False, tls: tuple[Path, Path] | None = None, client_ca: Path | None = None
) -> Iterator[KubeDouble]:
    """A double that listens on loopback until the block ends. `tls` is (certificate, key)."""
    from tests.doubles.kube_api.routes import Routes

    double = KubeDouble(kueue=kueue, volcano=volcano)
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
    app = Starlette(routes=[Route("/{path:path}", Routes(double).answer, methods=methods)])
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        log_level="critical",
        lifespan="off",
        date_header=False,
        timeout_graceful_shutdown=1,
        ssl_certfile=str(tls[0]) if tls else None,
        ssl_keyfile=str(tls[1]) if tls else None,
        ssl_ca_certs=str(client_ca) if client_ca else None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if client_ca else ssl.CERT_NONE,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=_serve, args=(server, double), name="kube-double")
    thread.start()
    try:
        deadline = time.monotonic() + 10
        while not server.started:
            if time.monotonic() > deadline or not thread.is_alive():
                raise RuntimeError("the double did not start")
            time.sleep(0.005)
        double.port = server.servers[0].sockets[0].getsockname()[1]
        double.scheme = "https" if tls else "http"
        yield double
    finally:
        double.cut_watches()
        server.should_exit = True
        server.force_exit = True
        thread.join(10)
        assert not thread.is_alive(), "the double did not stop"


def _serve(server: uvicorn.Server, double: KubeDouble) -> None:
    async def main() -> None:
        double.bind(asyncio.get_running_loop())
        await server.serve()

    asyncio.run(main())
