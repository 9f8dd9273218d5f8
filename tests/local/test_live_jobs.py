"""Jobs from end to end on real workers: what a person does reaches the processes, and what they do is told."""

from __future__ import annotations

import base64
from pathlib import Path

from tests.local.api import Api, until


def output(api: Api, job: int, query: str = "") -> str:
    return base64.b64decode(api.get(f"/xce/v1/jobs/{job}/logs{query}")["data"]).decode()


def test_exit_codes_signals_and_output(live: Api) -> None:
    good, bad, dead = live.submit("echo out; echo err >&2"), live.submit("exit 4"), live.submit("kill -SEGV $$")
    assert live.wait(good)["status"] == "DONE"
    assert output(live, good) == "out\n" and output(live, good, "?stream=stderr") == "err\n"
    assert live.wait(bad)["exitcode"] == 4
    row = live.wait(dead)
    assert (row["signal"], row.get("exitcode"), row["pendreason"]) == (11, None, "Ended by signal 11")


def test_suspend_is_a_real_stop_and_resume_goes_on(live: Api) -> None:
    job = live.submit("echo $$; while :; do sleep 0.05; done")
    live.wait(job, "RUN")
    pid = int(until(lambda: output(live, job)))
    live.control(job, "stop")
    live.wait(job, "USUSP")
    assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    live.control(job, "resume")
    live.wait(job, "RUN")
    live.control(job, "kill")
    row = live.wait(job)
    assert (row["status"], row["endedby"], row["signal"]) == ("EXIT", "owner", 15)


def test_a_signal_of_ones_own(live: Api) -> None:
    job = live.submit("trap 'echo usr1; exit 0' USR1; echo up; while :; do sleep 0.05; done")
    until(lambda: output(live, job) == "up\n")
    live.control(job, "kill", signal="USR1")
    row = live.wait(job)
    assert (row["status"], row.get("endedby"), output(live, job)) == ("DONE", None, "up\nusr1\n")


def test_a_running_job_is_requeued_and_runs_again(live: Api) -> None:
    job = live.submit("echo attempt $PILOTHOUSE_ATTEMPT; [ $PILOTHOUSE_ATTEMPT = 2 ] || sleep 60")
    until(lambda: output(live, job) == "attempt 1\n")
    live.control(job, "requeue")
    assert live.wait(job)["status"] == "DONE"
    assert output(live, job) == "attempt 2\n"
    assert [run["outcome"] for run in live.job(job)["runs"]] == ["requeued", "done"]


def test_the_memory_limit_and_who_enforced_it(live: Api) -> None:
    job = live.submit("python3 -c 'x = bytearray(300_000_000); import time; time.sleep(30)'", mem_limit="100 MB")
    row = live.wait(job)
    assert (row["status"], row["endedby"], row["memlimitby"]) == ("EXIT", "limit", live.memory_limit_by())
    assert row["maxmem"] > 100


def test_a_run_limit_shortened_while_it_runs(live: Api) -> None:
    job = live.submit("sleep 60", run_limit="05:00")
    live.wait(job, "RUN")
    live.send("PATCH", f"/xce/v1/jobs/{job}", {"run_limit": "00:01"})
    assert live.job(job)["runlimit"] == 60
    live.control(job, "kill")


def test_a_sweep_after_one_job(live: Api, tmp_path: Path) -> None:
    first = live.submit("sleep 0.3")
    array = live.submit(f"echo $LSB_JOBINDEX >> {tmp_path}/ran", array="1-12%5", depends_on=f"afterok:{first}")
    last = live.submit("true", depends_on=f"afterok:{array}")
    assert live.wait(last, seconds=60)["status"] == "DONE"
    assert sorted(map(int, (tmp_path / "ran").read_text().split())) == list(range(1, 13))


def test_drain_and_undrain(live: Api) -> None:
    for node in live.get("/api/admin/nodes"):
        live.post(f"/api/admin/nodes/{node['id']}/disable", {"reason": "new disks"})
    host = live.get("/xce/v1/hosts")[0]
    assert (host["status"], host["node"]["reason"]) == ("closed_Adm", "new disks")
    job = live.submit("true")
    until(lambda: "closed by an administrator" in live.job(job)["pendreason"])
    for node in live.get("/api/admin/nodes"):
        live.post(f"/api/admin/nodes/{node['id']}/enable", {})
    assert live.wait(job)["status"] == "DONE"


def test_hosts_tell_what_the_machine_is(live: Api) -> None:
    host = live.get("/xce/v1/hosts")[0]
    assert host["maxMem"] > 100 and host["maxCpus"] >= 1
    until(lambda: {"r1m", "r15m", "ut", "mem", "tmp"} <= set(live.get("/xce/v1/hosts")[0]["load"]))
