"""Each fact of the native wire that comes from the systems themselves, by name."""

from __future__ import annotations

import json

import pytest

from adapters.local.tokens import API
from tests.local.api import Api
from tests.local.conftest import Server


def test_known_every_answer_is_an_envelope(server: Server) -> None:
    for path in ("jobs", "queues", "hosts", "metrics", "version", "apikeys", "whoami", "history"):
        answer = server.admin.send("GET", f"/xce/v1/{path}")
        assert answer.status_code == 200
        assert set(answer.json()) == {"code", "msg", "data", "count"}
        assert answer.json()["code"] == 200
    refused = server.admin.send("GET", "/xce/v1/jobs/999").json()
    assert set(refused) == {"code", "msg", "data", "count"}


def test_known_http_status_is_200_whatever_the_code_and_only_errors_set_it(server: Server) -> None:
    created = server.admin.send("POST", "/xce/v1/jobs", {"queue": "normal", "resreq": "", "command": "true"})
    assert (created.status_code, created.json()["code"]) == (200, 201)
    controlled = server.admin.send("POST", "/xce/v1/jobs/1/control", {"action": "stop"})
    assert (controlled.status_code, controlled.json()["code"]) == (200, 202)
    missing = server.admin.send("GET", "/xce/v1/jobs/999")
    assert (missing.status_code, missing.json()["code"]) == (404, 404)


def test_known_the_token_stands_alone_and_a_bearer_prefix_is_stripped(server: Server) -> None:
    key = server.admin.key
    assert key.startswith(API) and API == "xce_ak_"
    for header in (key, f"Bearer {key}", f"bearer {key}"):
        assert server.http.get("/xce/v1/whoami", headers={"authorization": header}).status_code == 200
    for header in ("", "Bearer", f"Basic {key}", key[:-1], "xce_ak_"):
        assert server.http.get("/xce/v1/whoami", headers={"authorization": header}).status_code == 401
    assert server.http.get("/xce/v1/whoami").status_code == 401


def test_known_keys_are_not_bound_to_an_address(server: Server) -> None:
    headers = {"authorization": server.admin.key, "x-forwarded-for": "203.0.113.9"}
    assert server.http.get("/xce/v1/whoami", headers=headers).status_code == 200


def test_known_logon_gives_token_path_and_ip_and_logout_ends_it(server: Server) -> None:
    server.admin.post("/xce/v1/users", {"username": "ada", "role_name": "user", "password": "correct horse"})
    good = server.http.post("/xce/v1/auth/logon", json={"username": "ada", "password": "correct horse"})
    assert good.status_code == 200
    assert set(good.json()["data"]) == {"token", "path", "ip"}
    ada = Api(server.http, good.json()["data"]["token"])
    assert ada.key.count(".") == 2, "a JWT"
    assert ada.get("/xce/v1/whoami")["user"] == "ada"
    ada.post("/xce/v1/auth/logout")
    ada.refused(401, "GET", "/xce/v1/whoami")
    for name, password in (("ada", "wrong"), ("nobody-here", "x"), ("ada", "")):
        answer = server.http.post("/xce/v1/auth/logon", json={"username": name, "password": password})
        assert (answer.status_code, answer.json()["msg"]) == (401, "the user or the password is wrong")


def test_known_a_key_is_made_by_the_cluster_admin_only_gives_the_role_and_is_stored_hashed(server: Server) -> None:
    made = server.admin.post("/xce/v1/apikeys", {"username": "bob", "role_name": "mcp_readonly"})["data"]
    bob = Api(server.http, made["key"])
    assert bob.get("/xce/v1/whoami")["role"] == "mcp_readonly"
    message = bob.refused(403, "POST", "/xce/v1/apikeys", {"username": "eve", "role_name": "cluster_admin"})
    assert "rbac:control" in message
    listed = server.admin.get("/xce/v1/apikeys")
    assert {"id", "prefix", "owner", "role", "created", "last_used"} <= set(listed[0])
    assert made["key"] not in json.dumps(listed)
    for path in (server.folder / "cluster.db", server.folder / "cluster.db-wal"):
        assert not path.exists() or made["key"].encode() not in path.read_bytes()
    server.admin.send("DELETE", f"/xce/v1/apikeys/{made['id']}")
    bob.refused(401, "GET", "/xce/v1/whoami")


def test_known_job_rows_and_the_filter_and_fields_of_the_list(server: Server) -> None:
    server.admin.submit("echo a", jobname="one", projectname="p", jobdescription="d", resreq="mem>4")
    server.admin.submit("echo b", jobname="two", queue="short")
    row = server.admin.get("/xce/v1/jobs")[0]
    known = "jobid user status jobname queue projectname command resreq submittime jobdescription"
    assert set(known.split()) <= set(row)
    assert isinstance(row["jobid"], int)
    assert [r["jobname"] for r in server.admin.get("/xce/v1/jobs?filter=queue:short")] == ["two"]
    assert server.admin.get("/xce/v1/jobs?fields=jobid,status") == [
        {"jobid": 1, "status": "PEND"},
        {"jobid": 2, "status": "PEND"},
    ]


