"""Plans of the native writer: the exact requests, what they say, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from adapters.base import Conflict, Identity, Invalid, NotFound, Unsupported
from adapters.intents import INTENTS, HttpRequest, Plan, Target
from adapters.model import Dependency, JobSpec, Ref
from adapters.native.probe import NEEDS, PART_OF, Found
from adapters.native.token import fixed_token
from adapters.native.writer import NativeWriter

ALL_PARTS = frozenset({"modify", "quota", "requeue", "checkpoint", "keys", "queue_control"})
EVERYTHING = Identity("root", "cluster_admin", True, frozenset(NEEDS.values()))


class Seen:
    """A double of the reader: objects as a test says they are."""

    def __init__(
        self, *targets: Target, parts: frozenset[str] = ALL_PARTS, identity: Identity | None = EVERYTHING
    ) -> None:
        self._targets = {target.ref: target for target in targets}
        self._found = Found(parts, "1.0", identity=identity)

    async def probed(self) -> Found:
        return self._found

    async def observe(self, refs: Sequence[Ref]) -> Mapping[Ref, Target | None]:
        return {ref: self._targets.get(ref) for ref in refs}


def job(id: str, state: str = "pending", raw: str = "PEND", **more: Any) -> Target:
    finished = state in ("succeeded", "failed", "cancelled")
    values = {"raw_status": raw, "queue": "normal", "cores": 1, "memory_bytes": 10**9, "walltime_seconds": 3600}
    return Target(Ref("c", "job", id), "ann", state, f"job {id}", None, values | more, finished)


def node(name: str = "n1", **more: Any) -> Target:
    values = {"slots_quota": None, "slots_total": 8, "slots_used": 3, "enabled": True, "reason": None, "node_id": "5"}
    return Target(Ref("c", "node", name), None, "busy", name, "4", values | more)


def queue() -> Target:
    return Target(Ref("c", "queue", "normal"), None, "active", "normal", None, {"raw_status": "Open:Active"})


async def plan(verb: str, *targets: Target, seen: Seen | None = None, **more: Any) -> Plan:
    refs = {"refs": tuple(target.ref for target in targets)} if targets else {}
    intent = INTENTS[verb].model_validate({"cluster": "c", **refs, **more})
    writer = NativeWriter("c", "http://127.0.0.1:9", fixed_token("key"), reader=seen or Seen(*targets))  # type: ignore[arg-type]
    try:
        return await writer.plan(intent)
    finally:
        await writer.close()


def request(made: Plan, index: int = 0) -> HttpRequest:
    found = made.steps[index].request
    assert isinstance(found, HttpRequest)
    return found


def body(made: Plan, index: int = 0) -> Any:
    return json.loads(request(made, index).body or b"null")


JOB = job("7")
CASES: list[tuple[str, Target, dict[str, Any], str, str, Any]] = [
    ("cancel", JOB, {}, "POST", "/xce/v1/jobs/7/control", {"action": "kill"}),
    ("cancel", JOB, {"signal": "USR1"}, "POST", "/xce/v1/jobs/7/control", {"action": "kill", "signal": "USR1"}),
    ("hold", JOB, {}, "POST", "/xce/v1/jobs/7/control", {"action": "stop"}),
    ("release", job("7", "pending", "PSUSP"), {}, "POST", "/xce/v1/jobs/7/control", {"action": "resume"}),
    ("suspend", job("7", "running", "RUN"), {}, "POST", "/xce/v1/jobs/7/control", {"action": "stop"}),
    ("resume", job("7", "suspended", "USUSP"), {}, "POST", "/xce/v1/jobs/7/control", {"action": "resume"}),
    ("requeue", job("7", "failed", "EXIT"), {}, "POST", "/xce/v1/jobs/7/control", {"action": "requeue"}),
    ("checkpoint", job("7", "running", "RUN"), {}, "POST", "/xce/v1/jobs/7/control", {"action": "checkpoint"}),
    ("modify", JOB, {"name": "x", "priority": 9}, "PATCH", "/xce/v1/jobs/7", {"jobname": "x", "priority": 9}),
    ("modify", job("7", "running", "RUN"), {"walltime_seconds": 61}, "PATCH", "/xce/v1/jobs/7", {"run_limit": "00:02"}),
    ("set_node_quota", node(), {"slots": 4}, "POST", "/api/admin/nodes/5/quota", {"admin_max_slots": 4}),
    ("set_node_quota", node(), {"slots": 0}, "POST", "/api/admin/nodes/5/quota", {"admin_max_slots": 0}),
    ("set_node_quota", node(), {"slots": None}, "POST", "/api/admin/nodes/5/quota", {"admin_max_slots": None}),
    ("drain", node(), {"reason": "fan"}, "POST", "/api/admin/nodes/5/disable", {"reason": "fan"}),
    ("undrain", node(enabled=False), {}, "POST", "/api/admin/nodes/5/enable", {}),
    ("reissue_token", node(), {}, "POST", "/api/admin/nodes/5/token", {}),
    ("open_queue", queue(), {}, "POST", "/xce/v1/queues/normal/control", {"action": "open"}),
    (
        "close_queue",
        queue(),
        {"reason": "r"},
        "POST",
        "/xce/v1/queues/normal/control",
        {"action": "close", "reason": "r"},
    ),
]


@pytest.mark.parametrize(("verb", "target", "more", "method", "path", "expected"), CASES)
async def test_the_request_of_each_intent(
    verb: str, target: Target, more: Any, method: str, path: str, expected: Any
) -> None:
    made = await plan(verb, target, **more)
    assert (request(made).method, request(made).path, body(made)) == (method, path, expected)
    assert made.steps[0].targets == (target,) and made.changes
    key = dict(request(made).headers)["Idempotency-Key"]
    assert key == str(made.intent.intent_id) or len(made.steps) > 1


def test_every_verb_of_the_wire_is_among_the_cases() -> None:
    assert {case[0] for case in CASES} | {"submit", "create_key", "revoke_key"} == set(NEEDS)


async def test_known_a_quota_of_none_is_an_explicit_null() -> None:
    assert request(await plan("set_node_quota", node(), slots=None)).body == b'{"admin_max_slots":null}'


async def test_a_quota_carries_the_version_that_was_seen() -> None:
    made = await plan("set_node_quota", node(), slots=2)
    assert dict(request(made).headers)["If-Match"] == "4" and made.undo == "Set the quota of n1 to no limit."
    with pytest.raises(Conflict) as caught:
        await plan("set_node_quota", node(slots_quota=6), slots=2, if_version="3")
    assert "it is 6 now" in caught.value.message and caught.value.details["version"] == "4"


async def test_a_quota_says_what_follows_from_it() -> None:
    assert any("nothing is ended" in text for text in (await plan("set_node_quota", node(), slots=2)).warnings)
    assert any("paused" in text for text in (await plan("set_node_quota", node(), slots=0)).warnings)
    assert any("works as 8" in text for text in (await plan("set_node_quota", node(), slots=12)).warnings)
    assert (await plan("set_node_quota", node(), slots=5)).warnings == ()


async def test_a_submission_says_all_that_was_asked_for() -> None:
    spec = JobSpec(
        command=("echo", "it's", "a b"), name="n", queue="q", cores=2, gpus=1, memory_bytes=4_000_000_001,
        walltime_seconds=3601, array="1-9%2", dependencies=(Dependency("5", "afterok"),), env={"A": "b"}, cwd="/w",
        output="o", error="e", hold=True, account="p", extensions={"priority": 3, "description": "d", "resreq": "r"},
    )  # fmt: skip
    made = await plan("submit", spec=spec)
    assert body(made) == {
        "queue": "q", "resreq": "r", "command": "echo 'it'\"'\"'s' 'a b'", "jobname": "n", "projectname": "p",
        "cores": 2, "gpus": 1, "mem_limit": "4001 MB", "run_limit": "01:01", "array": "1-9%2", "output": "o",
        "depends_on": [{"id": "5", "kind": "afterok"}], "error": "e", "env": {"A": "b"}, "cwd": "/w", "hold": True,
        "priority": 3, "jobdescription": "d",
    }  # fmt: skip
    assert len(made.warnings) == 2 and all("rounded up" in text for text in made.warnings)
    assert dict(request(made).headers)["Idempotency-Key"] == str(made.intent.intent_id)


async def test_a_script_is_sent_as_it_is_and_nothing_is_made_up() -> None:
    script = "#!/bin/sh\necho \u00e4\n"
    assert body(await plan("submit", spec=JobSpec(script=script))) == {"command": script}


@pytest.mark.parametrize("more", [{"nodes": 2}, {"extensions": {"partition_flavour": "x"}}])
async def test_what_the_wire_cannot_say_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        await plan("submit", spec=JobSpec(command=("true",), **more))


@pytest.mark.parametrize("more", [{"nodes": 2}, {"account": "a"}, {"extensions": {"x": 1}}])
async def test_what_cannot_be_modified_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        await plan("modify", JOB, **more)


async def test_several_targets_are_several_steps_with_keys_of_their_own() -> None:
    targets = (job("1"), job("2"), job("3"))
    made = await plan("cancel", *targets)
    again = await plan("cancel", *targets, intent_id=made.intent.intent_id)
    keys = [dict(request(made, index).headers)["Idempotency-Key"] for index in range(3)]
    assert len(set(keys)) == 3 and [step.targets for step in made.steps] == [(target,) for target in targets]
    assert made.digest == again.digest, "the same intent makes the same bytes"


async def test_both_halves_of_a_queue_are_one_after_the_other() -> None:
    made = await plan("close_queue", queue(), what="both")
    assert [body(made, index)["action"] for index in (0, 1)] == ["close", "inactivate"]
    assert [step.sequel for step in made.steps] == [False, True]


@pytest.mark.parametrize(
    ("verb", "target", "words"),
    [
        ("cancel", job("7", "succeeded", "DONE"), "is over"),
        ("hold", job("7", "running", "RUN"), "suspend it instead"),
        ("hold", job("7", "pending", "PSUSP"), "held already"),
        ("release", job("7"), "is not held"),
        ("suspend", job("7"), "does not run"),
        ("resume", job("7", "running", "RUN"), "is not suspended"),
        ("requeue", job("7"), "waits already"),
        ("undrain", node(), "is not drained"),
    ],
)
async def test_what_means_nothing_in_a_state_is_not_sent(verb: str, target: Target, words: str) -> None:
    with pytest.raises(Conflict) as caught:
        await plan(verb, target)
    assert words in caught.value.message


async def test_targets_with_nothing_to_do_are_left_out_and_named() -> None:
    made = await plan("hold", job("1"), job("2", "running", "RUN"))
    assert [step.targets[0].ref.id for step in made.steps] == ["1"]
    assert any("Job 2" in text for text in made.warnings)


async def test_a_target_that_is_gone_is_not_found() -> None:
    with pytest.raises(NotFound) as caught:
        await plan("cancel", job("7"), seen=Seen())
    assert "7" in caught.value.message


@pytest.mark.parametrize("verb", sorted(PART_OF))
async def test_what_a_server_lacks_is_unsupported_with_the_reason(verb: str) -> None:
    target = {"node": node(), "queue": queue()}.get(INTENTS[verb].kind, job("7"))
    more = {
        "modify": {"name": "x"}, "drain": {"reason": "r"}, "set_node_quota": {"slots": 1},
        "create_key": {"user": "u", "role": "user"}, "revoke_key": {"key_id": "k"},
    }.get(verb, {})  # fmt: skip
    targets = () if verb in ("create_key", "revoke_key") else (target,)
    with pytest.raises(Unsupported) as caught:
        await plan(verb, *targets, seen=Seen(target, parts=frozenset()), **more)
    assert len(caught.value.message) > 20


async def test_a_role_without_the_right_is_told_so() -> None:
    reader = Identity("mcp", "mcp_readonly", False, frozenset({"job:view"}))
    with pytest.raises(Unsupported) as caught:
        await plan("cancel", JOB, seen=Seen(JOB, identity=reader))
    assert "mcp_readonly" in caught.value.message and "job:control" in caught.value.message
    assert await plan("cancel", JOB, seen=Seen(JOB, identity=None)), "a server that does not tell is asked"


async def test_keys_are_made_and_revoked() -> None:
    made = await plan("create_key", user="carol", role="mcp_operator")
    assert (request(made).path, body(made)) == ("/xce/v1/apikeys", {"username": "carol", "role_name": "mcp_operator"})
    gone = await plan("revoke_key", key_id="abc_1")
    assert (request(gone).method, request(gone).path, request(gone).body) == ("DELETE", "/xce/v1/apikeys/abc_1", None)
