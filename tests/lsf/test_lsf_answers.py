"""Every recorded answer to a write -> its outcome, by LSF's words on whichever stream; and what reads' errors mean."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.command import Finished
from adapters.lsf.answers import outcomes
from adapters.lsf.failures import read_failed, says_nothing_found
from adapters.model import Ref
from adapters.plan import Command, Outcome, Step, Target
from tests.lsf.data import answers, finished, text

KINDS = {"badmin": "node", "brsvdel": "reservation", "bconf": "node"}


def step_for(argv: tuple[str, ...], *ids: str, kind: str | None = None) -> Step:
    of = kind or KINDS.get(argv[0], "job")
    targets = tuple(Target(Ref("lsf", of, id)) for id in ids)  # type: ignore[arg-type]
    return Step(Command(argv), targets)


def judged(name: str, *ids: str, kind: str | None = None) -> tuple[Outcome, ...]:
    done = finished(name)
    return outcomes("lsf", step_for(done.argv, *ids, kind=kind), done)


ACCEPTED = [
    ("w_bkill_pend", "13"), ("w_bkill_run", "15"), ("w_bkill_arrayelem", "16[5]"), ("w_bkill_array_fin", "17[1]"),
    ("w_bkill_sig", "1"), ("w_bkill_admin", "33"), ("w_bstop_run", "1"), ("w_bstop_pend", "20"), ("w_bresume_run", "2"),
    ("w_bresume_psusp", "20"), ("w_bmod_pend_q", "20"), ("w_bmod_pend_J", "20"), ("w_bmod_n", "20"),
    ("w_bswitch_ok", "20"), ("w_bswitch_same", "20"), ("w_btop_ok", "12"), ("w_brequeue", "2"),
    ("d_bkill_r_unkwn", "39"),
    ("w_hclose_admin", "node03"), ("w_hclose_again", "node03"), ("w_hopen_admin", "node03"),
    ("w_hopen_again", "node03"),
]  # fmt: skip
REFUSED = [
    ("w_bkill_again", "13", "conflict"), ("w_bkill_finished", "3", "conflict"),
    ("w_bkill_notfound", "99999", "not_found"),
    ("w_bkill_others", "32", "forbidden"), ("w_bkill_badid", "abc", "invalid"), ("w_bstop_fin", "3", "conflict"),
    ("w_bstop_others", "32", "forbidden"), ("w_bstop_notfound", "99999", "not_found"),
    ("w_bresume_fin", "3", "conflict"),
    ("w_bresume_others", "32", "forbidden"), ("w_bmod_run_J", "2", "conflict"), ("w_bmod_run_W", "2", "conflict"),
    ("w_bmod_fin", "3", "conflict"), ("w_bmod_notfound", "99999", "not_found"), ("w_bmod_others", "32", "forbidden"),
    ("w_bmod_badqueue", "20", "not_found"), ("w_bswitch_bad", "20", "not_found"),
    ("w_bswitch_denied", "34", "forbidden"),
    ("w_bswitch_fin", "3", "conflict"), ("w_btop_run", "1", "conflict"), ("w_btop_others", "34", "forbidden"),
    ("w_bbot_ok", "31", "conflict"), ("w_btop_notfound", "99999", "not_found"), ("w_brequeue_pend", "20", "conflict"),
    ("w_hclose_user", "node03", "forbidden"), ("w_hclose_bad", "nosuch", "not_found"),
    ("w_hopen_user", "node03", "forbidden"),
    ("w_bmod_noargs", "1", "invalid"),
]  # fmt: skip
IN_PROGRESS = [
    ("w_bkill_array", "17"), ("w_bstop_stopped", "1"), ("w_bresume_stopped", "1"), ("d_bkill_unkwn", "39"),
    ("d2_bkill_unkwn", "26"), ("d2_bstop_unkwn", "27"), ("d2_bkill_r", "27"), ("m_bkill_bigarray", "54"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "id"), ACCEPTED)
def test_what_lsf_accepted(name: str, id: str) -> None:
    (outcome,) = judged(name, id)
    assert (outcome.result, outcome.ref and outcome.ref.id, outcome.error) == ("accepted", id, None)


@pytest.mark.parametrize(("name", "id", "code"), REFUSED)
def test_what_lsf_refused_and_why(name: str, id: str, code: str) -> None:
    (outcome,) = judged(name, id)
    assert (outcome.result, outcome.error) == ("refused", code)
    said = (answers()[name]["stdout"] + answers()[name]["stderr"]).split()
    assert set(outcome.message.split()) <= set(said), "the words are LSF's own"


@pytest.mark.parametrize(("name", "id"), IN_PROGRESS)
def test_an_operation_in_progress_is_looked_up_and_neither_done_nor_refused(name: str, id: str) -> None:
    (outcome,) = judged(name, id)
    assert (outcome.result, outcome.error) == ("unknown", "unknown") and "in progress" in outcome.message


def test_results_of_one_command_are_told_apart_by_id() -> None:
    found = judged("w_bkill_multi", "3", "99999", "32", "14")
    assert [(o.result, o.error) for o in found] == [
        ("refused", "conflict"),
        ("refused", "not_found"),
        ("refused", "forbidden"),
        ("accepted", None),
    ]


def test_two_hosts_and_a_group() -> None:
    assert [o.result for o in judged("w_hclose_two", "node03", "node04")] == ["accepted", "accepted"]
    found = judged("w_hopen_group", "node03", "node04")
    assert [o.result for o in found] == ["accepted", "accepted"]
    assert "host remains closed due to job limit" in found[0].message and "remains" not in found[1].message


@pytest.mark.parametrize(
    ("name", "queue", "result", "code"),
    [
        ("w_qclose_admin", "tiny", "accepted", None), ("w_qinact_admin", "mem", "accepted", None),
        ("w_qopen_admin", "tiny", "accepted", None), ("w_qact_admin", "mem", "accepted", None),
        ("w_qclose_user", "normal", "refused", "forbidden"),
    ],
)  # fmt: skip
def test_queues(name: str, queue: str, result: str, code: str | None) -> None:
    (outcome,) = judged(name, queue, kind="queue")
    assert (outcome.result, outcome.error) == (result, code)


@pytest.mark.parametrize(
    ("name", "id"),
    [("w_bsub_ok", "47"), ("w_bsub_queue", "48"), ("w_bsub_bigarray", "54"), ("w_bsub_hold", "57")],
)
def test_a_submission_names_what_it_made(name: str, id: str) -> None:
    (outcome,) = judged(name)
    assert outcome.result == "accepted" and outcome.created == Ref("lsf", "job", id)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("w_bsub_badqueue", "not_found"), ("w_bsub_badopt", "invalid"), ("w_bsub_nocmd", "invalid"),
        ("w_bsub_badhost", "not_found"), ("w_bsub_badres", "invalid"), ("w_bsub_badW", "invalid"),
        ("w_bsub_W_over", "invalid"), ("w_bsub_badn", "invalid"), ("w_bsub_baddep", "not_found"),
        ("w_bsub_badproj_denied", "forbidden"), ("w_bsub_badM", "invalid"), ("w_bsub_closedq", "conflict"),
    ],
)  # fmt: skip
def test_a_submission_that_lsf_refused(name: str, code: str) -> None:
    (outcome,) = judged(name)
    assert (outcome.result, outcome.error, outcome.created) == ("refused", code, None)


def answered(argv: tuple[str, ...], out: str = "", err: str = "", rc: int = 0) -> Finished:
    return Finished(argv, rc, out.encode(), err.encode(), 0.1)


def test_lines_of_esub_around_a_submission_do_not_matter() -> None:
    out = "Job will be scheduled after 18:00\nJob <7> is submitted to queue <night>.\nYou have new mail\n"
    (outcome,) = outcomes("lsf", step_for(("bsub",)), answered(("bsub", "x"), out))
    assert outcome.created == Ref("lsf", "job", "7")


@pytest.mark.parametrize(
    "err",
    [
        "Failed in an LSF library call: Communication time out",
        "batch system daemon not responding ... still trying",
        "LSF is processing your request. Please wait ...",
        "a sentence nobody knows",
        "",
    ],
)
@pytest.mark.parametrize("rc", [0, 1, 255])
def test_what_says_nothing_is_unknown_whatever_the_exit_code(err: str, rc: int) -> None:
    for argv, ids in ((("bsub", "x"), ()), (("bkill", "5"), ("5",))):
        found = outcomes("lsf", step_for(argv, *ids), answered(argv, err=err, rc=rc))
        assert [o.result for o in found] == ["unknown"] and found[0].message


def test_a_lim_that_is_not_ready_has_sent_nothing() -> None:
    done = answered(("bkill", "54421878"), err=text("ibm/bkill_lim_not_ready.stderr.txt"), rc=255)
    (outcome,) = outcomes("lsf", step_for(done.argv, "54421878"), done)
    assert (outcome.result, outcome.error) == ("refused", "unavailable")


def test_an_array_is_answered_for_by_its_elements_or_as_a_whole() -> None:
    out = "Job <36[1]> is being terminated\nJob <36[2]> is being terminated\n"
    argv = ("bkill", "36")
    assert outcomes("lsf", step_for(argv, "36"), answered(argv, out))[0].result == "accepted"
    err = answers()["w_bkill_u"]["stderr"]
    (outcome,) = outcomes("lsf", step_for(argv, "36"), answered(argv, err=err, rc=255))
    assert (outcome.result, outcome.error) == ("refused", "forbidden")


def test_another_jobs_line_is_not_taken_for_ours() -> None:
    argv = ("bkill", "1", "11")
    done = answered(argv, "Job <11> is being terminated\n", "Job <1>: User permission denied\n", 255)
    assert [o.result for o in outcomes("lsf", step_for(argv, "1", "11"), done)] == ["refused", "accepted"]


def test_hostile_words_in_an_answer_are_shown_clean() -> None:
    done = answered(("bkill", "5"), err="Job <5>: \x1b[31mUser permission denied\u202e\n", rc=255)
    (outcome,) = outcomes("lsf", step_for(done.argv, "5"), done)
    assert outcome.message == "Job <5>: ␛[31mUser permission denied<U+202E>"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("bjobs_badid", "invalid"), ("bjobs_badqueue", "not_found"), ("bjobs_badhost", "not_found"),
        ("bjobs_badopt", "unsupported"), ("bqueues_bad", "not_found"), ("bhosts_bad", "not_found"),
        ("bqueues_o", "unsupported"), ("m_limdown_lsload", "unavailable"), ("m_limdown_lsid", "unavailable"),
        ("m_mbddown_bjobs", "unavailable"), ("m_limdown_bjobs", "unavailable"), ("bpeek_notfound", "not_found"),
    ],
)  # fmt: skip
def test_what_a_failed_read_means(name: str, code: str) -> None:
    entry: dict[str, Any] = answers()[name]
    error = read_failed(entry["argv"][0], entry["rc"], entry["stdout"].encode(), entry["stderr"].encode())
    assert error.code == code and error.message.startswith(entry["argv"][0])


@pytest.mark.parametrize(
    ("err", "code"),
    [
        ("lsb_init: Failed in an LSF library call: Unable to open file lsf.conf", "unreachable"),
        ("Failed in an LSF library call: External authentication failed", "unauthenticated"),
        ("Batch system concurrent query limit exceeded", "unavailable"),
        ("User permission denied", "forbidden"),
        ("something else", "protocol"),
        ("", "protocol"),
    ],
)
def test_what_other_sentences_mean(err: str, code: str) -> None:
    assert read_failed("bjobs", 255, b"", err.encode()).code == code


@pytest.mark.parametrize("name", ["bjobs_nojobs", "bjobs_notfound", "bjobs_baduser", "bhist_notfound", "badmin_hhist"])
def test_nothing_found_is_an_answer_with_any_exit_code_on_any_stream(name: str) -> None:
    entry = answers()[name]
    assert says_nothing_found(entry["stdout"].encode(), entry["stderr"].encode())


def test_every_recorded_write_is_judged_in_this_file() -> None:
    """A recording that is added later has to be judged as well."""
    judged_here = {entry[0] for entry in [*ACCEPTED, *REFUSED, *IN_PROGRESS]}
    others = {
        "w_bkill_0_none", "w_bkill_J", "w_bkill_u", "w_bkill_noarg", "w_bkill_l",  # forms that are never sent
        "w_badmin_noargs_eof", "w_badmin_hhist", "w_badmin_ckconfig", "w_badmin_reconfig_user",
        "w_bkill_multi", "w_hclose_two", "w_hclose_group", "w_hopen_group", "w_bswitch_run", "w_bsub_badarray",
    }  # fmt: skip
    writes = {name for name in answers() if name.startswith("w_") and not name.startswith(("w_bsub", "w_q"))}
    assert writes - judged_here - others == set()
