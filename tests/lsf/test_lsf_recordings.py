"""Lists: every recorded answer that a pane is made of, read as it was recorded."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest

from adapters.base import ProtocolError
from adapters.lsf.decode import Rows, read_delimited, read_json, read_table
from adapters.lsf.jobs import JobRows
from adapters.lsf.legacy_jobs import read_jobs
from adapters.lsf.nodes import node, nodes
from adapters.lsf.queues import queue
from adapters.lsf.tables import HOSTS, JOBS, LIM_HOSTS, LOAD, QUEUES, Table
from adapters.model import ArrayInfo, Dependency, Job
from tests.lsf.data import NOW, raw, text

GB = 1024**3


def jobs(rows: Rows) -> dict[str, Job]:
    return {job.id: job for job in JobRows("lsf", NOW, UTC).make(rows.records)}


def json_jobs(name: str) -> list[Job]:
    return list(jobs(read_json(text(name), JOBS)).values())


# Jobs, tier A


def test_a_done_job_with_hms_and_escaped_slashes() -> None:
    (job,) = json_jobs("ibm/bjobs_o_json_hms_done.json")
    assert (job.id, job.status, job.raw_status, job.queue, job.owner) == (
        "22005",
        "succeeded",
        "DONE",
        "short-dmg",
        "user1",
    )
    assert (job.node_names, job.nodes, job.cores, job.exit_code) == (("node01",), 1, 2, 0)
    assert job.walltime_seconds == 600 and job.extensions["peak_memory_bytes"] == round(5.2 * GB)
    assert job.dependencies == (Dependency("22004", "afterok"),)
    assert job.start_time == job.end_time == datetime(2025, 12, 28, 19, 56, tzinfo=UTC)


def test_a_done_job_may_have_an_exit_code() -> None:
    (job,) = json_jobs("ibm/bjobs_o_json_hms_exit.json")
    assert (job.status, job.exit_code, job.reason) == ("succeeded", 1, None)


def test_a_list_of_few_fields() -> None:
    found = json_jobs("ibm/bjobs_o_json_hms_list.json")
    assert [job.status for job in found] == ["failed"] * 3 + ["succeeded"] * 3
    assert found[0].end_time == datetime(2026, 1, 7, 9, 59, tzinfo=UTC)
    assert found[0].queue is None and found[0].owner is None and found[0].cores is None


def test_years_seconds_and_gpus() -> None:
    (job,) = json_jobs("ibm/bjobs_o_json_fp15_gpu_year.json")
    assert (job.cores, job.gpus, job.array, job.memory_bytes) == (32, 4, None, None)
    assert job.submission_time == datetime(2026, 4, 12, 18, 10, tzinfo=UTC)
    assert job.end_time is None
    assert job.extensions["expected_end"] == datetime(2026, 4, 12, 22, 27, 1, tzinfo=UTC)
    assert job.extensions["memory_used_bytes"] == 9 * 1024**2


def test_all_states_of_one_answer() -> None:
    found = json_jobs("ibm/bjobs_o_json_fp15_year_states.json")
    assert [job.raw_status for job in found] == ["RUN", "PEND", "DONE", "EXIT", "USUSP", "DONE"]
    assert [job.status for job in found] == ["running", "pending", "succeeded", "failed", "suspended", "succeeded"]
    assert found[0].walltime_seconds == 20000 * 60
    assert (found[3].exit_code, found[3].reason) == (27, "exit code 27")


def test_a_killed_job_is_cancelled_for_its_reason() -> None:
    rows = read_json(text("ibm/bjobs_o_json_exit_reason_term_owner.json"), JOBS)
    (job,) = JobRows("lsf", NOW, UTC).make([record | {"JOBID": "1"} for record in rows.records])
    assert (job.status, job.exit_code, job.reason) == ("cancelled", None, "TERM_OWNER: job killed by owner")
    assert job.extensions["term_reason"] == "TERM_OWNER"


def test_pend_reasons_lose_their_semicolon() -> None:
    rows = read_json(text("ibm/bjobs_o_json_pend_reason.json"), JOBS)
    found = JobRows("lsf", NOW, UTC).make([record | {"JOBID": "224"} for record in rows.records])
    assert [job.reason for job in found] == [
        "New job is waiting for scheduling",
        "There are no suitable hosts for the job",
    ]
    assert found[1].cores == 1


def test_lines_before_the_json_are_a_banner() -> None:
    rows = read_json(text("ibm/bjobs_o_json_preceded_by_please_wait.txt"), JOBS)
    assert rows.banner == ["Cannot connect to LSF. Please wait ..."] * 3
    assert [record["STAT"] for record in rows.records] == ["PEND"]


def test_empty_fields_are_unknown_and_a_held_job_says_so() -> None:
    rows = read_json(text("ibm/bjobs_o_json_psusp_empty_fields.json"), JOBS)
    (job,) = JobRows("lsf", NOW, UTC).make([record | {"JOBID": "7"} for record in rows.records])
    assert (job.status, job.raw_status, job.reason) == ("pending", "PSUSP", "held")
    assert (job.start_time, job.end_time, job.exit_code, job.node_names) == (None, None, None, ())
    assert job.extensions["held"] is True


def test_minutes_and_seconds_with_their_words() -> None:
    (job,) = json_jobs("ibm/bjobs_o_json_run_units.json")
    assert (job.walltime_seconds, job.cores, job.extensions) == (86400, 43, {"project": "PROJ1"})


def test_the_json_of_a_compatible_scheduler() -> None:
    rows = read_json(text("volclava/bjobs_o_json.out"), JOBS)
    found = jobs(rows)
    assert len(rows.records) == len(found) == 61
    assert found["22"].name == "esc␛[31mred␛[0m" and found["27"].name == "tab␉name"
    assert found["36[2]"].array == ArrayInfo("36", 2)
    assert found["39"].start_time == datetime(2026, 11, 30, 1, 12, 34, tzinfo=UTC)
    assert found["39"].end_time is None and found["39"].extensions == {"project": "proj x"}


def test_no_jobs_as_json() -> None:
    answer = '{\n\t"COMMAND":\t"bjobs",\n\t"JOBS":\t0,\n\t"RECORDS":\t[]\n}\n'
    assert read_json(answer, JOBS).records == []


def test_a_record_with_an_error_is_a_complaint() -> None:
    answer = '{"COMMAND":"bjobs","JOBS":2,"RECORDS":[{"JOBID":"123","ERROR":"Job <123> is not found"},{"JOBID":"5"}]}'
    rows = read_json(answer, JOBS)
    assert rows.complaints == ["Job <123> is not found"] and rows.records == [{"JOBID": "5"}]


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "{}",
        '{"COMMAND":"bjobs","JOBS":1,"RECORDS":[{"JOBID":"1"}',
        '{"COMMAND":"bjobs","JOBS":1,"RECORDS":[{"JOBID":"1",}]}',
        '{"COMMAND":"bjobs","JOBS":1,"RECORDS":[{"JOBID":"1"}]',
        '{"COMMAND":"bjobs","JOBS":1,"RECORDS":["1"]}',
        '{"COMMAND":"bjobs","JOBS":1,"RECORDS":[{"JOBID":"1"} {"JOBID":"2"}]}',
    ],
)
def test_json_that_is_not_whole_is_an_error_and_never_an_empty_list(broken: str) -> None:
    with pytest.raises(ProtocolError):
        read_json(broken, JOBS)


# Jobs, tier B


def test_delimited_rows_with_marks_and_other_peoples_jobs() -> None:
    columns = [
        "jobid",
        "stat",
        "exit_reason",
        "exec_host",
        "user",
        "nalloc_slot",
        "a",
        "first_host",
        "queue",
        "finish_time",
        "start_time",
        "b",
        "submit_time",
        "job_name",
    ]
    header = "|".join(name.upper() for name in columns)
    rows = read_delimited(f"{header}\n{text('ibm/bjobs_noheader_o_pipe.txt')}", JOBS, columns, "|")
    found = jobs(rows)
    assert len(found) == 7 and rows.banner == []
    assert found["764213236"].reason == "TERM_RUNLIMIT: job killed after reaching LSF run time limit"
    assert found["764213236"].status == "failed"
    assert found["764220165"].node_names == () and found["764220165"].start_time is None
    assert found["764245175"].start_time == datetime(2025, 12, 31, 23, 48, tzinfo=UTC)
    assert found["764399747"].end_time == datetime(2026, 2, 2, 14, 56, tzinfo=UTC)


def test_delimited_rows_with_widths() -> None:
    columns = [
        "jobid",
        "stat",
        "queue",
        "from_host",
        "exec_host",
        "run_time",
        "cpu_used",
        "mem",
        "time_left",
        "swap",
        "idle_factor",
        "%complete",
    ]
    rows = read_delimited(text("ibm/bjobs_o_pipe_fp15_widths.txt"), JOBS, columns, "|")
    found = jobs(rows)
    assert [(job.id, job.status, job.node_names) for job in found.values()] == [
        ("173", "running", ("node01.cluster.example",)),
        ("174", "pending", ()),
        ("175", "pending", ()),
    ]
    assert found["173"].extensions["memory_used_bytes"] == 7 * 1024**2


# Jobs, tier C


def test_the_legacy_list_with_every_hostile_name() -> None:
    rows = read_jobs(text("volclava/bjobs_w_a_all.out"))
    found = jobs(rows)
    assert len(found) == 61 and rows.banner == []
    assert Counter(job.raw_status for job in found.values()) == {
        "RUN": 14, "SSUSP": 5, "USUSP": 1, "PSUSP": 1, "PEND": 33, "EXIT": 3, "DONE": 4,
    }  # fmt: skip
    assert found["2"].node_names == ("node02", "node04") and found["2"].cores == 3
    assert found["23"].name == "pipe|comma,space name"
    assert found["28"].name == '<angle>&amp;"q"' and found["29"].name == ""
    assert found["31"].name == 'echo "cmd with; semicolon | pipe [bold]x[/] > /dev/null"; sleep 36000'
    assert found["24"].name == "日本語ジョブ" and len(found["25"].name) == 250
    assert found["30"].array is None and found["16[3]"].array == ArrayInfo("16", 3)
    assert found["9"].submission_time == datetime(2026, 11, 30, 1, 12, tzinfo=UTC)


def test_the_default_list_gives_each_further_host_a_line() -> None:
    found = jobs(read_jobs(text("volclava/bjobs_default_a_all.out")))
    assert len(found) == 61
    assert found["2"].node_names == ("node02", "node04") and found["2"].cores == 3


def test_a_list_whose_bytes_are_no_utf8() -> None:
    told = raw("volclava/bjobs_default_a_all.out").decode("utf-8", "surrogateescape")
    assert any(0xDC80 <= ord(char) <= 0xDCFF for char in told), "the recording cuts a character in the middle"
    found = jobs(read_jobs(told))
    assert all(job.name.isprintable() for job in found.values()) and len(found) == 61


def test_finished_jobs_of_later() -> None:
    found = jobs(read_jobs(text("volclava/late_bjobs_w_a_all.out")))
    assert found["45"].status == "failed" and found["44"].status == "succeeded"
    assert found["36[5]"].node_names == () and found["53"].name == "a[x]" and found["53"].array is None


def test_columns_that_do_not_fit_their_title() -> None:
    found = jobs(read_jobs(text("ibm/bjobs_default_truncated_hosts.txt")))
    assert [(job.id, job.name, job.node_names) for job in found.values()] == [
        ("78796", "demo_job", ("lsfworker-i",)),
        ("78798", "dependent_job", ("lsfworker-d",)),
        ("78807", "another_job", ()),
    ]


def test_waiting_lines_before_the_header_are_a_banner() -> None:
    rows = read_jobs(text("ibm/bjobs_default_with_busy_lines.txt"))
    assert rows.banner == ["LSF is processing your request. Please wait ..."] * 2
    assert [job.id for job in jobs(rows).values()] == ["5157393", "5157493"]


def test_after_a_restart_everything_that_ran_is_unknown() -> None:
    found = jobs(read_jobs(text("volclava/restart_bjobs_all_unkwn_head.out")))
    assert Counter(job.status for job in found.values()) == {"unknown": 12, "pending": 26}
    assert found["66"].node_names == ("node02", "node04")


def test_an_unreachable_host_makes_its_jobs_unknown() -> None:
    found = jobs(read_jobs(text("volclava/unreach_bjobs_w_unkwn.out")))
    assert {job.id: job.status for job in found.values()} == {
        "26": "unknown", "27": "unknown", "36[4]": "unknown",
    }  # fmt: skip
    assert found["26"].reason == "sbatchd on the job's host does not answer"


# Queues


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("volclava/bqueues.out", 9), ("volclava/late_bqueues.out", 9), ("volclava/closed_bqueues.out", 9),
        ("ibm/bqueues_open_inact.txt", 4), ("ibm/bqueues_site_without_limit_columns.txt", 2),
        ("ibm/bqueues_w_10.1_header.txt", 1), ("ibm/bqueues_o_fp15.txt", 8),
    ],
)  # fmt: skip
def test_tables_of_queues(name: str, count: int) -> None:
    rows = read_table(text(name), QUEUES)
    found = [queue("lsf", record) for record in rows.records]
    assert len(found) == count and rows.banner == []
    assert all(row.status != "unknown" and row.running_jobs is not None for row in found)


def test_queues_with_their_states_and_counts() -> None:
    rows = read_table(text("volclava/closed_bqueues.out"), QUEUES)
    found = {row.name: row for row in (queue("lsf", record) for record in rows.records)}
    assert found["tiny"].status == "draining" and found["mem"].status == "inactive"
    rows = read_table(text("volclava/bqueues.out"), QUEUES)
    found = {row.name: row for row in (queue("lsf", record) for record in rows.records)}
    assert (found["normal"].running_jobs, found["normal"].pending_jobs) == (14, 31)
    assert found["tiny"].extensions["slots_max"] == 2 and "slots_max" not in found["normal"].extensions
    (night,) = [
        queue("lsf", r)
        for r in read_table(text("ibm/bqueues_open_inact.txt"), QUEUES).records
        if r["QUEUE_NAME"] == "night"
    ]
    assert night.status == "inactive"


def test_queues_as_json() -> None:
    first = [queue("lsf", record) for record in read_json(text("ibm/bqueues_o_json.json"), QUEUES).records]
    assert [(row.name, row.status, row.running_jobs) for row in first] == [
        ("batch", "active", None),
        ("test", "active", None),
    ]
    (second,) = [queue("lsf", record) for record in read_json(text("ibm/bqueues_o_json_counts.json"), QUEUES).records]
    assert (second.running_jobs, second.pending_jobs, second.extensions["slots_max"]) == (0, 0, 200)


# Hosts and load


def states(table: Table, name: str) -> dict[str, str]:
    return {record["HOST_NAME"]: record["STATUS"] for record in read_table(text(name), table).records}


def test_hosts_with_their_reasons() -> None:
    found = {
        row.name: row for row in nodes("lsf", read_table(text("volclava/closed_bhosts_w.out"), HOSTS).records, (), ())
    }
    assert {name: row.status for name, row in found.items()} == {
        "login1": "idle", "mgmt1": "idle", "node01": "busy", "node02": "busy", "node03": "drain", "node04": "drain",
    }  # fmt: skip
    assert (found["node03"].slots_used, found["node03"].slots_quota) == (4, 4)
    assert found["node03"].reason == "closed_Adm: closed by the administrator"
    assert found["login1"].reason == "closed_Full: no job slots are allowed here"
    assert found["node02"].extensions["slots_per_user"] == 4


def test_hosts_of_a_plain_list_say_only_closed() -> None:
    assert set(states(HOSTS, "volclava/bhosts.out").values()) == {"closed"}
    assert states(HOSTS, "volclava/unreach_bhosts.out")["node04"] == "unreach"
    assert states(HOSTS, "ibm/bhosts_doc_closed_Adm.txt") == {"hostA": "ok", "hostB": "closed"}
    (down,) = [
        node("lsf", r, None, None)
        for r in read_table(text("volclava/unreach_bhosts.out"), HOSTS).records
        if r["HOST_NAME"] == "node04"
    ]
    assert (down.status, down.reason) == ("down", "unreach: sbatchd does not answer")


def test_hosts_without_a_limit() -> None:
    found = nodes("lsf", read_table(text("ibm/bhosts_max_dash.txt"), HOSTS).records, (), ())
    assert [(row.slots_quota, row.slots_total) for row in found] == [(0, 0), (None, None), (None, None)]


def test_hosts_as_json_and_delimited() -> None:
    (full,) = nodes("lsf", read_json(text("ibm/bhosts_o_json.json"), HOSTS).records, (), ())
    assert (full.status, full.slots_used, full.slots_quota) == ("busy", 4, 4)
    columns = ["host_name", "status", "jl_u", "max", "njobs", "run", "ssusp", "ususp", "rsv"]
    (free,) = nodes("lsf", read_delimited(text("ibm/bhosts_o_pipe_fp15.txt"), HOSTS, columns, "|").records, (), ())
    assert (free.name, free.status, free.slots_quota) == ("node01.cluster.example", "idle", 4)
    columns = [
        "host_name",
        "ngpus",
        "ngpus_alloc",
        "ngpus_excl_alloc",
        "ngpus_shared_alloc",
        "ngpus_shared_jexcl_alloc",
        "ngpus_excl_avail",
        "ngpus_shared_avail",
    ]
    table = Table("bhosts", "HOST_NAME", ("host_name",), (), ())
    rows = read_delimited(text("ibm/bhosts_o_gpu_pipe_fp15.txt"), table, columns, "|")
    row = node("lsf", rows.records[0], None, None)
    assert (row.gpu_count, row.gpus_used) == (1, 0)


def test_load_and_hardware_of_hosts() -> None:
    loads = read_table(text("volclava/lsload_l.out"), LOAD).records
    hardware = read_table(text("volclava/lshosts_w.out"), LIM_HOSTS).records
    hosts = read_table(text("volclava/bhosts_w.out"), HOSTS).records
    found = {row.name: row for row in nodes("lsf", hosts, loads, hardware)}
    one = found["node04"]
    assert one.memory_bytes_total == 24105 * 1024**2 and one.memory_bytes_used == (24105 - 22 * 1024) * 1024**2
    assert (one.cores_total, one.features, one.slots_total) == (2, ("cs", "bigmem"), 4)
    assert {key: value for key, value in one.extensions.items() if key.startswith("load_")} == {
        "load_r15s": 9.0, "load_r1m": 13.4, "load_r15m": 3.8, "load_ut": 98.0, "load_pg": 0.0, "load_io": 300000.0,
        "load_ls": 0.0, "load_it": 300000.0, "load_tmp_bytes": 71 * GB, "load_swp_bytes": 0, "load_mem_bytes": 22 * GB,
        "load_status": "ok",
    }  # fmt: skip
    assert found["node01"].extensions["load_status"] == "lockU"


@pytest.mark.parametrize("name", ["volclava/lsload.out", "volclava/lsload_w.out", "volclava/lsload_l.out"])
def test_every_form_of_load(name: str) -> None:
    assert len(read_table(text(name), LOAD).records) == 6


def test_hosts_that_are_down_have_short_rows() -> None:
    rows = read_table(text("volclava/unreach_lsload_unavail.out"), LOAD)
    assert rows.records[-1]["STATUS"] == "unavail" and rows.records[-1]["MEM"] == "" and len(rows.records) == 6
    rows = read_table(text("volclava/restart_lsload.out"), LOAD)
    assert [record["STATUS"] for record in rows.records] == ["ok"] + ["unavail"] * 5


def test_columns_that_have_run_into_each_other_are_unknown_and_the_rest_is_right() -> None:
    (record,) = read_table(text("ibm/lsload_it_tmp_overflow.txt"), LOAD).records
    assert (record["IT"], record["TMP"], record["SWP"], record["MEM"], record["LS"]) == ("", "", "127G", "683G", "0")


def test_noise_that_has_as_many_words_as_a_row_is_no_row() -> None:
    rows = read_table(text("ibm/lsload_o_then_shell_noise.txt"), LOAD)
    assert [record["HOST_NAME"] for record in rows.records] == ["node01.cluster.example"]
    assert rows.banner == ["You have new mail in /var/spool/mail/usr"]
    columns = ["host_name", "status", "r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "tmp", "swp", "mem"]
    rows = read_delimited(text("ibm/lsload_o_then_shell_noise.txt"), LOAD, columns, " ")
    assert len(rows.records) == 1 and rows.banner == ["You have new mail in /var/spool/mail/usr"]


def test_load_delimited() -> None:
    columns = ["host_name", "status", "r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "tmp", "swp", "mem"]
    (record,) = read_delimited(text("ibm/lsload_o_pipe_fp15.txt"), LOAD, columns, "|").records
    assert (record["UT"], record["TMP"]) == ("10%", "37823.2M")


def test_hardware_with_widths_and_other_columns() -> None:
    (record,) = read_table(text("ibm/lshosts_o_widths_fp15.txt"), LIM_HOSTS).records
    assert (record["NCPUS"], record["MAXMEM"], record["MAXTMP"]) == ("4", "16030M", "81886M")
    assert len(read_table(text("volclava/lshosts.out"), LIM_HOSTS).records) == 6


@pytest.mark.parametrize("table", [QUEUES, HOSTS, LOAD, LIM_HOSTS])
def test_text_without_a_header_is_an_error_and_nothing_is_nothing(table: Table) -> None:
    assert read_table("", table).records == []
    with pytest.raises(ProtocolError):
        read_table("something else\n", table)
    with pytest.raises(ProtocolError):
        read_jobs("something else\n")
