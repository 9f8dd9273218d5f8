"""A JobSpec as a command line of sbatch: what each field becomes, and what sbatch cannot be told."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from adapters.base import Invalid
from adapters.intents import Command, SubmitJob
from adapters.model import Dependency, JobSpec
from adapters.slurm.options import SlurmOptions
from adapters.slurm.submit import dry_run_of, submission

ID = UUID("12345678-1234-5678-1234-567812345678")
OPTIONS = SlurmOptions("rig")


def made(**spec: object) -> tuple[Command, list[str]]:
    full: dict[str, Any] = {"command": ("true",)} | spec
    intent = SubmitJob(cluster="rig", intent_id=ID, spec=JobSpec(**full))
    command, _, warnings = submission(intent, OPTIONS)
    return command, warnings


def arguments(**spec: object) -> set[str]:
    return set(made(**spec)[0].argv[1:])


def test_the_least_submission() -> None:
    command, warnings = made()
    assert command == Command(
        ("sbatch", "--parsable", "--job-name=true", f"--comment=pilothouse:{ID}"), b"#!/bin/sh\nexec true\n"
    )
    assert warnings == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"name": "--help"}, "--job-name=--help"), ({"queue": "gpu"}, "--partition=gpu"), ({"nodes": 2}, "--nodes=2"),
        ({"account": "bio"}, "--account=bio"), ({"cwd": "/a b"}, "--chdir=/a b"), ({"hold": True}, "--hold"),
        ({"output": "%x-%j.out"}, "--output=%x-%j.out"), ({"error": "e"}, "--error=e"),
        ({"cores": 8}, "--cpus-per-task=8"),
        ({"cores": 8, "nodes": 2}, "--ntasks=8"), ({"walltime_seconds": 5400}, "--time=01:30:00"),
        ({"walltime_seconds": 90061}, "--time=1-01:02:00"), ({"memory_bytes": 4 * 2**30}, "--mem=4096M"),
        ({"memory_bytes": 4 * 10**9}, "--mem=3815M"), ({"memory_bytes": 2**31, "nodes": 2}, "--mem=1024M"),
        ({"gpus": 2}, "--gres=gpu:2"), ({"gpus": 4, "nodes": 2}, "--gres=gpu:2"), ({"gpus": 3, "nodes": 2}, "--gpus=3"),
        ({"gpus": 1, "extensions": {"gpu_type": "a100"}}, "--gres=gpu:a100:1"), ({"array": "0-49%3"}, "--array=0-49%3"),
        ({"extensions": {"qos": "long"}}, "--qos=long"), ({"extensions": {"exclusive": True}}, "--exclusive"),
        ({"extensions": {"features": "ib&skylake"}}, "--constraint=ib&skylake"),
    ],
)  # fmt: skip
def test_each_field(spec: dict[str, object], expected: str) -> None:
    assert expected in arguments(**spec)


def test_rounding_up_is_said() -> None:
    assert made(walltime_seconds=90)[1] == ["Slurm counts time limits in whole minutes: rounded up."]
    assert "rounded up to 3815 MiB." in made(memory_bytes=4 * 10**9)[1][0]
    assert made(memory_bytes=2**30, walltime_seconds=120)[1] == []


def test_dependencies() -> None:
    spec = (Dependency("31", "afterok"), Dependency("29_3", "afterany"), Dependency("", "singleton"))
    assert "--dependency=afterok:31,afterany:29_3,singleton" in arguments(dependencies=spec)
    for wrong in (Dependency("31;rm", "afterok"), Dependency("31", "whenever"), Dependency("", "afterok")):
        with pytest.raises(Invalid):
            made(dependencies=(wrong,))


def test_variables_of_a_command_stand_in_its_script() -> None:
    command, _ = made(command=("echo", "a b", "$HOME"), env={"A": "1", "B": "x,y'z\n"})
    assert command.stdin == b"#!/bin/sh\nexport A=1\nexport B='x,y'\"'\"'z\n'\nexec echo 'a b' '$HOME'\n"
    assert not [part for part in command.argv if part.startswith("--export")]


def test_variables_of_a_script_go_by_export_where_they_can() -> None:
    assert (
        "--export=ALL,A=1,B=two words"
        in made(command=(), script="#!/bin/sh\n", env={"A": "1", "B": "two words"})[0].argv
    )
    for value in ("a,b", "it's", 'a"b', "a\\b", "a\nb"):
        with pytest.raises(Invalid, match=r"value of A holds"):
            made(command=(), script="#!/bin/sh\n", env={"A": value})
    with pytest.raises(Invalid, match="not the name of a variable"):
        made(env={"A=B": "1"})


def test_a_script_goes_by_content_unchanged() -> None:
    script = "#!/bin/bash\n#SBATCH -J mine\necho 'ü $HOME'\n"
    command, _ = made(command=(), script=script)
    assert command.stdin == script.encode() and command.argv[1] == "--parsable"
    assert not [part for part in command.argv if part.startswith("--job-name")], "the script's own name counts"


def test_a_comment_of_the_user_is_kept_and_the_loss_said() -> None:
    command, warnings = made(extensions={"comment": "mine | yours"})
    assert [part for part in command.argv if part.startswith("--comment")] == ["--comment=mine | yours"]
    assert "cannot be looked up" in warnings[0]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"array": "1-"}, "is no array"), ({"array": "a"}, "is no array"),
        ({"cores": 1, "nodes": 2}, "cannot be spread"),
        ({"extensions": {"qoss": "x"}}, "has no 'qoss'"), ({"extensions": {"qos": "a\nb"}}, "control character"),
    ],
)  # fmt: skip
def test_what_sbatch_cannot_be_told(spec: dict[str, object], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        made(**spec)


def test_an_unknown_extension_suggests_the_near_one() -> None:
    with pytest.raises(Invalid) as caught:
        made(extensions={"qoss": "x"})
    assert caught.value.hint == "Do you mean qos?"


def test_the_dry_run_asks_exactly_the_same() -> None:
    command, _ = made(queue="gpu", array="0-3")
    question = dry_run_of(command)
    assert question.stdin == command.stdin
    assert [p for p in question.argv if p != "--test-only"] == [p for p in command.argv if p != "--parsable"]
    assert question.argv.count("--test-only") == 1


def test_another_cluster_is_named_on_the_command_line() -> None:
    intent = SubmitJob(cluster="rig", spec=JobSpec(command=("true",)))
    command, _, _ = submission(intent, SlurmOptions("rig", slurm_cluster="east"))
    assert command.argv[:3] == ("sbatch", "-M", "east")