def test_known_host_rows_say_what_the_machine_is_and_leave_out_what_is_not_known(server: Server) -> None:
    server.node("n1", facts={"hostType": "LINUX", "hostModel": "x", "maxCpus": 4, "maxMem": 16000, "cores": 4})
    row = server.admin.get("/xce/v1/hosts")[0]
    assert row["hostName"] == "n1" and row["maxMem"] == 16000 and row["status"] == "ok"
    assert "maxSwap" not in row
    assert row["load"] == {"r1m": 0.5}, "indices that are missing are missing, not zero"


@pytest.mark.parametrize("path", ["jobs", "queues", "hosts"])
def test_known_rows_come_plain_or_in_columnar_forms(server: Server, path: str) -> None:
    server.node()
    server.admin.submit()
    plain = server.admin.get(f"/xce/v1/{path}")
    ordered = server.admin.get(f"/xce/v1/{path}?layout=map")
    assert [dict(zip(row["keys"], row["values"], strict=True)) for row in ordered] == plain
    pairs = server.admin.get(f"/xce/v1/{path}?layout=pairs")
    assert [{item["key"]: item["value"] for item in row} for row in pairs] == plain
    columns = server.admin.get(f"/xce/v1/{path}?layout=columns")
    assert {len(column) for column in columns.values()} == {len(plain)}
    assert [columns[name][0] for name in plain[0]] == list(plain[0].values())


def test_known_sizes_are_mb_and_gb_means_1024_mb(server: Server) -> None:
    for text, wanted in (("4096 MB", 4096), ("4 GB", 4096), (512, 512), ("512", 512)):
        assert server.admin.job(server.admin.submit(mem_limit=text))["mem"] == wanted
    assert "MB or GB" in server.admin.refused(422, "POST", "/xce/v1/jobs", {"command": "x", "mem_limit": "4 parsecs"})


def test_known_a_bare_run_limit_means_minutes_and_hh_mm_is_unambiguous(server: Server) -> None:
    assert server.admin.job(server.admin.submit(run_limit=90))["runlimit"] == 5400
    assert server.admin.job(server.admin.submit(run_limit="01:30"))["runlimit"] == 5400
    for bad in ("1:75", "ninety", -1, 1.5, True):
        server.admin.refused(422, "POST", "/xce/v1/jobs", {"command": "x", "run_limit": bad})


def test_known_a_submit_answers_201_with_the_number_and_a_message(server: Server) -> None:
    answer = server.admin.post("/xce/v1/jobs", {"queue": "normal", "resreq": "", "command": "true"})
    assert answer["code"] == 201
    assert set(answer["data"]) == {"jobid", "message"}


def test_known_control_is_kill_stop_resume_and_checkpoint_only_where_listed(server: Server) -> None:
    job = server.admin.submit()
    assert server.admin.control(job, "stop")["job_status"] == "PSUSP"
    assert server.admin.control(job, "resume")["job_status"] == "PEND"
    assert server.admin.control(job, "kill")["job_status"] == "EXIT"
    other = server.admin.submit()
    body = {"action": "checkpoint"}
    assert "cannot checkpoint" in server.admin.refused(422, "POST", f"/xce/v1/jobs/{other}/control", body)
    assert "checkpoint" not in server.admin.get("/xce/v1/version")["parts"]


def test_known_kill_is_sigterm_by_default_stop_is_sigtstp_resume_is_sigcont(server: Server) -> None:
    """By what the worker is told; tests of the supervisor show the signals arriving."""
    node = server.node()
    job = server.admin.submit()
    (task,) = node.claim()
    for action, verb in (("stop", "stop"), ("resume", "cont"), ("kill", "kill")):
        server.admin.control(job, action)
        (order,) = node.beat({"lease": task["lease"], "order": 0, "run_limit": None})["orders"]
        assert order["verb"] == verb
    assert order["value"] == "15"


def test_known_raw_states_are_lsfs_and_exit_after_a_kill_by_owner_or_admin_says_so(server: Server) -> None:
    node = server.node()
    jobs = [server.admin.submit() for _ in range(3)]
    done, failed, killed = node.claim()
    node.report(done)
    node.report(failed, "exit", exit_code=2)
    server.admin.control(jobs[2], "kill")
    node.report(killed, "exit", signal=15, order=1)
    rows = [server.admin.job(number) for number in jobs]
    assert [row["status"] for row in rows] == ["DONE", "EXIT", "EXIT"]
    assert [row.get("endedby") for row in rows] == [None, None, "owner"]
    bob = server.admin.key_for("bob", "user")
    of_bob = bob.submit()
    server.admin.control(of_bob, "kill")
    assert server.admin.job(of_bob)["endedby"] == "admin"


def test_known_there_was_no_modify_endpoint_ours_says_so_in_its_parts(server: Server) -> None:
    assert "modify" in server.admin.get("/xce/v1/version")["parts"]
    job = server.admin.submit()
    changed = server.admin.send("PATCH", f"/xce/v1/jobs/{job}", {"cores": 3, "jobname": "new", "priority": 80})
    assert changed.json()["data"]["cores"] == 3
    assert server.admin.job(job)["jobname"] == "new"


