"""Templates: the built-in ones' rules, and files of the person's own with strict parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.model import Dependency, JobSpec
from console.tools import ToolError, user_templates
from console.tools.templates import Submission, spec_of

TRAIN = """
version = 1
meaning = "train the model"
command = ["python", "train.py", "--epochs", "{epochs}", "--lr={lr}", "--kind", "{kind}", "--in", "{data}"]
open = ["walltime_seconds"]
[job]
queue = "gpu"
gpus = 1
memory = "16GB"
walltime = "2:00:00"
[parameters.epochs]
type = "integer"
min = 1
max = 100
default = 10
[parameters.lr]
type = "number"
max = 1.0
[parameters.kind]
type = "choice"
choices = ["small", "large"]
default = "small"
[parameters.data]
type = "text"
default = "in.csv"
"""
SCRIPT = """
version = 1
meaning = "a script"
script = '''#!/bin/sh
cd ${work}
process {file}
'''
[parameters.file]
type = "text"
pattern = ".+"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "templates"
    place.mkdir()
    monkeypatch.setattr(user_templates, "folders", lambda: (place,))
    (place / "train.toml").write_text(TRAIN)
    (place / "script.toml").write_text(SCRIPT)
    return place


def spec(**given: Any) -> JobSpec:
    return spec_of(Submission(**given))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"template": "general_serial", "nodes": 2}, "has no nodes"),
        ({"template": "mpi"}, "needs cores"),
        ({"template": "gpu"}, "needs gpus"),
        ({"template": "array"}, "needs array"),
        ({"template": "chain"}, "needs dependencies"),
        ({"template": "chain", "array": "1-3", "dependencies": [{"id": "1"}]}, "has no array"),
        ({"template": "array", "array": "1-100001"}, "more than 100000"),
        ({"template": "nothing"}, "There is no template"),
        ({"template": "../../etc/passwd"}, "There is no template"),
        ({"template": "gpu", "gpus": 1, "parameters": {"x": 1}}, "takes no parameters"),
    ],
)
def test_what_a_template_does_not_allow(folder: Path, given: dict[str, Any], told: str) -> None:
    with pytest.raises(ToolError, match=told):
        spec(command=("true",), **given)


def test_the_built_in_ones() -> None:
    assert spec(command=("true",), template="mpi", cores=64, nodes=2).nodes == 2
    chained = spec(command=("true",), template="chain", dependencies=[{"id": "12", "kind": "afterany"}])
    assert chained.dependencies == (Dependency("12", "afterany"),)


def test_a_template_of_the_persons_own(folder: Path) -> None:
    found = spec(template="train", parameters={"lr": 0.1, "epochs": 5}, name="mine", walltime_seconds=60, hold=True)
    assert found.command == (
        "python", "train.py", "--epochs", "5", "--lr=0.1", "--kind", "small", "--in", "in.csv",
    )  # fmt: skip
    assert (found.queue, found.gpus, found.memory_bytes, found.walltime_seconds) == ("gpu", 1, 16_000_000_000, 60)
    assert (found.name, found.hold) == ("mine", True)


def test_values_in_a_script_are_quoted_for_the_shell(folder: Path) -> None:
    found = spec(template="script", parameters={"file": "a b; rm -rf $HOME"})
    assert found.script == "#!/bin/sh\ncd ${work}\nprocess 'a b; rm -rf $HOME'\n"


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({}, "needs a value for lr"),
        ({"lr": 0.1, "rate": 2}, "no parameter rate"),
        ({"lr": 2.0}, "from - to 1.0"),
        ({"lr": "0.1"}, "a number is expected"),
        ({"lr": 0.1, "epochs": 0}, "from 1 to 100"),
        ({"lr": 0.1, "epochs": 1.5}, "a whole number"),
        ({"lr": 0.1, "kind": "huge"}, "one of small, large"),
        ({"lr": 0.1, "data": "a b"}, "not of the form"),
        ({"lr": 0.1, "data": "-rf"}, "not of the form"),
        ({"lr": 0.1, "data": "$(id)"}, "not of the form"),
        ({"lr": 0.1, "data": "a\nb"}, "not of the form"),
    ],
)
def test_parameters_are_strict(folder: Path, parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(ToolError, match=told):
        spec(template="train", parameters=parameters)


@pytest.mark.parametrize("given", [{"queue": "short"}, {"command": ("sh",)}, {"script": "x"}, {"cores": 4}])
def test_what_the_template_sets_is_not_the_callers(folder: Path, given: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="by itself"):
        spec(template="train", parameters={"lr": 0.1}, **given)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("version = 2", "version"),
        ('version = 1\nmeaning = "x"', "command or a script"),
        ('version = 1\nmeaning = "x"\ncommand = ["{a}"]', "must be the same: a"),
        ('version = 1\nmeaning = "x"\ncommand = ["a"]\nsudo = true', "sudo"),
        ('version = 1\nmeaning = "x"\ncommand = ["a"]\nopen = ["script"]', "cannot be left open"),
        ('version = 1\nmeaning = "x"\ncommand = ["a"]\n[job]\nmemory = "16G"', "decimal or binary"),
        ("not toml", "not valid"),
    ],
)
def test_a_file_that_is_no_template(folder: Path, text: str, told: str) -> None:
    (folder / "bad.toml").write_text(text)
    with pytest.raises(ToolError, match=told):
        spec(template="bad")


def test_a_file_that_others_can_change_is_refused(folder: Path) -> None:
    (folder / "train.toml").chmod(0o666)
    with pytest.raises(ToolError, match="others can change"):
        spec(template="train", parameters={"lr": 0.1})


def test_what_there_is_is_said(folder: Path) -> None:
    (folder / "Not a name.toml").write_text(TRAIN)
    assert user_templates.names() == ["script", "train"]
    with pytest.raises(ToolError) as error:
        spec(template="trian")
    assert "script, train" in error.value.hint
