"""From a form to a specification or a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.model import Job
from adapters.units import parse_size
from console.forms import FieldError, changes, of_job, submission


def test_a_full_form() -> None:
    spec = submission(
        {"command": "python train.py --lr '0.1 x'", "name": "t", "queue": "gpu", "cores": "4", "memory": "8GB",
         "walltime": "1:30", "gpus": "0", "nodes": "2", "array": "1-3", "cwd": "/x", "env": "A=1 B='2 3'", "hold": "y"}
    )  # fmt: skip
    assert spec.command == ("python", "train.py", "--lr", "0.1 x")
    assert (spec.cores, spec.memory_bytes, spec.walltime_seconds, spec.gpus) == (4, 8 * 10**9, 5400, 0)
    assert spec.env == {"A": "1", "B": "2 3"} and spec.hold and spec.script is None


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({}, "command", "a command"),
        ({"command": "x", "script": "y"}, "command", "one of the two"),
        ({"command": "a 'b"}, "command", "quote"),
        ({"command": "a | b"}, "command", "sh -c"),
        ({"command": "a; b"}, "command", "sh -c"),
        ({"command": "a >out"}, "command", "sh -c"),
        ({"command": "x", "cores": "many"}, "cores", "whole number"),
        ({"command": "x", "cores": "0"}, "cores", "At least 1"),
        ({"command": "x", "memory": "4"}, "memory", "unit"),
        ({"command": "x", "walltime": "90"}, "walltime", "bare number|unit"),
        ({"command": "x", "env": "A"}, "env", "NAME=VALUE"),
        ({"script": "/nowhere/at/all"}, "script", "cannot be read"),
    ],
)
def test_what_cannot_be_names_its_field(values: dict[str, str], field: str, words: str) -> None:
    with pytest.raises(FieldError, match=words) as caught:
        submission(values)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("known", "typed", "argv"),
    [
        ("echo hi; sleep 2", "sh -c 'echo hi; sleep 2'", ("sh", "-c", "echo hi; sleep 2")),
        ("python train.py", "python train.py", ("python", "train.py")),
        ("it's broken", "sh -c 'it'\"'\"'s broken'", ("sh", "-c", "it's broken")),
        (["sh", "-c", "a | b"], "sh -c 'a | b'", ("sh", "-c", "a | b")),
        ("grep 'a|b' f", "grep 'a|b' f", ("grep", "a|b", "f")),
        (None, "", ()),
    ],
)
def test_a_command_again_means_what_it_meant(known: object, typed: str, argv: tuple[str, ...]) -> None:
    shown = of_job(Job("1", extensions={"command": known}))["command"]
    assert shown == typed
    if argv:
        assert submission({"command": shown}).command == argv


def test_a_script_is_read(tmp_path: Path) -> None:
    file = tmp_path / "job.sh"
    file.write_text("#!/bin/sh\necho hi\n")
    assert submission({"script": str(file)}).script == "#!/bin/sh\necho hi\n"
    file.write_bytes(b"\xff")
    with pytest.raises(FieldError, match="UTF-8"):
        submission({"script": str(file)})


def test_only_what_differs_is_changed() -> None:
    before = of_job(Job("1", "a", queue="q", cores=4, memory_bytes=4 * 10**9, walltime_seconds=3600))
    assert changes(before, before) == {}
    assert changes({**before, "cores": "8", "memory": "8GB", "walltime": "2h"}, before) == {
        "cores": 8, "memory_bytes": 8 * 10**9, "walltime_seconds": 7200,
    }  # fmt: skip
    with pytest.raises(FieldError, match="only changed"):
        changes({**before, "queue": ""}, before)


@given(st.integers(1, 10**15))
def test_a_size_shown_in_a_form_reads_back_as_the_same_bytes(size: int) -> None:
    assert parse_size(of_job(Job("1", memory_bytes=size))["memory"]) == size


@pytest.mark.parametrize("seconds", [1, 59, 60, 600, 3599, 3600, 5400, 86_400, 100 * 3600, 8_640_000 + 61])
def test_a_time_limit_that_is_filled_in_reads_back_as_the_same(seconds: int) -> None:
    """Ten minutes once came back as ten hours."""
    filled = of_job(Job("1", "x", extensions={"command": "true"}, walltime_seconds=seconds))
    assert submission(filled).walltime_seconds == seconds
    assert changes(filled, filled) == {}