def test_known_events_need_the_permission(server: Server) -> None:
    node = server.node()
    node.api.refused(403, "GET", "/xce/v1/events")


def test_known_the_nodes_list(server: Server) -> None:
    server.node("n1", 6)
    (row,) = server.admin.get("/api/admin/nodes")
    known = "id name status enabled last_heartbeat active_slots max_slots admin_max_slots load version"
    assert set(known.split()) <= set(row)
    assert (row["max_slots"], row["admin_max_slots"]) == (6, None)


def test_known_an_absent_quota_and_an_explicit_null_are_told_apart(server: Server) -> None:
    server.node()
    assert server.admin.quota("n1", 4)["admin_max_slots"] == 4
    path = f"/api/admin/nodes/{server.admin.node('n1')['id']}/quota"
    assert "nothing is changed" in server.admin.refused(400, "POST", path, {})
    assert server.admin.node("n1")["admin_max_slots"] == 4
    assert server.admin.quota("n1", None)["admin_max_slots"] is None
    for bad in (-1, 1.5, "4", True, [], 10**9):
        assert "admin_max_slots" in server.admin.refused(422, "POST", path, {"admin_max_slots": bad})
    assert server.admin.node("n1")["admin_max_slots"] is None
    assert server.admin.quota("n1", 0)["admin_max_slots"] == 0


def test_known_the_heartbeat_answer_holds_the_quota(server: Server) -> None:
    node = server.node()
    assert node.beat()["status"] == "ok" and node.beat()["admin_max_slots"] is None
    server.admin.quota("n1", 4)
    assert node.beat()["admin_max_slots"] == 4


def test_known_nothing_is_claimed_before_the_first_heartbeat_answer(server: Server) -> None:
    node = server.node(beat=False)
    server.admin.submit()
    message = node.api.refused(409, "POST", "/api/task/claim", {"claim": "1", "slots": 4})
    assert "heartbeat" in message
    node.beat()
    assert len(node.claim()) == 1


@pytest.mark.parametrize(("quota", "running", "wanted"), [(None, 0, 8), (3, 0, 3), (3, 2, 1), (0, 0, 0), (50, 0, 8)])
def test_known_a_claim_is_answered_with_at_most_effective_less_active(
    server: Server, quota: int | None, running: int, wanted: int
) -> None:
    node = server.node("n1", 8)
    for _ in range(20):
        server.admin.submit()
    assert len(node.claim(running)) == running
    server.admin.quota("n1", quota)
    assert len(node.claim(100)) == wanted


def test_known_below_what_runs_the_claim_is_empty(server: Server) -> None:
    node = server.node("n1", 8)
    for _ in range(20):
        server.admin.submit()
    assert len(node.claim(5)) == 5
    server.admin.quota("n1", 2)
    assert node.claim(8) == []


def test_known_a_doubled_or_late_report_that_agrees_is_absorbed(server: Server) -> None:
    node = server.node()
    job = server.admin.submit()
    (task,) = node.claim()
    assert node.report(task, "running") == "absorbed"
    assert node.report(task) == "changed"
    before = server.admin.job(job)
    assert node.report(task) == "absorbed"
    assert server.admin.job(job) == before


def test_known_a_late_report_after_a_requeue_is_absorbed_and_not_403(server: Server) -> None:
    node = server.node()
    job = server.admin.submit()
    (old,) = node.claim()
    node.register()  # the worker was restarted and holds nothing: the job is given out again
    node.beat()
    assert server.admin.job(job)["status"] == "PEND"
    assert node.report(old, "exit", exit_code=1) == "absorbed"
    assert server.admin.job(job)["status"] == "PEND"
    (new,) = node.claim()
    assert node.report(old) == "absorbed", "an older lease never changes the newer run"
    assert server.admin.job(job)["status"] == "RUN"
    assert node.report(new) == "changed"
    assert node.report(old) == "absorbed", "it agrees with the state"


def test_known_a_report_that_contradicts_a_final_state_is_409_and_changes_nothing(server: Server) -> None:
    node = server.node()
    job = server.admin.submit()
    (task,) = node.claim()
    node.report(task)
    before = server.admin.job(job)
    for state, fields in (("exit", {"exit_code": 1}), ("running", {}), ("exit", {"signal": 9}), ("suspended", {})):
        body = {"task_id": job, "lease": task["lease"], "state": state, **fields}
        assert "contradicts" in node.api.refused(409, "POST", "/api/task/report", body)
    assert server.admin.job(job) == before


def test_known_running_may_only_follow_pending_and_a_final_state_never_turns_back(server: Server) -> None:
    node = server.node()
    job = server.admin.submit()
    server.admin.control(job, "kill")
    assert node.claim() == []
    (task,) = [task for task in [server.admin.submit()] if task] and node.claim()
    node.report(task, "exit", exit_code=3)
    node.api.refused(409, "POST", "/api/task/report", {**task, "state": "running"})
    assert server.admin.job(task["task_id"])["status"] == "EXIT"
