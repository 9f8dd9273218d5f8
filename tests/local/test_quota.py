"""Quotas of nodes end to end: real server, real workers, real jobs."""

from __future__ import annotations

import time
from collections.abc import Callable

from adapters.local.launch import EmbeddedCluster
from tests.local.api import Api, until

Own = Callable[..., tuple[EmbeddedCluster, Api]]


def running(api: Api, node: str = "node1") -> int:
    return sum(job["nodes"] == [node] for job in api.get("/xce/v1/jobs?filter=status:RUN"))


def fill(api: Api, count: int) -> list[int]:
    return [api.submit("sleep 60", jobname=f"fill{n}") for n in range(count)]


def settled(api: Api, count: int) -> None:
    """`count` jobs run on node1, and it stays so over more than two pauses between claims."""
    until(lambda: running(api) == count, what=f"{count} running, not {running(api)}")
    deadline = time.monotonic() + 2.6
    until(lambda: running(api) != count or time.monotonic() > deadline)
    assert running(api) == count


def test_a_quota_limits_what_a_node_takes_and_lifting_it_lets_the_rest_start(own: Own) -> None:
    _, api = own(1, 4)
    assert api.quota("node1", 2)["admin_max_slots"] == 2
    fill(api, 6)
    settled(api, 2)
    assert api.node("node1")["active_slots"] == 2
    assert api.quota("node1", None)["admin_max_slots"] is None
    until(lambda: running(api) == 4)


def test_zero_pauses_a_node_and_kills_nothing(own: Own) -> None:
    _, api = own(1, 4)
    first = fill(api, 2)
    until(lambda: running(api) == 2)
    api.quota("node1", 0)
    fill(api, 2)
    settled(api, 2)
    assert [api.job(number)["status"] for number in first] == ["RUN", "RUN"]
    assert api.get("/xce/v1/hosts")[0]["status"] == "closed_Full"


def test_a_quota_above_the_physical_slots_is_stored_and_takes_effect_as_the_slots(own: Own) -> None:
    _, api = own(1, 3)
    assert api.quota("node1", 50)["admin_max_slots"] == 50
    fill(api, 5)
    settled(api, 3)
    assert api.node("node1")["max_slots"] == 3


def test_below_what_runs_nothing_is_killed_and_nothing_is_claimed_until_it_is_below(own: Own) -> None:
    _, api = own(1, 4)
    first = fill(api, 4)
    until(lambda: running(api) == 4)
    api.quota("node1", 2)
    late = fill(api, 2)
    for number in first[:2]:
        api.control(number, "kill")
        api.wait(number)
    settled(api, 2)
    assert {api.job(number)["status"] for number in late} == {"PEND"}
    api.control(first[2], "kill")
    api.wait(first[2])
    settled(api, 2)
    assert [api.job(number)["status"] for number in (first[3], *late)].count("RUN") == 2
    assert api.job(first[3])["status"] == "RUN"


def test_two_operators_at_once_the_second_is_told(own: Own) -> None:
    _, api = own(1, 4)
    seen = str(api.node("node1")["version"])
    number = api.node("node1")["id"]
    api.quota("node1", 3, if_match=seen)
    message = api.refused(412, "POST", f"/api/admin/nodes/{number}/quota", {"admin_max_slots": 1}, if_match=seen)
    assert "node1" in message and "somebody else" in message
    assert api.node("node1")["admin_max_slots"] == 3


def test_a_quota_survives_a_restart_of_the_server(own: Own) -> None:
    cluster, api = own(1, 4)
    api.quota("node1", 1)
    assert cluster.server is not None
    cluster.server.popen.kill()
    cluster.server.popen.wait()
    cluster.restart_server()
    assert api.node("node1")["admin_max_slots"] == 1
    until(lambda: api.node("node1")["status"] != "offline")
    fill(api, 3)
    settled(api, 1)


def test_a_quota_survives_a_restart_of_the_worker(own: Own) -> None:
    cluster, api = own(1, 4)
    api.quota("node1", 1)
    worker = cluster.workers["node1"]
    worker.end()
    worker.popen.wait(20)
    fill(api, 3)
    cluster.start_worker("node1", 4)
    settled(api, 1)


def test_a_worker_that_has_never_been_heard_of_claims_nothing_beyond_its_quota(own: Own) -> None:
    """The quota is there before the worker's first heartbeat: it is set while the node is away."""
    cluster, api = own(1, 4)
    worker = cluster.workers["node1"]
    until(lambda: api.get("/api/admin/nodes"))
    worker.end()
    worker.popen.wait(20)
    api.quota("node1", 2)
    fill(api, 6)
    cluster.start_worker("node1", 4)
    settled(api, 2)


def test_a_lowered_quota_is_obeyed_at_once_not_with_the_next_heartbeat(own: Own) -> None:
    cluster, api = own(1, 4, options=("--heartbeat", "30", "--lease", "300", "--down-after", "200"))
    until(lambda: api.node("node1")["status"] != "offline")
    api.quota("node1", 1)
    fill(api, 3)
    settled(api, 1)
    api.quota("node1", 3)
    until(lambda: running(api) == 3, 10)
    assert cluster.workers["node1"].popen.poll() is None
