"""Clusters for the tests of adapters/local: the server in this process, or server and workers as real processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from adapters.local import seed
from adapters.local.app import make_app
from adapters.local.cluster import Cluster
from adapters.local.launch import EmbeddedCluster, launch
from adapters.local.server import bind, url_of
from adapters.local.settings import Settings
from tests.local.api import Api, FakeNode, until

QUICK = ("--heartbeat", "0.5", "--down-after", "2", "--lease", "6", "--grace", "1")


class Clock:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Server:
    """The server's application in this process, in a thread, with an injected clock for its leases."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.clock = Clock()
        seed.set_up(folder)
        self.cluster = Cluster(folder, settings, monotonic=self.clock)
        self._socket = bind("127.0.0.1", 0)
        config = uvicorn.Config(make_app(self.cluster), log_level="warning", timeout_graceful_shutdown=1)
        self._uvicorn = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._uvicorn.run, args=([self._socket],), daemon=True)
        self._thread.start()
        until(lambda: self._uvicorn.started or not self._thread.is_alive())
        assert self._uvicorn.started
        self.url = url_of(self._socket)
        self.http = httpx.Client(base_url=self.url, timeout=20)
        self.admin = Api(self.http, (folder / seed.ADMIN_KEY).read_text().strip())
        self.join_token = (folder / seed.JOIN_TOKEN).read_text().strip()

    def stop(self) -> None:
        if not self._thread.is_alive():
            return
        self.http.close()
        self._uvicorn.should_exit = True
        assert self.cluster.db.loop is not None
        self.cluster.db.loop.call_soon_threadsafe(self.cluster.broker.close)
        self._thread.join(20)
        self._socket.close()

    def node(self, name: str = "n1", slots: int = 8, *, beat: bool = True, **facts: object) -> FakeNode:
        node = FakeNode(self.admin, self.join_token, name, slots, **facts)
        if beat:
            node.beat()
        return node


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """A function that starts a server in this process on the test's folder; all are stopped at the end."""
    started: list[Server] = []

    def start(settings: Settings | None = None) -> Server:
        server = Server(tmp_path / "data", settings or Settings(refresh=0.02))
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def server(start_server: Callable[..., Server]) -> Server:
    return start_server()


@pytest.fixture(scope="module")
def shared() -> Iterator[EmbeddedCluster]:
    """Server and two workers of 4 slots as processes, for the tests of one module."""
    with launch(2, 4, serve_options=QUICK) as cluster:
        yield cluster


@pytest.fixture
def live(shared: EmbeddedCluster) -> Iterator[Api]:
    """The administrator's client to the shared cluster; afterwards nothing runs and no quota is left."""
    with httpx.Client(base_url=shared.url, timeout=20) as http:
        api = Api(http, shared.admin_key)
        yield api
        for job in api.get("/xce/v1/jobs?filter=status:PEND|PSUSP|RUN|USUSP"):
            if "arrayindex" not in job:
                api.send("POST", f"/xce/v1/jobs/{job['jobid']}/control", {"action": "kill", "signal": "KILL"})
        for node in api.get("/api/admin/nodes"):
            api.quota(node["name"], None)
            api.post(f"/api/admin/nodes/{node['id']}/enable", {})


@pytest.fixture
def own() -> Iterator[Callable[..., tuple[EmbeddedCluster, Api]]]:
    """A function that starts a cluster of a test's own, whose processes the test may kill."""
    import contextlib

    with contextlib.ExitStack() as stack:

        def start(workers: int = 1, slots: int = 4, *, options: tuple[str, ...] = QUICK) -> tuple[EmbeddedCluster, Api]:
            cluster = stack.enter_context(launch(workers, slots, serve_options=options))
            http = stack.enter_context(httpx.Client(base_url=cluster.url, timeout=20))
            return cluster, Api(http, cluster.admin_key)

        yield start
