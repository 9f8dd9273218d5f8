"""The command line on LSF: the real program way down to the commands, which are a double."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from console.__main__ import main
from tests.doubles.lsf.double import LsfDouble
from tests.lsf.support import ME, add, lsf

Run = Callable[..., int]


@pytest.fixture
def double(tmp_path: Path) -> LsfDouble:
    return lsf(tmp_path)


@pytest.fixture
def run(double: LsfDouble, tmp_path: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    config = tmp_path / "config.toml"
    config.write_text('version = 1\ndefault_cluster = "hpc"\n[clusters.hpc]\ntype = "lsf"\n')
    for name in ("PATH", "LSF_ENVDIR", "LSF_DOUBLE_DIALECT"):
        monkeypatch.setenv(name, double.environment[name])
    monkeypatch.setattr("console.gate.verify.POLLED", (0.05, 0.2, 1.0), raising=False)

    def command(*argv: str) -> int:
        try:
            return main(["--config", str(config), *argv])
        except SystemExit as end:
            return int(str(end.code))

    return command


def test_cancel_ends_one_element_of_an_array(run: Run, double: LsfDouble, capsys: pytest.CaptureFixture[str]) -> None:
    id = add(double, name="arr", index=1)
    for index in (2, 3):
        double.job(id=int(id), user=ME, name="arr", index=index, submit=1)
    assert run("cancel", f"{id}[3]", "--yes") == 0
    told = capsys.readouterr()
    assert f"cancel: {id}[3] accepted" in told.out and f"bkill '{id}[3]'" in told.err
    assert [command.argv for command in double.received()] == [("bkill", f"{id}[3]")]
    with double.world() as world:
        assert [job["stat"] for job in world["jobs"]] == ["PEND", "PEND", "EXIT"]


def test_lists_show_what_lsf_says(run: Run, double: LsfDouble, capsys: pytest.CaptureFixture[str]) -> None:
    add(double, name="evil [red]\x1b[31m", stat="RUN")
    assert run("jobs") == run("nodes") == run("queues") == run("metrics") == 0
    told = capsys.readouterr().out
    assert "evil [red]␛[31m" in told and "node03" in told and "short" in told and "\x1b" not in told


def test_doctor_names_the_tier_and_why(run: Run, double: LsfDouble, capsys: pytest.CaptureFixture[str]) -> None:
    add(double)
    double.set_mode(refused=["gpu_num"])
    assert run("doctor") == 0
    told = capsys.readouterr().out
    assert "IBM Spectrum LSF Standard 10.1.0.15" in told
    assert "bjobs: tier A (-o with -json), because it knows this best form; without gpu_num" in told
    assert "about 6 scheduler calls a minute" in told


def test_doctor_says_what_does_not_answer(run: Run, double: LsfDouble, capsys: pytest.CaptureFixture[str]) -> None:
    double.set_mode(rate_limited=True)
    assert run("doctor") == 1
    assert "bhosts: Batch system concurrent query limit exceeded" in capsys.readouterr().out
