"""Plans: what was shown is what is sent."""

from __future__ import annotations

from adapters.intents import CancelJob, Command, HttpRequest, Outcome, Plan, Step, Target, request_digest
from adapters.model import Ref

REFS = tuple(Ref("demo", "job", str(n)) for n in (1, 2, 3))
INTENT = CancelJob(cluster="demo", refs=REFS)


def plan() -> Plan:
    steps = tuple(Step(HttpRequest("POST", f"/jobs/{r.id}/control", (), b"{}"), (Target(r),)) for r in REFS)
    return Plan(INTENT, steps)


def test_one_byte_more_is_another_request() -> None:
    digests = {
        request_digest(request)
        for request in (
            HttpRequest("POST", "/a", (), b"{}"),
            HttpRequest("POST", "/a", (), b"{ }"),
            HttpRequest("POST", "/a", (), None),
            HttpRequest("POST", "/a", (("If-Match", "3"),), b"{}"),
            Command(("scancel", "1 2")),
            Command(("scancel", "1", "2")),
            Command(("scancel", "1", "2"), b""),
        )
    }
    assert len(digests) == 7


def test_a_target_that_dropped_out_takes_its_step_and_leaves_the_others_as_they_were() -> None:
    before = plan()
    after = before.without(frozenset({REFS[1]}))
    assert [t.ref for t in after.targets] == [REFS[0], REFS[2]]
    assert after.steps == (before.steps[0], before.steps[2])
    assert after.plan_id == before.plan_id


def test_a_step_with_another_live_target_stays() -> None:
    both = Plan(INTENT, (Step(Command(("scancel", "1", "2")), (Target(REFS[0]), Target(REFS[1]))),))
    assert both.without(frozenset({REFS[0]})).steps == both.steps


def test_plan_ids_are_not_reused() -> None:
    assert plan().plan_id != plan().plan_id
    assert plan().digest == plan().digest


def test_a_secret_is_neither_recorded_nor_printed() -> None:
    outcome = Outcome("accepted", REFS[0], secret="xce_ak_very_secret")
    assert "very_secret" not in repr(outcome) + str(outcome.record())


def test_the_command_line_shown_is_quoted() -> None:
    assert Command(("scancel", "--name", "a b; rm -rf /")).lines() == ["scancel --name 'a b; rm -rf /'"]
