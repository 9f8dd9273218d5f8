"""Bad days, with real processes: kill -9 of server, worker and supervisor, lost leases, network cuts, restarts."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil

from adapters.local.launch import EmbeddedCluster
from adapters.local.settings import Settings
from adapters.local.strays import strays
from tests.local.api import Api, until
from tests.local.conftest import Server

Own = Callable[..., tuple[EmbeddedCluster, Api]]


def supervisors(cluster: EmbeddedCluster) -> list[int]:
    found = []
    for pid in strays(cluster.folder):
        with contextlib.suppress(FileNotFoundError):
            if "run.py" in Path(f"/proc/{pid}/cmdline").read_text():
                found.append(pid)
    return found


def kill(process: object) -> None:
    process.popen.kill()  # type: ignore[attr-defined]
    process.popen.wait()  # type: ignore[attr-defined]


def marks(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_kill_9_of_the_server_loses_nothing_and_runs_nothing_twice(own: Own, tmp_path: Path) -> None:
    cluster, api = own(1, 4)
    ran = tmp_path / "ran"
    jobs = [api.submit(f"sleep 0.5; echo {n} >> {ran}") for n in range(6)]
    until(lambda: api.get("/xce/v1/jobs?filter=status:RUN"))
    kill(cluster.server)
    until(lambda: len(marks(ran)) >= 2)  # jobs end while the server is away
    cluster.restart_server()
    for job in jobs:
        assert api.wait(job)["status"] == "DONE"
    assert sorted(marks(ran)) == [str(n) for n in range(6)]
    assert all(len(api.job(job)["runs"]) == 1 for job in jobs)


def test_kill_9_of_a_worker_ends_its_jobs_and_they_are_given_out_again(own: Own, tmp_path: Path) -> None:
    cluster, api = own(1, 4)
    ran = tmp_path / "ran"
    job = api.submit(f"echo start >> {ran}; sleep 1.5; echo end >> {ran}")
    until(lambda: marks(ran))
    kill(cluster.workers["node1"])
    until(lambda: api.job(job)["status"] == "PEND")
    until(lambda: not supervisors(cluster), 10)
    assert "Starts again" in api.job(job)["pendreason"]
    cluster.start_worker("node1", 4)
    assert api.wait(job)["status"] == "DONE"
    assert marks(ran) == ["start", "start", "end"]
    assert [run["outcome"] for run in api.job(job)["runs"]] == ["lost", "done"]


def test_kill_9_of_a_supervisor_ends_its_job_and_it_is_given_out_again(own: Own) -> None:
    cluster, api = own(1, 4)
    job = api.submit("sleep 60")
    (pid,) = until(lambda: supervisors(cluster))
    child = until(lambda: psutil.Process(pid).children())[0]
    os.kill(pid, signal.SIGKILL)
    until(lambda: len(api.job(job).get("runs", [])) == 2)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert api.job(job)["runs"][0]["outcome"] == "lost"


def test_worker_and_supervisor_killed_together_leave_no_process(own: Own) -> None:
    cluster, api = own(1, 4)
    job = api.submit("sleep 60 & sleep 60")
    (pid,) = until(lambda: supervisors(cluster))
    family = until(lambda: (found := psutil.Process(pid).children(recursive=True)) and len(found) >= 3 and found)
    kill(cluster.workers["node1"])
    os.kill(pid, signal.SIGKILL)
    cluster.start_worker("node1", 0)
    until(lambda: api.job(job)["status"] == "PEND")
    until(lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in family), 10)


def test_all_three_killed_at_once(own: Own, tmp_path: Path) -> None:
    cluster, api = own(1, 4)
    ran = tmp_path / "ran"
    job = api.submit(f"sleep 1; echo end >> {ran}")
    (pid,) = until(lambda: supervisors(cluster))
    kill(cluster.server)
    kill(cluster.workers["node1"])
    os.kill(pid, signal.SIGKILL)
    cluster.restart_server()
    cluster.start_worker("node1", 4)
    assert api.wait(job)["status"] == "DONE"
    assert marks(ran) == ["end"]


def test_a_result_that_the_server_never_heard_is_reported_by_the_next_worker(own: Own, tmp_path: Path) -> None:
    cluster, api = own(1, 4)
    ran = tmp_path / "ran"
    job = api.submit(f"sleep 0.7; echo end >> {ran}")
    until(lambda: supervisors(cluster))
    kill(cluster.server)
    until(lambda: list(cluster.folder.glob("workers/node1/tasks/*/result.json")), 10)
    kill(cluster.workers["node1"])
    cluster.restart_server()
    assert api.job(job)["status"] == "RUN"
    cluster.start_worker("node1", 4)
    assert api.wait(job)["status"] == "DONE"
    assert marks(ran) == ["end"]


def test_a_worker_that_is_told_to_stop_hands_its_jobs_back(own: Own) -> None:
    cluster, api = own(1, 4)
    job = api.submit("sleep 60")
    until(lambda: supervisors(cluster))
    worker = cluster.workers["node1"]
    worker.end()
    assert worker.wait(10) and worker.popen.returncode == 0
    assert not supervisors(cluster)
    assert (api.job(job)["status"], api.node("node1")["status"]) == ("PEND", "offline")


def test_a_worker_that_may_finish_does(own: Own) -> None:
    cluster, api = own(0)
    cluster.start_worker("node1", 4, "--finish")
    job = api.submit("sleep 3; echo done")
    until(lambda: supervisors(cluster))
    worker = cluster.workers["node1"]
    worker.end()
    until(lambda: "leaving: waiting for 1 jobs" in worker.log.read_text(), 20)
    other = api.submit("sleep 60")
    assert worker.wait(30)
    assert api.job(job)["status"] == "DONE"
    assert api.job(other)["status"] == "PEND"


def test_a_worker_cut_off_ends_its_jobs_before_they_are_given_out_again(own: Own, tmp_path: Path) -> None:
    """Stopped server: no answer for most of the lease. The fence closes before the lease does."""
    cluster, api = own(1, 4, options=("--heartbeat", "0.3", "--down-after", "1", "--lease", "3", "--grace", "0.5"))
    job = api.submit("sleep 60")
    until(lambda: supervisors(cluster))
    assert cluster.server is not None
    os.kill(cluster.server.popen.pid, signal.SIGSTOP)
    until(lambda: not supervisors(cluster), 10)
    os.kill(cluster.server.popen.pid, signal.SIGCONT)
    until(lambda: len(api.job(job)["runs"]) == 2)
    assert api.job(job)["runs"][0]["outcome"] == "lost"


def test_when_whoever_launched_it_is_killed_everything_ends(tmp_path: Path) -> None:
    script = (
        "import time\nfrom adapters.local.launch import launch\n"
        "with launch(1, 2) as cluster:\n    print(cluster.folder, flush=True)\n    time.sleep(60)\n"
    )
    launcher = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert launcher.stdout is not None
    folder = Path(launcher.stdout.readline().strip())
    try:
        assert len(strays(folder)) == 2
        launcher.kill()
        launcher.wait()
        until(lambda: not strays(folder) and not folder.exists(), 20, "neither process nor file is left")
    finally:
        launcher.stdout.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_silent_node_is_down_and_its_jobs_are_kept_until_the_lease_is_over(
    start_server: Callable[..., Server],
) -> None:
    server = start_server(Settings(down_after=0.4, lease=60.0, refresh=0.02))
    node, other = server.node("n1"), server.node("n2")
    job = server.admin.submit()
    (task,) = node.claim()
    server.clock.now += 1
    until(lambda: server.admin.node("n1")["status"] == "offline")
    assert server.admin.job(job)["pendreason"] == "Node n1 does not answer"
    other.beat()
    assert other.claim() == [], "not before the lease has run out"
    node.beat({"lease": task["lease"], "order": 0})
    assert "pendreason" not in server.admin.job(job)
    server.clock.now += 61
    until(lambda: server.admin.job(job)["status"] == "PEND")
    other.beat()
    (again,) = other.claim()
    assert again["task_id"] == job and again["lease"] != task["lease"]
    assert node.report(task) == "absorbed"
    assert server.admin.job(job)["status"] == "RUN"


def test_steps_of_the_wall_clock_lose_no_node(start_server: Callable[..., Server]) -> None:
    server = start_server(Settings(down_after=0.4, lease=1.0, refresh=0.02))
    times = [4_000_000_000.0]
    server.cluster.db._clock = lambda: times[0]
    node = server.node()
    job = server.admin.submit()
    (task,) = node.claim()
    times[0] = 1_000_000_000.0
    server.admin.submit()
    assert node.beat({"lease": task["lease"], "order": 0, "run_limit": None})["orders"] == []
    assert server.admin.job(job)["status"] == "RUN"
    node.report(task)
    row = server.admin.job(job)
    assert row["elapsed"] >= 0


def test_after_a_restart_every_node_has_its_whole_lease(start_server: Callable[..., Server]) -> None:
    server = start_server(Settings(down_after=5, lease=10, refresh=0.02))
    node = server.node()
    job = server.admin.submit()
    node.claim()
    server.stop()
    server = start_server(Settings(down_after=5, lease=10, refresh=0.02))
    server.clock.now += 9
    assert server.admin.job(job)["status"] == "RUN"
    server.clock.now += 2
    until(lambda: server.admin.job(job)["status"] == "PEND")


def test_a_claim_whose_answer_was_lost_is_given_again(server: Server) -> None:
    node = server.node()
    server.admin.submit()
    server.admin.submit()
    first = node.claim(1, "same")
    assert node.claim(1, "same") == first
    assert node.claim(1, "next")[0]["task_id"] != first[0]["task_id"]


def test_a_job_that_keeps_losing_its_node_is_given_up(start_server: Callable[..., Server]) -> None:
    server = start_server(Settings(attempts=3))
    node = server.node()
    job = server.admin.submit()
    for _ in range(3):
        node.report(node.claim()[0], "lost", reason="the machine is on fire")
    row = server.admin.job(job)
    assert (row["status"], row["endedby"]) == ("EXIT", "system")
    assert row["pendreason"] == "Given up after 3 attempts: the machine is on fire"


def test_a_second_worker_of_the_same_name_takes_over_and_the_first_is_told(server: Server) -> None:
    node = server.node()
    job = server.admin.submit()
    node.claim()
    node.api.post("/api/node/register", {"name": "n1", "max_slots": 4, "instance": "two"})
    assert server.admin.job(job)["status"] == "PEND"
    body = {"instance": "one", "active_slots": 1, "max_slots": 8}
    assert "another worker" in node.api.refused(409, "POST", "/api/node/heartbeat", body)
