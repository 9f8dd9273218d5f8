"""The live view: what is said when something may not be read, fails, appears later or vanishes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from adapters.base import HistoryFilter, Interest, InterestCell, JobFilter, SourceState
from adapters.kubernetes import discovery, states
from adapters.kubernetes import scope as scoping
from adapters.kubernetes import supervisor as supervising
from adapters.kubernetes.resources import RESOURCES
from adapters.kubernetes.rows import Memory
from adapters.model import Job, Queue
from tests.contract.test_contract_watch import Mirror, until_equal, watching
from tests.doubles.kube_api import KubeDouble
from tests.doubles.kube_api.kinds import CORE, KUEUE
from tests.doubles.kube_api.objects import bound_pod, job, node
from tests.doubles.kube_api.recordings import body, fill
from tests.doubles.kube_api.rights import PEOPLE
from tests.doubles.kube_api.server import Fault
from tests.kubernetes.conftest import QUICK, Opened, until, watched


def last(mirror: Mirror, kind: str) -> SourceState:
    """The latest state of a kind."""
    found = [state for state in mirror.states if kind in state.kinds]
    return found[-1] if found else SourceState("connecting")


async def test_it_agrees_with_a_fresh_list_and_follows(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    reader = opened.reader()
    cell = InterestCell()
    async with watched(reader, cell) as mirror:
        await until_equal(mirror, reader, cell, True)
        double.put("pods", bound_pod("later", "node-f01", cpu="2"))
        await until(lambda: "team-a/pod/later" in mirror.of("job"), "the pod")
        await until_equal(mirror, reader, cell, True)
    assert len([state for state in mirror.states if state.error]) == 0


async def test_a_person_of_one_namespace_sees_it_and_is_told(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    reader = opened.reader("editor")
    async with watched(reader) as mirror:
        assert {row.id.partition("/")[0] for row in mirror.of("job").values()} == {"team-a"}
        assert len(mirror.of("job")) == len(await reader.list_jobs())
        await until(lambda: last(mirror, "node").label == "failed", "nodes may not be read")
        await until(lambda: last(mirror, "job").label == "live", "jobs are live")
    assert "Only the namespaces you may read: team-a." in last(mirror, "job").note
    error = last(mirror, "node").error
    assert error is not None and error.code == "forbidden" and 'User "eddy" cannot list' in error.message
    assert "You may not read namespaces." in last(mirror, "queue").note
    assert mirror.of("node") == {}


async def test_namespaces_of_the_profile_are_the_only_ones(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    reader = opened.reader(namespaces=["team-b"])
    async with watched(reader) as mirror:
        assert {row.id.partition("/")[0] for row in mirror.of("job").values()} == {"team-b"}
    assert "Only the namespaces team-b." in last(mirror, "job").note


async def test_expired_credentials_are_a_state_and_recover(double: KubeDouble, opened: Opened, tmp_path: Path) -> None:
    double.put("jobs", job("a"))
    reader = opened.reader("viewer")
    async with watched(reader) as mirror:
        double.revoked.add("viewer-token")
        double.cut_watches()
        state = await until(lambda: _failed(mirror, "unauthenticated"), "the failure is told")
        assert state.label == "stale"
        assert "renew the kubeconfig" in state.error.hint and state.retry_at is not None
        assert "team-a/a" in mirror.of("job"), "rows stay, marked as stale"
        path = tmp_path / "kubeconfig-viewer"
        path.write_text(path.read_text().replace("viewer-token", "viewer-token.renewed"))
        double.put("jobs", job("b"))
        await until(lambda: "team-a/b" in mirror.of("job"), "it recovers by itself")
        await until(lambda: last(mirror, "job").label == "live", "and says so")


def _failed(mirror: Mirror, code: str) -> SourceState | None:
    state = last(mirror, "job")
    return state if state.error is not None and state.error.code == code else None


async def test_a_server_that_is_down_from_the_start(double: KubeDouble, opened: Opened) -> None:
    double.faults.append(Fault(lambda _, path: True, code=503, body=b"starting"))
    double.put("jobs", job("a"))
    reader = opened.reader()
    async with watching(reader, InterestCell()) as mirror:
        await until(lambda: last(mirror, "job").label == "failed", "it is said")
        assert mirror.loaded == set()
        double.faults.clear()
        await until(lambda: "team-a/a" in mirror.of("job"), "it loads when the server is back")


async def test_a_kind_that_appears_later_is_followed(
    double: KubeDouble, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervising, "DISCOVERY_PERIOD", 0.1)
    fill(double)
    async with watched(opened.reader()) as mirror:
        assert not any(":" in name for name in mirror.of("queue"))
        double.kinds = [*CORE, *KUEUE]
        fill(double)
        await until(lambda: "clusterqueue:gpu-cq" in mirror.of("queue"), "Kueue's queues come")
        managed = await until(lambda: _queued(mirror), "the job waits in its Kueue queue")
        assert "2 more needed" in (managed.reason or "")
        double.kinds = [*CORE]
        await until(lambda: not any(":" in name for name in mirror.of("queue")), "and go again")
    assert discovery.DISCOVERY_PERIOD == 60.0


def _queued(mirror: Mirror) -> Job | None:
    row = mirror.of("job").get("team-a/managed-by-kueue")
    return row if isinstance(row, Job) and row.raw_status == "QueuedByKueue" else None


async def test_a_deleted_job_stays_as_cancelled_in_watch_list_and_detail(double: KubeDouble, opened: Opened) -> None:
    made = double.put("jobs", job("a", active=1, ready=1))
    reader = opened.reader()
    async with watched(reader) as mirror:
        double.store.remove(double.served("jobs"), "team-a", "a")
        row = await until(lambda: _cancelled(mirror, "team-a/a"), "it is cancelled")
        assert row.raw_status == "Deleted" and row.born == made["metadata"]["uid"]
        assert [listed.status for listed in await reader.list_jobs()] == ["cancelled"]
        assert (await reader.get_job("team-a/a")).status == "cancelled"
        (target,) = (await reader.observe([row.ref])).values()
        assert target is not None and target.finished
        reader.memory.forget("team-a/a")
        double.put("jobs", job("b"))
        await until(lambda: "team-a/a" not in mirror.of("job"), "it goes when its time is over")


def _cancelled(mirror: Mirror, id: str) -> Job | None:
    row = mirror.of("job").get(id)
    return row if isinstance(row, Job) and row.status == "cancelled" else None


def test_the_memory_ends_by_itself() -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    memory = Memory(timedelta(minutes=1))
    memory.add(Job("team-a/x"), now)
    assert memory.get("team-a/x", now) is not None and memory.rows(now + timedelta(minutes=2)) == []
    memory.add(Job("team-a/y"), now + timedelta(minutes=2))
    assert memory.get("team-a/x", now) is None


async def test_a_clock_that_is_off_is_said_and_used(double: KubeDouble, opened: Opened) -> None:
    ahead = datetime.now(UTC) + timedelta(minutes=10)
    double.date = format_datetime(ahead, usegmt=True)
    double.put("jobs", job("a"))
    reader = opened.reader()
    async with watched(reader) as mirror:
        await until(lambda: "ahead of this machine" in last(mirror, "job").note, "the skew is noted")
        double.store.remove(double.served("jobs"), "team-a", "a")
        row = await until(lambda: _cancelled(mirror, "team-a/a"), "it is cancelled")
        assert row.end_time is not None and row.end_time > datetime.now(UTC) + timedelta(minutes=9)


async def test_mine_are_those_whose_owner_i_am(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("mine", labels={"user": "vera"}))
    double.put("jobs", job("other"))
    cell = InterestCell(Interest(owner="mine"))
    reader = opened.reader("viewer")
    async with watched(reader, cell) as mirror:
        await until(lambda: set(mirror.of("job")) == {"team-a/mine"}, "only mine")
        cell.set(Interest())
        await until(lambda: set(mirror.of("job")) == {"team-a/mine", "team-a/other"}, "all")


async def test_only_what_is_looked_at_is_watched(double: KubeDouble, opened: Opened) -> None:
    double.put("nodes", node("n"))
    cell = InterestCell(Interest(kinds=frozenset({"node"})))
    async with watching(opened.reader(), cell) as mirror:
        await until(lambda: "n" in mirror.of("node"), "the node")
        assert not any("/jobs" in request.path for request in double.requests)
        cell.set(Interest(kinds=frozenset({"job"})))
        double.put("jobs", job("a"))
        await until(lambda: "team-a/a" in mirror.of("job"), "the job")


async def test_a_refresh_does_not_wait_for_the_next_attempt(double: KubeDouble, opened: Opened) -> None:
    from adapters.kubernetes.reflector import Timing

    slow = Timing(silence=5, watch=30, first_delay=30, longest_delay=60)
    cell = InterestCell()
    async with watched(opened.reader(timing=slow), cell) as mirror:
        double.faults.append(Fault(lambda _, path: "watch=1" in path, code=503, body=b"", times=200))
        double.cut_watches()
        await until(lambda: last(mirror, "job").label == "stale", "it fails")
        double.faults.clear()
        double.put("jobs", job("a"))
        cell.refresh()
        await until(lambda: "team-a/a" in mirror.of("job"), "it is tried at once")


async def test_an_odd_object_is_counted_and_the_others_are_shown(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("good"))
    odd = job("odd")
    odd["metadata"]["finalizers"] = 7
    double.put("jobs", odd)
    async with watched(opened.reader()) as mirror:
        await until(lambda: "team-a/good" in mirror.of("job"), "the good one")
        await until(lambda: "1 objects could not be read." in last(mirror, "job").note, "the odd one is counted")


async def test_a_snapshot_waits_for_the_pods_but_not_for_ever_for_the_rest(
    double: KubeDouble, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adapters.kubernetes import watch

    monkeypatch.setattr(watch, "PATIENCE", 0.3)
    double.faults.append(Fault(lambda _, path: "/events" in path, silent=True))
    held = double.put("jobs", job("a", active=1))
    double.put("pods", bound_pod("a-x", None, owner=held, phase="Pending"))
    async with watched(opened.reader()) as mirror:
        row = mirror.of("job")["team-a/a"]
        assert isinstance(row, Job) and row.status == "pending"
    assert {"jobs", "pods", "nodes"} == states.DECISIVE


async def test_ending_the_watch_leaves_nothing_behind(double: KubeDouble, opened: Opened) -> None:
    before = len(asyncio.all_tasks())
    async with watched(opened.reader()):
        assert len(asyncio.all_tasks()) > before
        await until(lambda: double.watches() >= 5, "the watches are open")
    await until(lambda: len(asyncio.all_tasks()) <= before, "all tasks have ended")
    await until(lambda: double.watches() == 0, "all watches are closed")


async def test_pieces_of_a_large_snapshot_belong_together(
    double: KubeDouble, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adapters.kubernetes import watch

    monkeypatch.setattr(watch, "PIECE", 7)
    monkeypatch.setattr(watch, "ROWS_AT_ONCE", 5)
    for number in range(30):
        double.put("jobs", job(f"j{number}"))
    async with watched(opened.reader()) as mirror:
        assert len(mirror.of("job")) == 30
        queue = mirror.of("queue")["team-a"]
        assert isinstance(queue, Queue) and queue.pending_jobs == 30


async def test_the_recorded_quota_change_reaches_the_queue(double: KubeDouble, opened: Opened) -> None:
    for item in body("list-resourcequotas-all")["items"]:
        double.put("resourcequotas", item)
    async with watched(opened.reader()) as mirror:
        double.store.change(
            double.served("resourcequotas"), "team-a", "compute", lambda obj: obj["spec"]["hard"].update(pods="70")
        )
        await until(lambda: "24/70" in str(mirror.of("queue")["team-a"].extensions), "the new limit")


async def test_mine_are_those_of_the_profiles_owner(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("hers", labels={"user": "ann"}))
    double.put("jobs", job("other"))
    reader = opened.reader("viewer", owner="ann")
    assert [row.id for row in await reader.list_jobs(JobFilter(mine=True))] == ["team-a/hers"]
    assert (await reader.whoami()).name == "vera" and await reader.me() == "ann"


async def test_elements_of_an_indexed_job_come_when_they_are_asked_for(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    reader = opened.reader()
    found = await reader.list_jobs(JobFilter(ids=("team-a/idx-failsome",)))
    assert [row.array.index for row in found if row.array and row.array.index is not None] == [0, 1, 2, 3]
    assert {row.array.id for row in found if row.array} == {"team-a/idx-failsome"}
    element = await reader.get_job(found[1].id)
    assert element.status == "failed" and element.exit_code == 1


async def test_history_is_what_the_cluster_still_has(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    reader = opened.reader()
    rows = await reader.history(HistoryFilter(since=datetime(2026, 11, 30, 1, 26, tzinfo=UTC)))
    assert rows and all(row.finished and row.end_time is not None for row in rows)
    assert all(row.end_time >= datetime(2026, 11, 30, 1, 26, tzinfo=UTC) for row in rows if row.end_time)
    assert await reader.history(HistoryFilter(until=datetime(2020, 1, 1, tzinfo=UTC))) == []


async def test_a_detail_has_pods_events_and_labels(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    for event in body("list-events-of-one-job")["items"]:
        double.put("events", event)
    row = await opened.reader("editor").get_job("run-gpu")
    assert row.id == "team-a/run-gpu" and row.extensions["labels"]["user"] == "eddy"
    assert any("exceeded quota" in event for event in row.extensions["events"])
    assert row.extensions["command"] == ("python", "train.py")
    pods = (await opened.reader("editor").get_job("team-a/idx-array")).extensions["pod_list"]
    assert len(pods) == 6 and all("Succeeded" in pod for pod in pods)


async def test_a_person_who_may_list_but_not_watch_gets_polls(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("a"))
    reader = opened.reader("lister", timing=replace(QUICK, poll=0.1))
    async with watched(reader) as mirror:
        state = await until(lambda: last(mirror, "job").label == "polling" and last(mirror, "job"), "it polls")
        assert state.interval == 0.1 and state.error is None
        double.put("jobs", job("b"))
        await until(lambda: "team-a/b" in mirror.of("job"), "the next poll brings it")
        double.store.remove(double.served("jobs"), "team-a", "b")
        await until(lambda: _cancelled(mirror, "team-a/b"), "and takes it away")


async def test_a_person_of_very_many_namespaces_is_served_some_and_told(double: KubeDouble, opened: Opened) -> None:
    for number in range(40):
        double.put("namespaces", {"metadata": {"name": f"team-{number:02}"}, "status": {"phase": "Active"}})
        double.put("jobs", job("a", f"team-{number:02}"))
    reader = opened.reader("many", kubeconfig=str(double.kubeconfig(opened.folder, "many", "team-07")))
    async with watched(reader) as mirror:
        await until(lambda: len(mirror.of("job")) == 30, "the first thirty")
        assert "team-07/a" in mirror.of("job"), "one's own namespace is among them"
        await until(lambda: "10 more are left out" in last(mirror, "job").note, "and it is said")
    assert len([request for request in double.requests if "rulesreviews" in request.path]) == 40


async def test_rights_that_become_larger_are_noticed(
    double: KubeDouble, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoping, "KEPT", 0.5)
    monkeypatch.setattr(supervising, "KEPT", 0.5)
    fill(double)
    async with watched(opened.reader("editor")) as mirror:
        assert "team-b/b-run" not in mirror.of("job")
        monkeypatch.setitem(PEOPLE, "editor", replace(PEOPLE["editor"], rules=PEOPLE["admin"].rules))
        await until(lambda: "team-b/b-run" in mirror.of("job"), "the other namespace comes")
        await until(lambda: last(mirror, "node").label == "live" and "node-a01" in mirror.of("node"), "and the nodes")
        await until(lambda: last(mirror, "job").note == "", "and nothing is left out any more")


@pytest.mark.parametrize("turns", range(8))
async def test_a_watch_ends_even_if_it_is_cancelled_as_news_come_in(
    double: KubeDouble, opened: Opened, turns: int
) -> None:
    """asyncio.wait_for of Python 3.11 returned, and forgot the cancellation, where both came together."""
    fill(double)
    cell, loaded = InterestCell(), asyncio.Event()

    async def follow() -> None:
        async for _ in opened.reader().watch(cell):
            loaded.set()

    following = asyncio.create_task(follow())
    await asyncio.wait_for(loaded.wait(), 20)
    await asyncio.sleep(0.3)
    cell.refresh()
    for _ in range(turns):
        await asyncio.sleep(0)
    following.cancel()
    done, _ = await asyncio.wait({following}, timeout=3)
    assert done and following.cancelled()


async def test_a_kind_that_one_discovery_does_not_find_is_looked_for_once_more(opened: Opened) -> None:
    """An API server that has just begun lists its groups one by one (seen on 1.20)."""
    both = discovery.Offer("v1.30.1", 30, {key: RESOURCES[key] for key in ("jobs", "clusterqueues")})
    few = replace(both, kinds={"jobs": RESOURCES["jobs"]})
    supervisor = supervising.Supervisor(opened.reader().api, None, None)  # type: ignore[arg-type]
    supervisor.offer = both
    assert supervisor._patient(few) == (both, True)
    assert supervisor._patient(both) == (both, False)
    assert supervisor._patient(few) == (both, True)
    assert supervisor._patient(few) == (few, False)
