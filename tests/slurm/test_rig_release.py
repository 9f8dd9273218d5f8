"""Which Slurm the tests of the rig run on: that of SLURMRIG_ROOT, commands and daemons alike, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adapters.base import Delta, Interest, InterestCell, Unsupported
from adapters.polling import CallMeter
from adapters.slurm import SlurmOptions, SlurmReader
from adapters.slurm.rest_client import OLDEST, RestClient
from adapters.slurm.watch import CommandSource, tick_key
from tests.rigs.slurm.rig import Rig
from tests.slurm.support import open_as, until_true

pytestmark = pytest.mark.rig
TREE = str(Path(os.environ["SLURMRIG_ROOT"]).resolve()) if os.environ.get("SLURMRIG_ROOT") else ""


async def test_commands_and_daemons_are_of_one_release_also_after_a_restart(rig: Rig) -> None:
    reader, _ = open_as(rig, "alice")
    version = await reader.facts.version()
    assert version[:2] == rig.release
    assert rig.tree == TREE
    with rig.stopped("slurmctld"):
        pass
    settings = await reader.facts.settings()
    assert settings["SLURM_VERSION"].startswith(f"{version.year}.{version.month:02d}.")


async def test_every_node_has_a_state_and_no_field_is_refused(rig: Rig) -> None:
    """A field that a release does not know is printed as nothing, with exit code 0."""
    reader, _ = open_as(rig, "alice")
    nodes = await reader.list_nodes()
    assert len(nodes) == 8 and {node.status for node in nodes} >= {"drain", "down"}
    assert not [node.name for node in nodes if node.status == "unknown" or not node.extensions["state"]]
    assert reader.calls.unknown_fields == ({"StateComplete"} if rig.release < (21, 8) else set())


async def test_a_slurmrestd_that_is_too_old_says_so(rig: Rig) -> None:
    if rig.release >= (21, 8):
        pytest.skip(f"slurmrestd of {rig.release[0]}.{rig.release[1]:02d} is new enough: see test_rig_rest")
    client = RestClient("rig", CallMeter(limit=None), url=rig.rest_url, token=lambda: "none", user="alice")
    with pytest.raises(Unsupported, match=rf"none of the versions v0\.0\.{OLDEST} to"):
        await client.version()
    await client.close()


async def test_the_cheap_tick_names_the_jobs_of_the_list(rig: Rig) -> None:
    reader, _ = open_as(rig, "alice")
    if not (await reader.facts.version()).has_job_state_only:
        pytest.skip(f"squeue of {rig.release[0]}.{rig.release[1]:02d} has no --only-job-state (24.11 and later)")
    source = CommandSource(reader.calls, reader.facts)

    async def same() -> bool:
        before = {tick_key(job.id): job.raw_status for job in await reader.list_jobs()}
        # A folded row may stand for several records in different states.
        states = {key: state for key, state in (await source.states()).items() if not key.endswith("[")}
        return len(states) > 40 and states == {key: state for key, state in before.items() if not key.endswith("[")}

    await until_true(same)


async def test_arrays_are_folded_and_unfold_when_looked_at(rig: Rig) -> None:
    reader, _ = open_as(rig, "alice")
    id = rig.submit("alice", "--hold", "--array=0-99%4")
    (folded,) = [job for job in await reader.list_jobs() if job.array is not None and job.array.id == id]
    assert folded.id == f"{id}_[0-99%4]"
    found = await CommandSource(reader.calls, reader.facts).elements([id])
    assert sorted(job.array.index for job in found if job.array and job.array.index is not None) == list(range(100))
    rig.run("alice", "scancel", id)


async def test_components_of_a_heterogeneous_job(rig: Rig) -> None:
    """By its leader, by a component, and as each release names them: ``26+1``."""
    reader, _ = open_as(rig, "alice")
    answer = rig.run("alice", "sbatch", "--parsable", "--hold", "-o", "/dev/null", "-n1", "--mem=20", ":", "-n2",
                     "--mem=30", "--wrap", "true")  # fmt: skip
    id = answer.decode().strip()
    assert {job.id: job.cores for job in await reader.list_jobs() if job.id.startswith(f"{id}+")} == {
        f"{id}+0": 1, f"{id}+1": 2,
    }  # fmt: skip
    assert (await reader.get_job(id)).id == f"{id}+0"
    second = await reader.get_job(f"{id}+1")
    assert (second.id, second.cores, second.memory_bytes) == (f"{id}+1", 2, 30 * 2**20)
    rig.run("alice", "scancel", id)


@pytest.mark.parametrize(("asked", "gpus"), [(("--gres=gpu:a100:2",), 2), (("--gpus=1",), 1), (("--gres=gpu:1",), 1)])
async def test_gpus_however_they_were_asked_for(rig: Rig, asked: tuple[str, ...], gpus: int) -> None:
    reader, _ = open_as(rig, "bob")
    id = rig.submit("bob", "-A", "physics", "-p", "gpu", "--hold", *asked)
    assert (await reader.get_job(id)).gpus == gpus
    assert next(job.gpus for job in await reader.list_jobs() if job.id == id) == gpus
    rig.run("bob", "scancel", id)


async def test_a_watch_of_everything_begins_within_the_six_calls_of_a_minute(rig: Rig) -> None:
    """Until every kind has come once. How often it asks later is counted with a clock of its own in test_watch."""
    options = SlurmOptions("rig", login="alice", bin_dir=str(rig.bin_dir("alice")), base=rig.environment())
    reader = SlurmReader(options, CallMeter(limit=6))
    cell = InterestCell(Interest())
    kinds: set[str] = set()
    async for item in reader.watch(cell):
        if isinstance(item, Delta):
            kinds |= {row.ref.kind for row in item.upserts}
            cell.refresh()
        if kinds >= {"job", "node", "queue", "metrics"}:
            break
    assert reader.calls.total <= 6 + len(reader.calls.unknown_fields), "the second look at nodes of 20.11 comes once"
