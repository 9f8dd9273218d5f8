"""The double of LSF's commands says what the recorded scheduler said, on the same stream, with the same exit code."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.doubles.lsf.double import LsfDouble
from tests.lsf.data import answers
from tests.lsf.support import ME, add, lsf


def said(text: str) -> list[str]:
    """Lines with their ids, names and surplus blanks taken out."""
    lines = [re.sub(r"<[^<>]*>|\b\d+(\[\d+\])?", "N", line) for line in text.splitlines()]
    return [re.sub(r"\b(node\d\d|nosuch|normal|tiny|mem|short|abc)\b", "N", line).strip() for line in lines]


def run(double: LsfDouble, *argv: str) -> tuple[int, list[str], list[str]]:
    done = subprocess.run(
        [str(double.bin / argv[0]), *argv[1:]],
        env=double.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, said(done.stdout), said(done.stderr)


@pytest.fixture
def double(tmp_path: Path) -> LsfDouble:
    """Job 101 waits, 102 runs, 103 is over, 104 is another's."""
    made = lsf(tmp_path)
    add(made)
    add(made, stat="RUN")
    add(made, stat="DONE", end=5)
    add(made, user="ben")
    with made.world() as world:
        world["admins"] = []
        world["queues"]["tiny"] = dict(world["queues"]["short"])
    return made


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("w_bsub_ok", ["bsub", "-J", "w1", "sleep", "3600"]),
        ("w_bsub_queue", ["bsub", "-q", "short", "sleep", "5"]),
        ("w_bsub_badqueue", ["bsub", "-q", "nosuch", "sleep", "5"]),
        ("w_bsub_nocmd", ["bsub", "-J", "x"]),
        ("w_bkill_pend", ["bkill", "101"]),
        ("w_bkill_finished", ["bkill", "103"]),
        ("w_bkill_notfound", ["bkill", "99999"]),
        ("w_bkill_others", ["bkill", "104"]),
        ("w_bkill_badid", ["bkill", "abc"]),
        ("w_bkill_multi", ["bkill", "103", "99999", "104", "101"]),
        ("w_bkill_sig", ["bkill", "-s", "USR1", "102"]),
        ("w_bstop_run", ["bstop", "102"]),
        ("w_bresume_run", ["bresume", "102"]),
        ("w_bmod_pend_J", ["bmod", "-J", "renamed", "101"]),
        ("w_bmod_run_J", ["bmod", "-J", "renamed", "102"]),
        ("w_bmod_others", ["bmod", "-J", "x", "104"]),
        ("w_bmod_notfound", ["bmod", "-J", "x", "99999"]),
        ("w_bswitch_ok", ["bswitch", "short", "101"]),
        ("w_bswitch_bad", ["bswitch", "nosuch", "101"]),
        ("w_btop_ok", ["btop", "101"]),
        ("w_brequeue", ["brequeue", "102"]),
        ("w_brequeue_pend", ["brequeue", "101"]),
        ("w_hclose_user", ["badmin", "hclose", "node03"]),
        ("w_qclose_user", ["badmin", "qclose", "normal"]),
        ("bjobs_notfound", ["bjobs", "99999"]),
        ("bjobs_badid", ["bjobs", "abc"]),
        ("bjobs_badqueue", ["bjobs", "-q", "nosuch"]),
        ("bjobs_badhost", ["bjobs", "-m", "nosuch"]),
        ("bqueues_bad", ["bqueues", "nosuch"]),
        ("bhosts_bad", ["bhosts", "nosuch"]),
        ("bpeek_pend", ["bpeek", "101"]),
        ("bpeek_notfound", ["bpeek", "99999"]),
        ("bhist_notfound", ["bhist", "99999"]),
    ],
)
def test_the_double_answers_as_recorded(double: LsfDouble, name: str, argv: list[str]) -> None:
    recorded = answers()[name]
    assert run(double, *argv) == (recorded["rc"], said(recorded["stdout"]), said(recorded["stderr"]))


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("w_hclose_admin", ["badmin", "hclose", "-C", "disk", "node03"]),
        ("w_hclose_two", ["badmin", "hclose", "node03", "node02"]),
        ("w_hclose_bad", ["badmin", "hclose", "nosuch"]),
        ("w_qclose_admin", ["badmin", "qclose", "-C", "maintenance", "tiny"]),
        ("w_qinact_admin", ["badmin", "qinact", "-C", "drain", "short"]),
        ("w_qopen_admin", ["badmin", "qopen", "tiny"]),
    ],
)
def test_the_double_answers_an_administrator_as_recorded(double: LsfDouble, name: str, argv: list[str]) -> None:
    with double.world() as world:
        world["admins"] = [ME]
    recorded = answers()[name]
    assert run(double, *argv) == (recorded["rc"], said(recorded["stdout"]), said(recorded["stderr"]))


def test_tables_have_the_columns_of_the_recorded_ones(double: LsfDouble) -> None:
    for argv, file in (
        (["bjobs", "-w"], "bjobs_w_a_all.out"),
        (["bhosts", "-w"], "bhosts_w.out"),
        (["lshosts", "-w"], "lshosts_w.out"),
        (["lsload", "-l"], "lsload_l.out"),
    ):
        done = subprocess.run(
            [str(double.bin / argv[0]), *argv[1:]], env=double.environment, capture_output=True, text=True, check=True
        )
        recorded = (Path(__file__).parents[1] / "data" / "lsf" / "volclava" / file).read_bytes()
        assert done.stdout.split("\n")[0].split() == recorded.split(b"\n")[0].decode().split(), argv
