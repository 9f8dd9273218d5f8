"""The event log and its stream: numbers without gaps, resuming, reset, slow subscribers, filters."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx_sse
import pytest

from adapters.local.broker import Broker, Wish
from adapters.local.database import Database, Tx
from adapters.local.settings import Settings
from tests.local.api import Api, until
from tests.local.conftest import Server


def collect(
    server: Server, query: str = "", *, api: Api | None = None, after: int | None = 0, until_id: int
) -> list[httpx_sse.ServerSentEvent]:
    """The events up to number `until_id`, from one connection."""
    headers = {"authorization": (api or server.admin).key} | ({} if after is None else {"last-event-id": str(after)})
    with httpx_sse.connect_sse(server.http, "GET", f"/xce/v1/events{query}", headers=headers) as source:
        found: list[httpx_sse.ServerSentEvent] = []
        for event in source.iter_sse():
            if not event.data:
                continue  # the place where the stream begins
            found.append(event)
            if event.event == "reset" or int(event.id) >= until_id:
                return found
    return found


def quiet(server: Server) -> int:
    """The number of the newest event, once no more come by themselves."""
    seen = [-1, 0]

    def settled() -> bool:
        seen.append(server.cluster.broker.last)
        return len(set(seen[-20:])) == 1

    until(settled)
    return server.cluster.broker.last


def test_numbers_grow_by_one_and_each_event_holds_the_full_row(server: Server) -> None:
    node = server.node()
    job = server.admin.submit("true", jobname="x")
    node.report(node.claim()[0])
    last = quiet(server)
    events = collect(server, until_id=last)
    assert [int(event.id) for event in events] == list(range(1, last + 1))
    assert {event.event for event in events} == {"job", "queue", "host"}
    of_job = [json.loads(event.data) for event in events if event.event == "job"]
    assert of_job[0]["kind"] == "created" and of_job[-1]["kind"] == "finished"
    listed = next(row for row in server.admin.get("/xce/v1/jobs") if row["jobid"] == job)
    assert of_job[-1]["object"] == listed, "an event's row is the row of the list"


def test_the_last_events_add_up_to_a_fresh_list(server: Server) -> None:
    node = server.node("n1", 3)
    rng = random.Random(3)
    for number in range(40):
        server.admin.submit(array="1-3%2") if number % 9 == 0 else server.admin.submit(priority=rng.randrange(100))
        for task in node.claim(2):
            node.report(task, rng.choice(["done", "exit"]), exit_code=None)
    server.admin.quota("n1", 2)
    last = quiet(server)
    state: dict[str, dict[Any, Any]] = {"job": {}, "queue": {}, "host": {}}
    names = {"job": "jobid", "queue": "name", "host": "hostName"}
    for event in collect(server, until_id=last):
        row = json.loads(event.data)["object"]
        state[event.event][row[names[event.event]]] = row
    for kind, path in (("job", "jobs"), ("queue", "queues"), ("host", "hosts")):
        fresh = {row[names[kind]]: row for row in server.admin.get(f"/xce/v1/{path}")}
        assert state[kind] == fresh


@pytest.mark.parametrize("how", ["header", "query"])
def test_resuming_goes_on_with_the_next_number(server: Server, how: str) -> None:
    for _ in range(10):
        server.admin.submit()
    last = quiet(server)
    if how == "header":
        events = collect(server, after=5, until_id=last)
    else:
        events = collect(server, "?after=5", after=None, until_id=last)
    assert [int(event.id) for event in events] == list(range(6, last + 1))


def test_a_stream_without_a_place_begins_now(server: Server) -> None:
    server.admin.submit()
    quiet(server)
    headers = {"authorization": server.admin.key}
    with httpx_sse.connect_sse(server.http, "GET", "/xce/v1/events?kinds=job", headers=headers) as source:
        lines = source.iter_sse()
        with httpx.Client(base_url=server.url) as other:
            second = Api(other, server.admin.key).submit()
        assert json.loads(next(event for event in lines if event.data).data)["object"]["jobid"] == second


@pytest.mark.parametrize("after", ["999999", "nonsense", "-3", "99999999999999999999999"])
def test_a_place_that_is_not_of_this_log_is_answered_with_reset(server: Server, after: str) -> None:
    server.admin.submit()
    last = quiet(server)
    headers = {"authorization": server.admin.key, "last-event-id": after}
    with httpx_sse.connect_sse(server.http, "GET", "/xce/v1/events", headers=headers) as source:
        first = next(event for event in source.iter_sse() if event.data)
    assert (first.event, first.id) == ("reset", str(last))


def test_what_the_log_no_longer_holds_is_answered_with_reset(start_server: Callable[..., Server]) -> None:
    server = start_server(Settings(events_kept=5, refresh=0.02))
    for _ in range(20):
        server.admin.submit()
    quiet(server)
    assert server.cluster.db.loop is not None
    asyncio.run_coroutine_threadsafe(server.cluster._keep_house(), server.cluster.db.loop).result(10)
    server.stop()
    server = start_server()  # the ring of the last life is gone: only the log is left
    last = quiet(server)
    (first,) = collect(server, after=2, until_id=last)
    assert first.event == "reset"
    kept = collect(server, after=last - 3, until_id=last)
    assert [int(event.id) for event in kept] == [last - 2, last - 1, last]


def test_numbers_go_on_after_a_restart_and_after_the_log_was_emptied(start_server: Callable[..., Server]) -> None:
    server = start_server()
    server.admin.submit()
    before = quiet(server)
    server.stop()
    server = start_server(Settings(events_kept=0, refresh=0.02))
    assert quiet(server) > before
    assert server.cluster.db.loop is not None
    asyncio.run_coroutine_threadsafe(server.cluster._keep_house(), server.cluster.db.loop).result(10)
    last = quiet(server)
    server.stop()
    server = start_server()
    assert quiet(server) > last


def test_filters_by_kind_queue_and_owner_and_a_user_gets_own_jobs_only(server: Server) -> None:
    ada, bob = server.admin.key_for("ada", "user"), server.admin.key_for("bob", "user")
    one, two, three = ada.submit(), bob.submit(), bob.submit(queue="short")
    end = server.admin.submit()
    last = quiet(server)

    def jobs(query: str, api: Api | None = None) -> set[int]:
        with httpx.Client(base_url=server.url) as http:
            key = (api or server.admin).key
            headers = {"authorization": key, "last-event-id": "0"}
            found: set[int] = set()
            with httpx_sse.connect_sse(http, "GET", f"/xce/v1/events{query}", headers=headers) as source:
                admin = Api(server.http, server.admin.key)
                marker = (api or (bob if "owner" in query else admin)).submit(queue="short")
                for event in (event for event in source.iter_sse() if event.data):
                    row = json.loads(event.data)["object"]
                    if event.event == "job":
                        found.add(row["jobid"])
                        if row["jobid"] == marker:
                            break
            return {number for number in found if number <= end}

    assert jobs("?kinds=job") >= {one, two, three, end}
    assert jobs("?queue=short") == {three}
    assert jobs("?owner=bob") == {two, three}
    assert jobs("", ada) == {one}
    assert last < quiet(server)
    server.admin.refused(422, "GET", "/xce/v1/events?kinds=weather")


def test_a_revoked_key_gets_nothing_more(server: Server) -> None:
    ada = server.admin.key_for("ada", "mcp_readonly")
    (key,) = [key for key in server.admin.get("/xce/v1/apikeys") if key["owner"] == "ada"]
    headers = {"authorization": ada.key}
    with (
        httpx.Client(base_url=server.url) as http,
        httpx_sse.connect_sse(http, "GET", "/xce/v1/events", headers=headers) as source,
    ):
        server.admin.send("DELETE", f"/xce/v1/apikeys/{key['id']}")
        server.admin.submit()
        assert [event for event in source.iter_sse() if event.data] == []


def test_a_comment_keeps_the_line_alive(start_server: Callable[..., Server]) -> None:
    server = start_server(Settings(keepalive=0.05, refresh=0.02))
    with server.http.stream("GET", "/xce/v1/events", headers={"authorization": server.admin.key}) as answer:
        lines = (line for line in answer.iter_lines() if line.startswith(":"))
        assert next(lines).startswith(": connected")
        assert next(lines).startswith(": alive")
    assert Settings().keepalive == 15.0


def test_a_slow_subscriber_is_reset_and_slows_nobody(start_server: Callable[..., Server]) -> None:
    """It does not read while more is sent than the sockets and the ring hold; then it finds `reset`."""
    server = start_server()
    server.cluster.broker._ring = type(server.cluster.broker._ring)(maxlen=200)
    host, port = server.url.removeprefix("http://").split(":")
    slow = socket.create_connection((host, int(port)))
    slow.sendall(f"GET /xce/v1/events HTTP/1.1\r\nhost: x\r\nauthorization: {server.admin.key}\r\n\r\n".encode())
    assert b"200 OK" in slow.recv(15)
    big = "x" * 60_000
    for _ in range(300):
        server.admin.submit(big)
    assert server.admin.get("/xce/v1/metrics")["jobs"]["PEND"] == 300
    slow.settimeout(20)
    tail = b""
    while b"event: reset" not in tail:
        tail = (tail + slow.recv(65536))[-70_000:]
    slow.close()


class Life:
    """A database with a broker in this loop. `away` is true while its one subscriber is not connected."""

    def __init__(self, folder: Path) -> None:
        self.db = Database(folder)
        self.db.start()
        self.broker = Broker(self.db, 0, ring=300)
        self.db.committed = lambda effects: self.broker.publish(effects.events)
        self.seen: list[int] = []
        self.away = True

    async def write(self, count: int) -> None:
        def run(tx: Tx) -> None:
            for _ in range(count):
                tx.event("job", "updated", {"jobid": 1}, "normal", "ada")

        await self.db.write(run)

    async def close(self) -> None:
        self.broker.close()
        await self.db.close()

    async def read(self, total: int, rng: random.Random) -> None:
        """Read with cuts: after a random number of events, what has come of the block is thrown away."""
        while len(self.seen) < total:
            behind = rng.choice([0, 0, 400])  # sometimes away for longer than the ring holds
            while self.away and self.broker.last < min(total, len(self.seen) + behind):  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            stream = self.broker.subscribe(self.seen[-1] if self.seen else 0, Wish())
            left = rng.randrange(1, 120)
            async for data in stream:
                for block in data.decode().split("\n\n"):
                    assert "event: reset" not in block
                    if "event: job" in block and left > 0:
                        self.seen.append(int(block.split("id: ")[1].split("\n")[0]))
                        left -= 1
                self.away = self.broker.last - len(self.seen) > 250
                if left <= 0 or len(self.seen) >= total:
                    break
            self.away = True
            await stream.aclose()  # type: ignore[attr-defined]

    async def fill(self, total: int, rng: random.Random) -> None:
        """Write, but never so far ahead of a connected subscriber that it counts as slow."""
        while self.broker.last < total:
            while not self.away and self.broker.last - len(self.seen) > 200:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            await self.write(min(rng.randrange(1, 30), total - self.broker.last))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "data"


async def test_no_event_is_lost_or_doubled_over_cuts_at_random(folder: Path) -> None:
    life, total = Life(folder), 2000
    await asyncio.wait_for(
        asyncio.gather(life.read(total, random.Random(11)), life.fill(total, random.Random(12))), 60
    )  # fmt: skip
    await life.close()
    assert life.seen == list(range(1, total + 1))


async def test_a_write_that_fails_leaves_no_event_and_no_gap(folder: Path) -> None:
    life = Life(folder)
    await life.write(3)

    def broken(tx: Tx) -> None:
        tx.event("job", "updated", {}, None, None)
        raise ValueError("no")

    results = await asyncio.gather(*(life.db.write(broken) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(result, ValueError) for result in results)
    await life.write(1)
    assert life.broker.last == 4
    await life.close()
