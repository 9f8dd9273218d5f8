"""Roles, route by route: who is let in, and that a user's view ends at their own jobs."""

from __future__ import annotations

import re

import pytest

from adapters.local.access import ROLES
from adapters.local.app import ROUTES
from tests.local.api import Api
from tests.local.conftest import Server

PERSONS = ("mcp_readonly", "mcp_operator", "user", "cluster_admin")

# the table of the native wire, written out a second time so that a change of the code's table is noticed
WANTED = {
    "mcp_readonly": "job:view queue:view host:view log:view metrics:view event:subscribe",
    "mcp_operator": "job:view queue:view host:view log:view metrics:view event:subscribe queue:submit job:control",
    "user": "job:view queue:view host:view log:view metrics:view event:subscribe queue:submit job:control",
    "cluster_admin": "job:view queue:view host:view log:view metrics:view event:subscribe queue:submit job:control"
    " host:control rbac:control queue:control",
}


def test_the_table_of_roles_is_that_of_the_wire() -> None:
    assert {role: ROLES[role] - {"job:any"} for role in PERSONS} == {r: set(p.split()) for r, p in WANTED.items()}
    assert "job:any" not in ROLES["user"]
    assert not any(permission.startswith(("job:", "host:", "rbac:")) for permission in ROLES["node"])


@pytest.fixture
def keys(server: Server) -> dict[str, Api]:
    found = {role: server.admin.key_for(f"person-{role}", role) for role in PERSONS}
    return {**found, "node": server.node().api, "join": Api(server.http, server.join_token)}


def test_every_route_lets_in_who_may_and_nobody_else(server: Server, keys: dict[str, Api]) -> None:
    """With an empty body and ids that do not exist: whoever may gets past the door (not 401, not 403)."""
    checked = 0
    for method, path, permission, _ in ROUTES:
        if path.endswith(("/events", "/auth/logout")) or not permission:
            continue
        concrete = re.sub(r"{\w+}", "999999", path)
        assert server.http.request(method, concrete).status_code == 401, path
        for role, api in keys.items():
            status = api.send(method, concrete, {}).status_code
            allowed = permission in ROLES[role]
            assert (status != 403) == allowed, f"{method} {path} as {role}: {status}"
            checked += 1
    assert checked > 100


def test_a_user_sees_and_controls_own_jobs_only(server: Server) -> None:
    ada, bob = server.admin.key_for("ada", "user"), server.admin.key_for("bob", "user")
    of_ada, of_bob = ada.submit(jobname="a"), bob.submit(jobname="b")
    assert [row["jobid"] for row in ada.get("/xce/v1/jobs")] == [of_ada]
    path = f"/xce/v1/jobs/{of_bob}"
    for method, where, body in (
        ("GET", path, None), ("GET", f"{path}/logs", None), ("POST", f"{path}/control", {"action": "kill"}),
        ("PATCH", path, {"cores": 2}),
    ):  # fmt: skip
        assert "no job" in ada.refused(404, method, where, body)
    assert bob.job(of_bob)["status"] == "PEND"
    assert len(server.admin.get("/xce/v1/jobs")) == 2
    assert [row["user"] for row in server.admin.get("/xce/v1/jobs?filter=user:bob")] == ["bob"]


def test_the_environment_of_a_job_is_for_its_owner_and_for_administrators(server: Server) -> None:
    ada = server.admin.key_for("ada", "user")
    job = ada.submit(env={"TOKEN": "s3cret"})
    assert ada.job(job)["env"] == server.admin.job(job)["env"] == {"TOKEN": "s3cret"}
    for role in ("mcp_readonly", "mcp_operator"):
        assert "s3cret" not in str(server.admin.key_for("service", role).job(job))
    assert "s3cret" not in str(server.admin.get("/xce/v1/jobs"))


def test_an_operator_acts_on_jobs_of_others_but_manages_no_nodes_and_no_keys(server: Server) -> None:
    server.node()
    operator = server.admin.key_for("service", "mcp_operator")
    job = server.admin.key_for("ada", "user").submit()
    assert operator.control(job, "stop")["job_status"] == "PSUSP"
    number = server.admin.node("n1")["id"]
    operator.refused(403, "POST", f"/api/admin/nodes/{number}/quota", {"admin_max_slots": 1})
    operator.refused(403, "POST", "/xce/v1/apikeys", {"username": "x", "role_name": "user"})
    assert server.admin.node("n1")["admin_max_slots"] is None


