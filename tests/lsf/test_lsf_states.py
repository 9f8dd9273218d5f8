"""States of jobs, queues and hosts, TERM reasons, and what is not known."""

from __future__ import annotations

import pytest

from adapters.lsf.states import (
    exit_cause,
    host_reason,
    job_status,
    node_status,
    queue_status,
    term_reason,
)


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("PEND", "pending"), ("PROV", "pending"), ("WAIT", "pending"), ("FWD_PEND", "pending"), ("PSUSP", "pending"),
        ("RUN", "running"), ("USUSP", "suspended"), ("SSUSP", "suspended"), ("DONE", "succeeded"),
        ("POST_DONE", "succeeded"), ("POST_ERR", "succeeded"), ("EXIT", "failed"), ("UNKWN", "unknown"),
        ("ZOMBI", "unknown"), ("NEWSTATE", "unknown"), ("", "unknown"),
    ],
)  # fmt: skip
def test_every_job_state(raw: str, status: str) -> None:
    assert job_status(raw) == status


@pytest.mark.parametrize("term", ["TERM_OWNER", "TERM_ADMIN", "TERM_FORCE_OWNER", "TERM_BUCKET_KILL"])
def test_an_exit_that_somebody_wanted_is_cancelled(term: str) -> None:
    assert job_status("EXIT", term) == "cancelled"


@pytest.mark.parametrize("term", ["TERM_RUNLIMIT", "TERM_MEMLIMIT", "TERM_UNKNOWN", None])
def test_an_exit_at_a_limit_failed(term: str | None) -> None:
    assert job_status("EXIT", term) == "failed"


def test_term_reasons_are_found_in_lsfs_words() -> None:
    assert term_reason("TERM_OWNER: job killed by owner") == "TERM_OWNER"
    assert term_reason(None, "", "Completed <exit>; TERM_RUNLIMIT: job killed after reaching LSF run time limit.") == (
        "TERM_RUNLIMIT"
    )
    assert term_reason("exit code 140") is None


def test_the_cause_is_the_reason_and_never_guessed_from_a_code() -> None:
    assert exit_cause("EXIT", "TERM_RUNLIMIT", 140) == "TERM_RUNLIMIT: reached its run limit"
    assert exit_cause("EXIT", None, 140) == "exit code 140"
    assert exit_cause("EXIT", "TERM_BRAND_NEW", None) == "TERM_BRAND_NEW: ended by LSF"
    assert exit_cause("EXIT", None, None) is None
    assert exit_cause("DONE", None, 0) is None


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("Open:Active", "active"), ("Open:Inact", "inactive"), ("Open:Inact_Win", "inactive"),
        ("Open:Inact_Adm", "inactive"), ("Closed:Active", "draining"), ("Closed:Inact", "inactive"),
        ("Odd:Active", "unknown"), ("Open", "unknown"), ("", "unknown"),
    ],
)  # fmt: skip
def test_every_queue_state(raw: str, status: str) -> None:
    assert queue_status(raw) == status


@pytest.mark.parametrize(
    ("raw", "jobs", "slots", "status"),
    [
        ("ok", 0, 4, "idle"), ("ok", 2, 4, "busy"), ("ok", None, None, "idle"),
        ("closed_Full", 4, 4, "busy"), ("closed_Full", 0, 0, "idle"),
        ("closed_Excl", 6, 8, "busy"), ("closed_cu_Excl", 6, 8, "busy"), ("closed_Busy", 1, 4, "busy"),
        ("closed_Adm", 3, 4, "drain"), ("closed_Lock", 0, 4, "drain"), ("closed_Wind", 0, 4, "drain"),
        ("closed_EGO", 0, 4, "drain"), ("closed_RC", 0, 4, "drain"), ("closed_LIM", 0, 4, "down"),
        ("unavail", 0, 4, "down"), ("unreach", 3, 4, "down"), ("unlicensed", 0, 4, "down"),
        ("closed", 4, 4, "busy"), ("closed", 1, 4, "drain"), ("closed_New", 1, 4, "drain"),
        ("whatever", 0, 4, "unknown"), ("", None, None, "unknown"),
    ],
)  # fmt: skip
def test_every_host_state(raw: str, jobs: int | None, slots: int | None, status: str) -> None:
    assert node_status(raw, jobs, slots) == status


def test_host_reasons_keep_lsfs_word() -> None:
    assert host_reason("ok", 0) is None
    assert host_reason("closed_Adm", 1) == "closed_Adm: closed by the administrator"
    assert host_reason("closed_Full", 0) == "closed_Full: no job slots are allowed here"
    assert host_reason("closed_Full", 4) == "closed_Full: all job slots are in use"
    assert host_reason("closed_New", 4) == "closed_New"
