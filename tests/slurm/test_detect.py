"""Finding a Slurm, and what `open_slurm` makes of a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.base import Reader, Unavailable, Writer
from adapters.slurm import detect, open_slurm
from adapters.slurm.options import SlurmOptions
from tests.doubles.slurm_replay import install

DATA = Path(__file__).parent.parent / "data" / "slurm"


@pytest.mark.parametrize("version", ["20.11", "22.05", "24.11", "26.05"])
async def test_a_slurm_is_found_with_its_name_and_version(version: str, tmp_path: Path) -> None:
    bin_dir = install(tmp_path / "bin", DATA / version / "answers.json")
    found = await detect({"PATH": f"{bin_dir}:/usr/bin:/bin"})
    assert found is not None and found.answers and found.problem is None
    assert (found.name, str(found.version)[:5]) == ("rig", version)


async def test_no_command_no_slurm(tmp_path: Path) -> None:
    assert await detect({"PATH": str(tmp_path)}) is None


async def test_another_program_of_that_name_is_none(tmp_path: Path) -> None:
    (tmp_path / "squeue").write_text("#!/bin/sh\necho a game of squeue 1.0\n")
    (tmp_path / "squeue").chmod(0o755)
    assert await detect({"PATH": f"{tmp_path}:/usr/bin:/bin"}) is None


async def test_a_slurm_whose_controller_is_down_is_found_and_says_so(tmp_path: Path) -> None:
    for name, script in (
        ("squeue", "echo slurm 24.11.5"),
        (
            "scontrol",
            "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
        ),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    found = await detect({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert found is not None and not found.answers and isinstance(found.problem, Unavailable)
    assert (found.name, str(found.version)) == ("slurm", "24.11.5")


def test_a_profile_opens_without_asking_anything(tmp_path: Path) -> None:
    reader, writer = open_slurm("one", bin_dir=str(tmp_path), owner="alice", calls_per_minute=3)
    assert isinstance(reader, Reader) and isinstance(writer, Writer) and reader.cluster == writer.cluster == "one"
    reader, writer = open_slurm("two", rest_socket=str(tmp_path / "none.sock"))
    assert isinstance(reader, Reader) and isinstance(writer, Writer) and reader.cluster == "two"


def test_a_persons_defaults_do_not_reach_the_commands() -> None:
    person = {
        "PATH": "/bin", "SQUEUE_FORMAT": "%i", "SQUEUE_USERS": "x", "SINFO_FORMAT": "%P", "SACCT_FORMAT": "JobID",
        "SLURM_TIME_FORMAT": "relative", "SLURM_CLUSTERS": "east", "SBATCH_PARTITION": "gpu", "SCANCEL_USER": "x",
        "SLURM_JOB_ID": "7", "SLURM_CONF": "/etc/slurm.conf", "LANG": "fr_FR.UTF-8", "LC_ALL": "fr_FR.UTF-8",
    }  # fmt: skip
    reads = SlurmOptions("rig", base=person).read_environment()
    assert reads == {"PATH": "/bin", "SLURM_CONF": "/etc/slurm.conf", "SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}
    writes = SlurmOptions("rig", base=person).write_environment()
    assert writes == {"PATH": "/bin", "SLURM_CONF": "/etc/slurm.conf", "LANG": "fr_FR.UTF-8", "LC_ALL": "fr_FR.UTF-8"}
    other = SlurmOptions("rig", slurm_conf="/x/slurm.conf", bin_dir="/x/bin", slurm_cluster="east", base=person)
    assert other.read_environment()["SLURM_CONF"] == "/x/slurm.conf"
    assert other.read_environment()["PATH"] == "/x/bin:/bin" and other.argv("squeue", "-h") == (
        "squeue",
        "-M",
        "east",
        "-h",
    )