def test_a_node_works_for_itself_only(server: Server) -> None:
    one, two = server.node("n1"), server.node("n2")
    job = server.admin.submit()
    (task,) = one.claim()
    body = {"task_id": job, "lease": task["lease"], "state": "done", "exit_code": 0}
    assert "n2" in two.api.refused(403, "POST", "/api/task/report", body)
    assert "never given" in two.api.refused(403, "POST", "/api/task/report", {**body, "lease": "made-up"})
    assert server.admin.job(job)["status"] == "RUN"
    assert two.beat({"lease": task["lease"], "order": 0})["orders"] == [{"lease": task["lease"], "verb": "drop"}]


def test_a_reissued_token_kills_the_old_one_at_once_and_is_shown_once(server: Server) -> None:
    node = server.node()
    row = server.admin.node("n1")
    made = server.admin.post(f"/api/admin/nodes/{row['id']}/token")["data"]
    node.api.refused(401, "POST", "/api/node/heartbeat", {"active_slots": 0, "max_slots": 8})
    node.api.key = made["token"]
    assert node.beat()["status"] == "ok"
    assert made["token"] not in str(server.admin.get("/api/admin/nodes"))
    again = Api(server.http, server.join_token)
    assert "re-issue" in again.refused(409, "POST", "/api/node/join", {"name": "n1"})


def test_a_revoked_key_ends_at_once(server: Server) -> None:
    ada = server.admin.key_for("ada", "user")
    ada.submit()
    (key,) = [key for key in server.admin.get("/xce/v1/apikeys") if key["owner"] == "ada"]
    assert server.admin.send("DELETE", f"/xce/v1/apikeys/{key['id']}").status_code == 200
    ada.refused(401, "GET", "/xce/v1/jobs")
    server.admin.refused(404, "DELETE", f"/xce/v1/apikeys/{key['id']}")


def test_a_secret_is_answered_once_and_its_repeated_key_is_refused(server: Server) -> None:
    body = {"username": "ada", "role_name": "user"}
    made = server.admin.post("/xce/v1/apikeys", body, idempotency_key="k1")["data"]["key"]
    assert "shown once" in server.admin.refused(409, "POST", "/xce/v1/apikeys", body, idempotency_key="k1")
    assert len([key for key in server.admin.get("/xce/v1/apikeys") if key["owner"] == "ada"]) == 1
    node = server.node()
    path = f"/api/admin/nodes/{server.admin.node('n1')['id']}/token"
    token = server.admin.post(path, {}, idempotency_key="k2")["data"]["token"]
    server.admin.refused(409, "POST", path, {}, idempotency_key="k2")
    node.api.key = token
    assert node.beat()["status"] == "ok", "the repeated key did not re-issue it again"
    for secret in (made, token):
        for file in server.folder.glob("cluster.db*"):
            assert secret.encode() not in file.read_bytes()


def test_passwords_cannot_be_tried_quickly(server: Server) -> None:
    body = {"username": "ada", "password": "guess"}
    statuses = [server.http.post("/xce/v1/auth/logon", json=body).status_code for _ in range(12)]
    assert statuses == [401] * 8 + [429] * 4


def test_the_openapi_document_names_every_route_and_its_permission(server: Server) -> None:
    document = server.admin.send("GET", "/xce/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for method, path, permission, _ in ROUTES:
        operation = document["paths"][path][method.lower()]
        assert operation.get("x-permission", "") == permission
    required = document["paths"]["/xce/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert required["required"] == ["command"]


def test_no_other_origin_is_let_in_by_cors(server: Server) -> None:
    origin = {"origin": "https://elsewhere.example", "authorization": server.admin.key}
    answer = server.http.get("/xce/v1/jobs", headers=origin)
    assert not [name for name in answer.headers if name.startswith("access-control")]
    asked = server.http.options("/xce/v1/jobs", headers=origin | {"access-control-request-method": "POST"})
    assert asked.status_code == 405
