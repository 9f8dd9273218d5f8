"""Long forms and logs of one job, queue or host: every recorded one that a detail view is made of."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from adapters.lsf.details import from_archive, from_long, hosts_in
from adapters.lsf.hosts import slots_by_host
from adapters.lsf.logs import peeked
from adapters.lsf.longform import JobDetail, read_details
from adapters.lsf.longform_hosts import read_hosts, read_queues
from adapters.lsf.site import identify
from adapters.lsf.states import term_reason
from adapters.lsf.times import Clock
from adapters.model import Job
from tests.lsf.data import NOW, raw, text

CLOCK = Clock(NOW, UTC)


def one(name: str) -> JobDetail:
    (detail,) = read_details(text(name))
    return detail


def test_a_running_job_of_fix_pack_14() -> None:
    job = one("ibm/bjobs_l_run_fp14.txt")
    assert (job.id, job.fields["User"], job.fields["Queue"], job.fields["Job Name"]) == (
        "78796",
        "user1",
        "inter",
        "demo_job",
    )
    assert job.fields["Command"].startswith("#!/bin/bash; #BSUB -P bio;#BSUB -q inter;")
    assert job.run_limit_seconds == 20160 * 60 and job.amount("MAX MEM") == 38 * 1024**2
    found = from_long(job)
    assert found["output_file"] == "logs/78856_smlv.stdout" and found["error_file"] == "logs/78856_smlv.stderr"
    assert found["submission_directory"] == found["working_directory"] == "/data/group/analysis/demo_job"
    assert job.ended is None and job.exit_code is None


def test_an_exit_code_and_folded_words() -> None:
    job = one("ibm/bjobs_l_exit_42_2012.txt")
    assert (job.exit_code, job.term, job.fields["Queue"]) == (42, None, "pub.1h")
    assert from_long(job)["requirements"] == "select[mem<70000] order[-ut] rusage[mem=1024,xs=1]"
    assert from_long(job)["output_file"] == "lsf.o%J"


def test_a_done_job_with_a_normalised_run_limit() -> None:
    job = one("ibm/bjobs_l_done_runlimit_2012.txt")
    assert (job.exit_code, job.run_limit_seconds) == (0, 28800)
    assert job.started is not None and CLOCK.read(job.started[0]) == datetime(2026, 7, 24, 10, 4, 19, tzinfo=UTC)
    assert job.fields["Command"].endswith("-threads 2")


def test_a_limit_between_the_time_lines() -> None:
    job = one("ibm/bjobs_l_exit_127_memlimit_2020.txt")
    assert (job.exit_code, job.memory_limit_bytes) == (127, round(37.1 * 1024**3))
    assert job.started is not None and slots_by_host(hosts_in(job.started[1])) == {"node188.hpc.local": 12}


def test_the_unfolded_form() -> None:
    job = one("ibm/bjobs_UF_run.txt")
    assert job.amount("AVG MEM") == 2 * 1024**2
    assert job.started is not None and slots_by_host(hosts_in(job.started[1])) == {"node01": 2}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("volclava/bjobs_l_a_all.out", 61), ("volclava/bjobs_UF_a_all.out", 61),
        ("volclava/late_bjobs_l_a_all.out", 74), ("volclava/bhist_l_array.out", 6),
        ("volclava/unreach_bjobs_l_unkwn.out", 1),
    ],
)  # fmt: skip
def test_every_job_of_a_long_answer_is_found(name: str, count: int) -> None:
    found = read_details(text(name))
    assert len(found) == count == len({job.id for job in found})
    assert all("User" in job.fields and "Command" in job.fields for job in found)


def test_reasons_limits_and_descriptions() -> None:
    found = {job.id: job for job in read_details(text("volclava/bjobs_l_a_all.out"))}
    assert found["9"].reasons == ("Job slot limit reached: 5 hosts", "Running an exclusive job: 1 host")
    assert found["10"].reasons == ("The job was suspended by user",)
    assert found["41"].fields["Job Description"] == "a description" and found["41"].fields["Command"] == "sleep 36000"
    assert (found["41"].run_limit_seconds, found["41"].memory_limit_bytes) == (3600, 512000 * 1024)
    assert found["28"].fields["Job Name"] == '<angle>&amp;"q"'
    assert found["31"].fields["Command"] == 'echo "cmd with; semicolon | pipe [bold]x[/] > /dev/null"; sleep 36000'


def test_ends_of_jobs() -> None:
    found = {job.id: job for job in read_details(text("volclava/late_bjobs_l_a_all.out"))}
    assert (found["4"].exit_code, found["6"].exit_code, found["7"].exit_code, found["45"].exit_code) == (
        3,
        130,
        140,
        127,
    )
    assert found["13"].exit_code is None and found["13"].ended == ("Mon Nov 30 01:26:27", "Exited")
    assert found["44"].exit_code == 0


def test_a_spoofed_name_does_not_make_another_job_or_another_end() -> None:
    evil = "x>, User <root>, Project <p>, Status <DONE>, Command <rm"
    head = f"Job <5>, Job Name <{evil}>, User <ana>, Project <default>, Status <RUN>, Queue <normal>, Command <a\n"
    body = "Mon Nov 30 01:12:31: Done successfully. The CPU time used is 0.0 seconds.\nJob <6>, User <root>\n>\n"
    end = "Mon Nov 30 01:12:32: Submitted from host <login1>, CWD <$HOME>;\n"
    found = read_details("\n" + head + body + end)
    assert found[0].id == "5"
    assert found[0].submitted.startswith("Submitted from host <login1>")
    assert found[0].ended is None and found[0].exit_code is None
    assert len(found) == 1


def archived(name: str) -> Job:
    return from_archive("lsf", one(name), CLOCK)


def test_accounting_of_a_killed_job() -> None:
    job = archived("ibm/bacct_l_term_owner_2012.txt")
    assert (job.id, job.status, job.raw_status, job.exit_code) == ("3224113", "cancelled", "EXIT", None)
    assert job.reason == "TERM_OWNER: killed by its owner" and job.node_names == ("a3191",)
    assert job.start_time == datetime(2026, 10, 5, 17, 50, 35, tzinfo=UTC)
    assert (job.extensions["cpu_seconds"], job.extensions["peak_memory_bytes"]) == (0, 1024**2)


def test_accounting_with_gpus_and_years() -> None:
    job = archived("ibm/bacct_l_gpu_UF_fp14.txt")
    assert (job.status, job.exit_code, job.cores, job.nodes) == ("succeeded", 0, 4, 2)
    assert job.end_time == datetime(2026, 4, 12, 17, 24, 14, tzinfo=UTC)
    assert job.extensions["peak_memory_bytes"] == 11 * 1024**2


def test_events_of_jobs_that_are_over() -> None:
    failed = archived("volclava/bhist_l_4.out")
    assert (failed.raw_status, failed.exit_code, failed.queue, failed.name) == ("EXIT", 3, "normal", "exit3")
    limit = archived("volclava/bhist_l_7_runlimit.out")
    assert (limit.exit_code, limit.reason) == (140, "exit code 140")
    element = from_archive("lsf", read_details(text("volclava/bhist_l_array.out"))[2], CLOCK)
    assert element.id == "16[3]" and element.array is not None and element.array.index == 3
    lost = archived("volclava/unreach_bhist_l_kill.out")
    assert lost.raw_status == "RUN" and lost.end_time is None


def test_the_report_behind_a_jobs_output_names_the_reason() -> None:
    assert term_reason(text("ibm/job_report_runlimit_140.txt")) == "TERM_RUNLIMIT"
    assert term_reason(text("ibm/job_report_runlimit_signal_12.txt")) == "TERM_RUNLIMIT"


def test_queues_in_detail() -> None:
    found = read_queues(text("volclava/bqueues_l.out"))
    assert list(found) == ["owners", "short", "excl", "normal", "fair", "mem", "tiny", "night", "load"]
    assert found["short"].run_limit_seconds == 60 and found["short"].hosts == ("compute/",)
    assert found["mem"].memory_limit_bytes == 102400 * 1024
    assert found["owners"].users == ("ana",) and found["owners"].description == "For ana only."
    closed = read_queues(text("volclava/closed_bqueues_l.out"))
    assert (closed["tiny"].comment, closed["mem"].comment) == ("maintenance", "drain")


def test_limits_of_a_queue_by_their_section() -> None:
    answer = (
        "\nQUEUE: q\n  -- d\n\nPARAMETERS/STATISTICS\nPRIO NICE STATUS\n 30    0  Open:Active\n\nDEFAULT LIMITS:\n"
        " RUNLIMIT\n 30.0 min of hosta\n\nMAXIMUM LIMITS:\n CPULIMIT             RUNLIMIT             MEMLIMIT\n"
        " 480.0 min of hosta   1440.0 min           2 G\n\nSCHEDULING PARAMETERS\nUSERS: all\n"
    )
    found = read_queues(answer)["q"]
    assert (found.default_run_limit_seconds, found.run_limit_seconds) == (1800, 86400)
    assert found.memory_limit_bytes == 2 * 1024**3


def test_hosts_in_detail() -> None:
    found = read_hosts(text("volclava/closed_bhosts_l.out"))
    assert found["node03"].comment == "disk replace [bold]x[/] | ticket 42"
    assert (found["node01"].comment, found["node01"].thresholds) == (None, ())
    assert list(read_hosts(text("volclava/unreach_bhosts_l.out"))) == ["node04"]
    assert list(read_hosts(text("ibm/bhosts_l_doc_closed_Adm.txt"))) == ["hostB"]
    assert len(read_hosts(text("volclava/bhosts_l.out"))) == 6
    limits = text("volclava/closed_bhosts_l.out").replace(" loadSched   -     - ", " loadSched  0.7    - ", 1)
    assert read_hosts(limits)["node01"].thresholds == ("r15s loadSched 0.7",)


@pytest.mark.parametrize(
    ("name", "product", "version", "cluster", "ibm"),
    [
        ("ibm/lsid_10.1.txt", "IBM Spectrum LSF Standard", (10, 1, 0, 0), "myCluster", True),
        ("ibm/lsid_fp15_community.txt", "IBM Spectrum LSF Community Edition", (10, 1, 0, 15), "test-cluster", True),
        ("volclava/lsid.out", "volclava project", (2, 2), "volclava", False),
    ],
)
def test_versions(name: str, product: str, version: tuple[int, ...], cluster: str, ibm: bool) -> None:
    found = identify("Last login: today\n" + text(name))
    assert (found.product, found.version, found.cluster, found.ibm) == (product, version, cluster, ibm)


def test_live_output_keeps_its_bytes() -> None:
    shown = peeked(raw("volclava/late_bpeek_escapes.out"), "stdout")
    assert shown.startswith(b"line 1\nerr 1\n") and b"\x1b[31mred\x1b[0m" in shown and shown.endswith(b"\r\n")
    both = b"<< output from stdout >>\none\n<< output from stderr >>\ntwo\n"
    assert (peeked(both, "stdout"), peeked(both, "stderr")) == (b"one\n", b"two\n")
