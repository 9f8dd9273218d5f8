"""The life of jobs as a state machine: whatever is done in whatever order, the invariants hold (hypothesis).

It drives the store's own functions within transactions, as the server does, and checks after each step what must be
true of every row, and that the events told add up to what is stored.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from adapters.local import control, jobs, nodes, queries, records, seed, tasks
from adapters.local.database import Database, Tx
from adapters.local.problem import Problem
from adapters.local.records import FINAL

SLOTS = 3
KINDS = ("afterok", "afterany", "afternotok", "after")


class JobLife(RuleBasedStateMachine):
    """Two nodes, jobs with arrays and dependencies, reports in any order, doubled and late."""

    made: Bundle[int] = Bundle("made")
    given: Bundle[dict[str, Any]] = Bundle("given")
    said: Bundle[dict[str, Any]] = Bundle("said")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pilothouse-machine-"))
        seed.set_up(self.folder)
        self.db = Database(self.folder)
        self.now = 1000.0
        self.db._clock = lambda: self.now
        self.rows: dict[int, dict[str, Any]] = {}
        self.place = 0
        self.done_leases: dict[int, list[str]] = {}
        self.claims = 0
        for name in ("n1", "n2"):
            self.write(lambda tx, name=name: nodes.join(tx, name, SLOTS))
            self.write(lambda tx, name=name: tx.run("UPDATE nodes SET up = 1, last_heartbeat = 1 WHERE name = ?", name))

    def write(self, run: Any) -> Any:
        self.now += 1
        return self.db.now_sync(run)

    def node(self, tx: Tx, name: str) -> Any:
        return tx.one("SELECT * FROM nodes WHERE name = ?", name)

    def teardown(self) -> None:
        if hasattr(self, "db"):
            self.db._connection.close()
            self.db._readers.shutdown()
            shutil.rmtree(self.folder)

    # -- what may happen

    @rule(target=made, array=st.sampled_from([None, None, "1-4", "1-5%2"]), hold=st.booleans(), cores=st.integers(1, 4))
    def submit(self, array: str | None, hold: bool, cores: int) -> int:
        body = {"command": "true", "hold": hold, "cores": cores} | ({"array": array} if array else {})
        wish = jobs.check_submission(body)
        return int(self.write(lambda tx: jobs.submit(tx, "ada", wish)))

    @rule(target=made, on=made, kind=st.sampled_from(KINDS))
    def submit_after(self, on: int, kind: str) -> int:
        wish = jobs.check_submission({"command": "true", "depends_on": f"{kind}:{on}"})
        return int(self.write(lambda tx: jobs.submit(tx, "ada", wish)))

    @rule(target=given, name=st.sampled_from(["n1", "n2"]), slots=st.integers(1, 4))
    def claim(self, name: str, slots: int) -> Any:
        self.claims += 1
        number = str(self.claims)
        got = self.write(lambda tx: tasks.claim(tx, self.node(tx, name), number, slots))
        return multiple(*({**task, "node": name} for task in got))

    @rule(
        target=said, task=given, state=st.sampled_from(["running", "suspended", "done", "exit", "lost"]),
        order=st.integers(0, 3), code=st.sampled_from([1, 2]),
    )  # fmt: skip
    def report(self, task: dict[str, Any], state: str, order: int, code: int) -> dict[str, Any]:
        body = {
            "task_id": task["task_id"],
            "lease": task["lease"],
            "state": state,
            "order": order,
            "node": task["node"],
        }
        if state in ("done", "exit"):
            body["exit_code"] = 0 if state == "done" else code
        self.send(body)
        return body

    @rule(body=said)
    def report_again(self, body: dict[str, Any]) -> None:
        self.send(body)

    def send(self, body: dict[str, Any]) -> None:
        def run(tx: Tx) -> tuple[Any, str, Any]:
            before = dict(jobs.get(tx, body["task_id"]))
            outcome = tasks.report(tx, self.node(tx, body["node"]), tasks.check_report(body), 16)
            return before, outcome, dict(jobs.get(tx, body["task_id"]))

        try:
            before, outcome, after = self.write(run)
        except Problem as problem:
            assert problem.status == 409
            return
        if outcome == "absorbed":
            assert after == before, "an absorbed report changes nothing"
        if before["lease"] != body["lease"]:
            assert outcome == "absorbed", "an older lease never changes a newer run"
        if before["state"] in FINAL:
            assert after == before, "a final state never turns back"

    @rule(job=made, action=st.sampled_from(control.ACTIONS), by=st.sampled_from(["owner", "admin"]))
    def act(self, job: int, action: str, by: str) -> None:
        try:
            self.write(lambda tx: control.control(tx, jobs.get(tx, job), action, 15, by))
        except Problem as problem:
            assert problem.status in (409, 422)

    @rule(task=consumes(given), action=st.sampled_from(["kill", "stop", "requeue"]))
    def act_on_run(self, task: dict[str, Any], action: str) -> None:
        self.act(task["task_id"], action, "owner")

    @rule(name=st.sampled_from(["n1", "n2"]), quota=st.sampled_from([None, 0, 1, 2, 50]))
    def quota(self, name: str, quota: int | None) -> None:
        self.write(lambda tx: nodes.set_quota(tx, self.node(tx, name)["id"], {"admin_max_slots": quota}, None))

    @rule(name=st.sampled_from(["n1", "n2"]))
    def lose_node(self, name: str) -> None:
        self.write(lambda tx: tasks.lose_unheld(tx, name, set(), "it is gone", 16))

    @rule(job=made, cores=st.integers(1, 3))
    def modify(self, job: int, cores: int) -> None:
        try:
            self.write(lambda tx: control.modify(tx, jobs.get(tx, job), {"cores": cores}))
        except Problem as problem:
            assert problem.status == 409

    # -- what must be true

    @invariant()
    def rows_are_sound(self) -> None:
        if not hasattr(self, "db"):
            return
        for row in self.db._connection.execute("SELECT * FROM jobs"):
            final = row["state"] in FINAL
            assert final == (row["ended"] is not None), dict(row)
            assert not (final and row["lease"])
            assert (row["lease"] is not None) <= (row["state"] in ("RUN", "USUSP") and row["node"] is not None)
            assert not row["ready"] or (row["state"] == "PEND" and not row["lease"] and not row["waits"])
            if row["array_size"] is not None:
                counted = row["array_left"] + row["array_active"] + row["array_done"] + row["array_exit"]
                cancelled = row["order_verb"] == "kill" or row["ended_by"] is not None or row["array_left"] == 0
                assert counted == row["array_size"] or (cancelled and counted <= row["array_size"]), dict(row)
                assert not row["array_limit"] or row["array_active"] <= row["array_limit"]

    @invariant()
    def arrays_count_their_elements(self) -> None:
        if not hasattr(self, "db"):
            return
        query = (
            "SELECT a.*, sum(e.ended IS NULL) AS alive, sum(e.state = 'DONE') AS done, sum(e.state = 'EXIT') AS failed"
            " FROM jobs a JOIN jobs e ON e.array_id = a.id GROUP BY a.id"
        )
        for row in self.db._connection.execute(query):
            assert (row["array_active"], row["array_done"], row["array_exit"]) == (
                row["alive"], row["done"], row["failed"],
            )  # fmt: skip

    @invariant()
    def a_claim_never_went_beyond_what_a_node_has(self) -> None:
        if not hasattr(self, "db"):
            return
        for row in self.db._connection.execute(
            "SELECT node, sum(cores) AS n FROM jobs WHERE lease NOT NULL GROUP BY node"
        ):
            assert row["n"] <= SLOTS

    @invariant()
    def no_job_ended_twice_in_one_life(self) -> None:
        """Runs of a job that ended with a result: one, unless a person asked for another with requeue."""
        if not hasattr(self, "db"):
            return
        for row in self.db._connection.execute("SELECT job, count(*) AS n FROM runs WHERE ended IS NULL GROUP BY job"):
            assert row["n"] == 1, "a job never runs twice at a time"

    @invariant()
    def dependencies_say_what_the_states_are(self) -> None:
        if not hasattr(self, "db"):
            return
        from adapters.local.dependencies import verdict

        query = "SELECT d.*, j.state, j.started FROM dependencies d JOIN jobs j ON j.id = d.on_job"
        for row in self.db._connection.execute(query):
            assert row["met"] == verdict(row["kind"], row["state"], row["started"] is not None), dict(row)

    @invariant()
    def events_add_up_to_what_is_stored(self) -> None:
        if not hasattr(self, "db"):
            return
        query = "SELECT id, data FROM events WHERE id > ? AND kind = 'job' ORDER BY id"
        for event in self.db._connection.execute(query, (self.place,)):
            row = json.loads(event["data"])["object"]
            self.rows[row["jobid"]] = row
            self.place = event["id"]
        stored = {r["id"]: records.job_row(r) for r in self.db._connection.execute("SELECT * FROM jobs")}
        assert self.rows == stored

    @invariant()
    def counts_add_up(self) -> None:
        if not hasattr(self, "db"):
            return
        counts = queries.state_counts(self.db._connection)
        assert all(number > 0 for states in counts.values() for number in states.values())


TestJobLife = JobLife.TestCase
TestJobLife.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
TestJobLife = pytest.mark.timeout(180)(TestJobLife)
