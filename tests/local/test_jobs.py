"""Jobs on the server: submission, order, limits, arrays, dependencies, changes, what a person is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from uuid import uuid4

import pytest

from adapters.local.settings import Settings
from tests.local.api import until
from tests.local.conftest import Server


@pytest.mark.parametrize(
    ("fields", "status", "word"),
    [
        ({"command": ""}, 422, "command"), ({"command": "a\0b"}, 422, "command"), ({"command": 7}, 422, "command"),
        ({"queue": "nope"}, 404, "nope"), ({"cores": 0}, 422, "cores"), ({"cores": 1.5}, 422, "cores"),
        ({"cores": True}, 422, "cores"), ({"gpus": -1}, 422, "gpus"), ({"nodes": 2}, 422, "one node"),
        ({"priority": 101}, 422, "priority"), ({"hold": "yes"}, 422, "hold"), ({"env": {"A=B": "x"}}, 422, "env"),
        ({"env": ["x"]}, 422, "env"), ({"jobname": "a\x1b[2J"}, 422, "control character"), ({"typo": 1}, 422, "typo"),
        ({"array": "5-1"}, 422, "array"), ({"array": "1-3%0"}, 422, "array"), ({"array": "1-3,2"}, 422, "twice"),
        ({"array": "1-200000"}, 422, "elements"), ({"depends_on": "afterok:99"}, 422, "job 99"),
        ({"depends_on": "sometime:1"}, 422, "sometime"), ({"run_limit": "00:20", "queue": "short"}, 422, "00:10"),
        ({"jobname": "x" * 2000}, 422, "longer"), ({"jobname": "\ud800"}, 422, "control character"),
    ],
)  # fmt: skip
def test_a_submission_that_cannot_be_is_refused_with_the_reason(
    server: Server, fields: dict[str, object], status: int, word: str
) -> None:
    body = json.dumps({"command": "true", **fields})
    answer = server.http.post("/xce/v1/jobs", content=body, headers={"authorization": server.admin.key})
    assert (answer.status_code, word in answer.json()["msg"]) == (status, True), answer.text
    assert server.admin.get("/xce/v1/jobs") == []


@pytest.mark.parametrize("raw", [b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(server: Server, raw: bytes) -> None:
    answer = server.http.post("/xce/v1/jobs", content=raw, headers={"authorization": server.admin.key})
    assert answer.status_code == 400


def test_a_body_that_is_too_large_is_refused(start_server: Callable[..., Server]) -> None:
    server = start_server(Settings(body_limit=10_000))
    assert "10000 bytes" in server.admin.refused(413, "POST", "/xce/v1/jobs", {"command": "x" * 20_000})


def test_too_many_requests_are_slowed_down(start_server: Callable[..., Server]) -> None:
    server = start_server(Settings(requests_per_second=5))
    statuses = [server.admin.send("GET", "/xce/v1/whoami").status_code for _ in range(30)]
    assert statuses.count(200) == 20 and set(statuses[20:]) == {429}
    server.clock.now += 1
    assert server.admin.send("GET", "/xce/v1/whoami").status_code == 200


def test_a_user_with_too_many_waiting_jobs_is_refused(start_server: Callable[..., Server]) -> None:
    server = start_server(Settings(max_pending=3))
    for _ in range(3):
        server.admin.submit()
    assert "limit" in server.admin.refused(429, "POST", "/xce/v1/jobs", {"command": "true"})


def test_the_same_idempotency_key_makes_one_job_and_is_found_by_it(server: Server) -> None:
    key = str(uuid4())
    body = {"command": "true", "queue": "normal", "resreq": ""}
    first = server.admin.post("/xce/v1/jobs", body, idempotency_key=key)
    assert server.admin.post("/xce/v1/jobs", body, idempotency_key=key) == first
    found = server.admin.get(f"/xce/v1/jobs?filter=idempotency_key:{key}")
    assert [row["jobid"] for row in found] == [first["data"]["jobid"]]
    other = {**body, "command": "false"}
    assert "another request" in server.admin.refused(422, "POST", "/xce/v1/jobs", other, idempotency_key=key)
    assert len(server.admin.get("/xce/v1/jobs")) == 1


def test_a_refused_request_leaves_its_key_free(server: Server) -> None:
    key = str(uuid4())
    server.admin.refused(404, "POST", "/xce/v1/jobs", {"command": "true", "queue": "nope"}, idempotency_key=key)
    assert server.admin.post("/xce/v1/jobs", {"command": "true"}, idempotency_key=key)["code"] == 201


def test_keys_of_two_users_do_not_meet(server: Server) -> None:
    ada, bob = server.admin.key_for("ada", "user"), server.admin.key_for("bob", "user")
    one = ada.post("/xce/v1/jobs", {"command": "true"}, idempotency_key="k")["data"]["jobid"]
    two = bob.post("/xce/v1/jobs", {"command": "true"}, idempotency_key="k")["data"]["jobid"]
    assert one != two


def test_queues_then_priorities_then_age_decide_who_is_next(server: Server) -> None:
    node = server.node("n1", 8)
    late = server.admin.submit(queue="long", priority=100)
    third = server.admin.submit(priority=50)
    second = server.admin.submit(priority=60)
    first = server.admin.submit(queue="short", priority=0)
    assert [task["task_id"] for task in node.claim(8)] == [first, second, third, late]


def test_a_job_takes_as_many_slots_as_cores_and_smaller_ones_fill_the_gap(server: Server) -> None:
    node = server.node("n1", 4)
    big, small, other = server.admin.submit(cores=3), server.admin.submit(cores=2), server.admin.submit(cores=1)
    assert [task["task_id"] for task in node.claim(4)] == [big, other]
    assert server.admin.node("n1")["active_slots"] == 4
    assert server.admin.job(small)["status"] == "PEND"


def test_a_job_that_has_waited_long_is_not_overtaken_for_ever(start_server: Callable[..., Server]) -> None:
    server = start_server(Settings(starved=0.0))
    node = server.node("n1", 4)
    running = server.admin.submit(cores=2)
    (task,) = node.claim()
    big = server.admin.submit(cores=4)
    server.admin.submit(cores=1)
    assert node.claim() == [], "two slots are free, and kept for the job that needs four"
    node.report(task)
    assert [task["task_id"] for task in node.claim()] == [big]
    assert server.admin.job(running)["status"] == "DONE"


def test_memory_and_gpus_are_given_out_once(server: Server) -> None:
    node = server.node("n1", 8, mem_mb=1000, gpus=1)
    fits, _ = server.admin.submit(mem_limit="600 MB"), server.admin.submit(mem_limit="600 MB")
    gpu, _ = server.admin.submit(gpus=1), server.admin.submit(gpus=1)
    assert [task["task_id"] for task in node.claim(8)] == [fits, gpu]


def test_why_a_job_waits_is_said_in_words(server: Server) -> None:
    node = server.node("n1", 4, mem_mb=1000, users=["root", "ada"])
    wanted = {
        server.admin.submit(cores=16): "Needs 16 slots; the largest node has 4",
        server.admin.submit(mem_limit="64 GB"): "Needs 65536 MB of memory; the largest node has 1000",
        server.admin.submit(gpus=1): "Needs 1 GPUs; the largest node has 0",
        server.admin.submit(hold=True): "Held by its owner",
        server.admin.key_for("zoe", "user").submit(): (
            "No node runs jobs of zoe: its worker has to run as root or as zoe"
        ),
    }
    for job, reason in wanted.items():
        until(lambda job=job, reason=reason: server.admin.job(job).get("pendreason") == reason)  # type: ignore[misc]
    server.admin.quota("n1", 0)
    job = server.admin.submit()
    quota = "Needs 1 slots; the quotas of the nodes allow 0"
    until(lambda: server.admin.job(job)["pendreason"] == quota)
    server.admin.post("/xce/v1/queues/normal/control", {"action": "inactivate", "reason": "maintenance"})
    until(lambda: server.admin.job(job)["pendreason"] == "Queue normal starts no jobs: maintenance")
    node.beat(leaving=True)
    server.admin.post("/xce/v1/queues/normal/control", {"action": "activate"})
    until(lambda: server.admin.job(job)["pendreason"] == "No node answers")


def test_a_closed_queue_takes_no_job_and_an_inactive_one_starts_none(server: Server) -> None:
    node = server.node()
    waiting = server.admin.submit()
    row = server.admin.post("/xce/v1/queues/normal/control", {"action": "close", "reason": "moving"})["data"]
    assert row["status"] == "Closed:Active"
    assert "moving" in server.admin.refused(409, "POST", "/xce/v1/jobs", {"command": "true"})
    server.admin.post("/xce/v1/queues/normal/control", {"action": "inactivate"})
    assert node.claim() == []
    server.admin.post("/xce/v1/queues/normal/control", {"action": "activate"})
    assert [task["task_id"] for task in node.claim()] == [waiting]


def test_limits_of_a_queue_hold(start_server: Callable[..., Server]) -> None:
    server = start_server()
    (server.folder / "queues.toml").write_text(
        'version = 1\n[queues.normal]\nmax_slots = 3\nuser_slots = 2\ndefault_mem = "100 MB"\nrun_limit = "00:30"\n'
    )
    server.stop()
    server = start_server()
    node = server.node("n1", 8)
    ada, bob = server.admin.key_for("ada", "user"), server.admin.key_for("bob", "user")
    jobs = [ada.submit() for _ in range(4)] + [bob.submit() for _ in range(4)]
    assert [task["task_id"] for task in node.claim(8)] == [jobs[0], jobs[1], jobs[4]]
    row = ada.job(jobs[2])
    assert (row["mem"], row["runlimit"]) == (100, 1800)
    (queue,) = server.admin.get("/xce/v1/queues")
    assert (queue["name"], queue["maxslots"]) == ("normal", 3), "queues without jobs leave with their entry"


def test_an_array_is_one_row_until_its_elements_start_and_respects_its_throttle(server: Server) -> None:
    node = server.node("n1", 8)
    array = server.admin.submit(array="1-9:2%2", jobname="sweep")
    assert server.admin.job(array)["arrayrange"] == "1-9:2%2"
    assert server.admin.get("/xce/v1/metrics")["jobs"] == {"PEND": 5}
    first = node.claim(8)
    assert [(task["array_id"], task["array_index"]) for task in first] == [(array, 1), (array, 3)]
    assert node.claim(8) == []
    row = server.admin.job(array)
    assert (row["status"], row["arrayrange"], row["arrayrunning"]) == ("PEND", "5-9:2%2", 2)
    assert "2 elements" in row["pendreason"]
    for task in first:
        node.report(task)
    while tasks := node.claim(8):
        assert len(tasks) <= 2
        for task in tasks:
            node.report(task, "exit" if task["array_index"] == 9 else "done", exit_code=int(task["array_index"] == 9))
    row = server.admin.job(array)
    assert (row["status"], row["arraydone"], row["arrayexit"], row["arraypending"]) == ("EXIT", 4, 1, 0)
    elements = server.admin.get(f"/xce/v1/jobs?filter=arrayid:{array}")
    assert sorted(row["arrayindex"] for row in elements) == [1, 3, 5, 7, 9]


def test_ten_thousand_elements_are_one_row_and_one_event(server: Server) -> None:
    before = server.cluster.broker.last
    server.admin.submit(array="1-10000%4")
    assert server.admin.get("/xce/v1/metrics")["jobs"] == {"PEND": 10_000}
    assert len(server.admin.get("/xce/v1/jobs")) == 1
    assert server.cluster.broker.last - before < 20


def test_cancelling_an_array_takes_out_what_waits_and_orders_the_rest_to_end(server: Server) -> None:
    node = server.node("n1", 2)
    array = server.admin.submit(array="1-100")
    tasks = node.claim(2)
    server.admin.control(array, "kill")
    assert node.claim(2) == []
    orders = node.beat(*({"lease": t["lease"], "order": 0, "run_limit": None} for t in tasks))["orders"]
    assert {order["verb"] for order in orders} == {"kill"}
    for task in tasks:
        node.report(task, "exit", signal=15, order=1)
    row = server.admin.job(array)
    assert (row["status"], row["endedby"], row["arraypending"], row["arrayexit"]) == ("EXIT", "owner", 0, 2)


@pytest.mark.parametrize(
    ("kind", "ends", "starts"),
    [("afterok", "done", True), ("afterok", "exit", False), ("afternotok", "exit", True), ("afternotok", "done", False),
     ("afterany", "done", True), ("afterany", "exit", True)],
)  # fmt: skip
def test_dependencies_are_honoured_and_what_can_never_be_is_said(
    server: Server, kind: str, ends: str, starts: bool
) -> None:
    node = server.node()
    first = server.admin.submit()
    second = server.admin.submit(depends_on=f"{kind}:{first}")
    (task,) = node.claim()
    assert task["task_id"] == first
    assert server.admin.job(second)["pendreason"] == f"Waiting for job {first} ({kind})"
    node.report(task, ends, exit_code=int(ends == "exit"))
    assert [task["task_id"] for task in node.claim()] == ([second] if starts else [])
    if not starts:
        assert server.admin.job(second)["pendreason"].startswith(f"Can never start: {kind} of job {first}")


def test_a_dependency_on_an_array_waits_for_all_of_it_and_after_for_its_start(server: Server) -> None:
    node = server.node("n1", 2)
    array = server.admin.submit(array="1-3")
    whole, begun = server.admin.submit(depends_on=[{"id": array, "kind": "afterok"}]), server.admin.submit(
        depends_on=f"after:{array}", priority=0
    )  # fmt: skip
    tasks = node.claim(2)
    assert server.admin.job(begun)["pendreason"] != f"Waiting for job {array} (after)"
    for task in tasks:
        node.report(task)
    (last, other) = node.claim(2)
    assert {last["array_index"], other["task_id"]} == {3, begun}
    node.report(last)
    node.report(other)
    assert [task["task_id"] for task in node.claim()] == [whole]


def test_a_requeued_job_opens_again_what_depends_on_it(server: Server) -> None:
    node = server.node()
    first = server.admin.submit()
    second = server.admin.submit(depends_on=f"afterok:{first}")
    node.report(node.claim()[0], "exit", exit_code=1)
    assert "Can never start" in server.admin.job(second)["pendreason"]
    server.admin.control(first, "requeue")
    assert server.admin.job(second)["pendreason"] == f"Waiting for job {first} (afterok)"
    node.report(node.claim()[0])
    assert [task["task_id"] for task in node.claim()] == [second]


def test_hold_and_release(server: Server) -> None:
    node = server.node()
    job = server.admin.submit(hold=True)
    assert server.admin.job(job)["status"] == "PSUSP"
    assert node.claim() == []
    server.admin.control(job, "resume")
    assert [task["task_id"] for task in node.claim()] == [job]


def test_a_running_job_is_requeued_by_an_order(server: Server) -> None:
    node = server.node()
    job = server.admin.submit()
    (task,) = node.claim()
    server.admin.control(job, "requeue")
    (order,) = node.beat({"lease": task["lease"], "order": 0, "run_limit": None})["orders"]
    assert order["verb"] == "requeue"
    node.report(task, "exit", signal=15, order=order["order"])
    row = server.admin.job(job)
    assert (row["status"], row["pendreason"]) == ("PEND", "Requeued by its owner")
    assert server.admin.job(job)["runs"][0]["outcome"] == "requeued"


def test_an_order_that_came_too_late_does_not_change_how_the_job_ended(server: Server) -> None:
    node = server.node()
    job = server.admin.submit()
    (task,) = node.claim()
    server.admin.control(job, "kill")
    node.report(task, "done", order=0)
    row = server.admin.job(job)
    assert (row["status"], row.get("endedby")) == ("DONE", None)


def test_what_is_over_or_being_ended_is_left_alone(server: Server) -> None:
    node = server.node()
    job = server.admin.submit()
    (task,) = node.claim()
    server.admin.control(job, "kill")
    path = f"/xce/v1/jobs/{job}/control"
    assert "being ended" in server.admin.refused(409, "POST", path, {"action": "stop"})
    node.report(task, "exit", signal=15, order=1)
    for action in ("kill", "stop", "resume"):
        assert "is over" in server.admin.refused(409, "POST", path, {"action": action})
    for body in ({"action": "dance"}, {"action": "kill", "signal": "SIGFOO"}, {}):
        server.admin.refused(409 if body.get("action") == "kill" and "signal" not in body else 422, "POST", path, body)


def test_modify_reaches_pending_jobs_and_the_run_limit_of_running_ones(server: Server) -> None:
    node = server.node()
    job = server.admin.submit()
    path = f"/xce/v1/jobs/{job}"
    for body, status in (({}, 400), ({"typo": 1}, 422), ({"queue": "nope"}, 404), ({"cores": 0}, 422)):
        server.admin.refused(status, "PATCH", path, body)
    server.admin.send("PATCH", path, {"queue": "short", "mem_limit": "5 MB", "run_limit": "00:05"})
    row = server.admin.job(job)
    assert (row["queue"], row["mem"], row["runlimit"]) == ("short", 5, 300)
    assert "00:10" in server.admin.refused(422, "PATCH", path, {"run_limit": "01:00"})
    (task,) = node.claim()
    assert "only its run limit" in server.admin.refused(409, "PATCH", path, {"cores": 2})
    assert server.admin.send("PATCH", path, {"run_limit": "00:09"}).status_code == 200
    (order,) = node.beat({"lease": task["lease"], "order": 0, "run_limit": 300})["orders"]
    assert (order["verb"], order["value"]) == ("limit", 540)


def test_finished_jobs_leave_the_list_and_stay_in_the_history(start_server: Callable[..., Server]) -> None:
    server = start_server(Settings(finished_kept=0.0))
    node = server.node()
    job = server.admin.submit()
    node.report(node.claim()[0], cpu_seconds=1.5, max_memory_bytes=12_000_001)
    assert server.cluster.db.loop is not None
    import asyncio

    asyncio.run_coroutine_threadsafe(server.cluster._keep_house(), server.cluster.db.loop).result(10)
    assert server.admin.get("/xce/v1/jobs") == []
    (row,) = server.admin.get("/xce/v1/history")
    assert (row["jobid"], row["cputime"], row["maxmem"], row["status"]) == (job, 1.5, 13, "DONE")
    assert "elapsed" in row
    assert server.admin.get("/xce/v1/history?since=2999-01-01T00:00:00Z") == []
    assert server.admin.job(job)["jobid"] == job


def test_pages_of_the_list(server: Server) -> None:
    for _ in range(7):
        server.admin.submit()
    answer = server.admin.send("GET", "/xce/v1/jobs?limit=3&after=2").json()
    assert [row["jobid"] for row in answer["data"]] == [3, 4, 5]
    assert [row["jobid"] for row in server.admin.get("/xce/v1/jobs?limit=2&offset=5")] == [6, 7]
    for bad in ("limit=-1", "limit=x", "filter=typo:1", "filter=status", "layout=cube"):
        assert server.admin.send("GET", f"/xce/v1/jobs?{bad}").status_code in (400, 422)


def test_hostile_names_travel_as_they_are(server: Server) -> None:
    name = "‮evil‬ [red]x[/] ' OR 1=1 -- é"
    job = server.admin.submit(jobname=name)
    assert server.admin.job(job)["jobname"] == name
    assert server.admin.get("/xce/v1/jobs?filter=jobname:' OR 1=1 --") == []
