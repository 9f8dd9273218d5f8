"""The adapter's own commands, answered with what Slurm 20.11 to 26.05 answered, through real processes."""

from __future__ import annotations

import json
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from adapters.base import AdapterError, JobFilter, NotFound, ProtocolError
from adapters.model import ArrayInfo, Dependency, Job, as_json
from adapters.polling import CallMeter
from adapters.slurm import SlurmOptions, SlurmReader
from adapters.slurm.history import HISTORY_FIELDS, job_of_history
from adapters.slurm.jobs import JOB_FIELDS, job_of_fields, job_of_record
from adapters.slurm.nodes import NODE_FIELDS, node_list
from adapters.slurm.reservations import parse_reservations
from adapters.slurm.states import JOB_STATES
from adapters.slurm.table import Tokens
from adapters.slurm.watch import CommandSource, tick_key
from adapters.text import clean
from tests.doubles.slurm_replay import install

DATA = Path(__file__).parent.parent / "data" / "slurm"
VERSIONS = ("20.11", "22.05", "24.11", "26.05")
BEFORE_24 = ("20.11", "22.05")
GIB, MIB = 2**30, 2**20


def answers(version: str) -> list[dict[str, Any]]:
    return list(json.loads((DATA / version / "answers.json").read_text()))


def answer(version: str, *argv: str) -> bytes:
    """The recorded standard output of the command line that begins so."""
    found = next(a for a in answers(version) if tuple(a["argv"][: len(argv)]) == argv)
    return bytes(found["stdout"].encode("latin-1"))


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def reader(version: str, tmp_path: Path) -> SlurmReader:
    bin_dir = install(tmp_path / "bin", DATA / version / "answers.json")
    options = SlurmOptions("rec", bin_dir=str(bin_dir), login="alice", base={"PATH": "/usr/bin:/bin"})
    return SlurmReader(options, CallMeter(limit=None))


@pytest.fixture
async def jobs(reader: SlurmReader) -> dict[str, Job]:
    """By name; the names of the filled rig are different but for a few."""
    return {job.name: job for job in await reader.list_jobs()}


async def test_the_double_knows_nothing_else(reader: SlurmReader) -> None:
    with pytest.raises(AdapterError, match="no recorded answer"):
        await reader.list_jobs(JobFilter(queue="nowhere"))


async def test_every_job_is_there_with_its_state(reader: SlurmReader) -> None:
    found = await reader.list_jobs()
    assert len(found) == 81 and len({job.id for job in found}) == 81
    raw = Counter(job.raw_status for job in found)
    assert {"CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "PENDING", "RUNNING", "SUSPENDED",
            "SPECIAL_EXIT", "TIMEOUT", "PREEMPTED"} == set(raw)  # fmt: skip
    assert all(job.status == JOB_STATES[job.raw_status] for job in found)
    assert all(job.owner and job.queue and job.submission_time and job.cores for job in found)


async def test_facts_of_running_jobs(jobs: dict[str, Job]) -> None:
    wide = jobs["mpi-2x12"]
    assert (wide.nodes, wide.cores, wide.memory_bytes, wide.node_names) == (2, 24, 40000 * MIB, ("n03", "n04"))
    assert wide.walltime_seconds == 12 * 3600 and wide.start_time is not None and wide.end_time is None
    assert (wide.extensions["end_limit"] - wide.start_time).total_seconds() == 12 * 3600
    train, infer = jobs["train-a100"], jobs["infer"]
    assert (train.gpus, train.cores, train.memory_bytes) == (2, 2, 4 * GIB), "GPUs asked for per node"
    assert (infer.gpus, infer.memory_bytes) == (1, GIB), "GPUs asked for with --gpus"
    assert jobs["paused"].status in ("suspended", "pending")
    assert jobs["interactive"].status == "running"


async def test_memory_per_core_and_per_node(jobs: dict[str, Job]) -> None:
    assert jobs["scavenger"].memory_bytes == 8 * 500 * MIB, "500 MiB a core of eight"
    assert jobs["block-n01"].memory_bytes == 2000 * MIB and jobs["block-n01"].cores == 4


async def test_reasons_with_their_details(jobs: dict[str, Job], version: str) -> None:
    expected = {
        "held-by-me": "JobHeldUser", "after-run": "Dependency", "never": "DependencyNeverSatisfied",
        "in-maint": "PartitionDown", "debug-long": "PartitionTimeLimit", "debug-wide": "PartitionNodeLimit",
        "tonight": "BeginTime", "small-2": "AssocGrpJobsLimit", "held-by-root": "JobHeldAdmin",
        "express-2": "QOSMaxJobsPerUserLimit", "reserved": "Reservation", "special": "job requeued in held state",
        "too-slow": "TimeLimit", "exit3": "NonZeroExitCode",
    }  # fmt: skip
    assert {name: jobs[name].reason for name in expected} == expected
    assert (jobs["want-n08"].reason or "").startswith("ReqNodeNotAvail, ")
    assert jobs["mpi-2x12"].reason is None


async def test_limits_that_are_words(jobs: dict[str, Job]) -> None:
    unlimited = jobs["in-maint"]
    assert unlimited.walltime_seconds is None and unlimited.extensions["time_limit"] == "UNLIMITED"
    assert jobs["too-slow"].walltime_seconds == 60


async def test_exit_codes_signals_and_those_that_never_ran(jobs: dict[str, Job]) -> None:
    assert (jobs["exit3"].exit_code, jobs["exit3"].extensions.get("signal")) == (3, None)
    assert (jobs["segv"].exit_code, jobs["segv"].extensions["signal"]) == (None, 11)
    assert jobs["ok-1"].status in ("succeeded", "failed") and jobs["ok-1"].extensions["comment"] == 'first | run "ok"'
    never = jobs["never-ran"]
    assert never.status == "cancelled" and never.exit_code is never.start_time is None and never.end_time is not None


async def test_arrays_and_heterogeneous_jobs(jobs: dict[str, Job], reader: SlurmReader) -> None:
    folded = jobs["pend-array"]
    assert folded.array == ArrayInfo(folded.id.split("_")[0], range="1-199:2") and folded.id.endswith("_[1-199:2]")
    scan = [job for job in await reader.list_jobs() if job.name == "scan[1]"]
    assert {job.array.index for job in scan if job.array} >= {0, 1, 2, None}
    throttled = next(job for job in scan if job.array and job.array.range)
    assert throttled.array is not None and (throttled.array.range or "").endswith("%3")
    components = sorted(job.id for job in await reader.list_jobs() if job.name == "coupled")
    assert [id.rpartition("+")[2] for id in components] == ["0", "1"]
    sweep = [job for job in await reader.list_jobs() if job.name == "sweep"]
    assert len(sweep) == 6 and {job.array.index for job in sweep if job.array} == {1, 2, 3, 4, 5, 6}
    failed = next(job for job in sweep if job.array and job.array.index == 3)
    assert (failed.status, failed.exit_code) == ("failed", 7) and failed.extensions.get("job_id") != failed.id


async def test_dependencies(jobs: dict[str, Job]) -> None:
    running = jobs["[bold red]run[/bold red]"]
    assert jobs["after-run"].dependencies == (Dependency(running.id, "afterok"),)
    assert [each.kind for each in jobs["after-two"].dependencies] == ["afterany", "afternotok"]


async def test_priorities_are_whole_numbers(jobs: dict[str, Job]) -> None:
    assert all(isinstance(job.extensions.get("priority", 0), int) for job in jobs.values())
    assert jobs["held-by-me"].extensions["priority"] == 0 and jobs["urgent"].extensions["priority"] > 1000


async def test_several_partitions(jobs: dict[str, Job], reader: SlurmReader) -> None:
    both = jobs["two-parts"]
    assert both.queue == "batch" and both.extensions["partitions"] == "batch,debug"
    queues = {queue.name: queue for queue in await reader.list_queues()}
    pending = [
        job
        for job in (await reader.list_jobs())
        if job.status == "pending" and "debug" in str(job.extensions.get("partitions", job.queue))
    ]
    assert queues["debug"].pending_jobs == len(pending)


async def test_hostile_names_are_whole_and_harmless(reader: SlurmReader) -> None:
    found = await reader.list_jobs()
    names = {job.name for job in found}
    for name in ("a|b|c", "  lead and trail  ", "A=B JobId=999 UserId=root(0)", "--help", "bad\\xff\\xfe\\xc3(",
                 "line1␊line2␉tab␍", "日本語のジョブ名前テスト 한국어", "it's \"quoted\" \\back\\ `cmd` $(id)",
                 ";rm -rf x && $HOME %j %A * ?", '{"a":[1,2,null],"b":"\\u0041"}', "x" * 250 + "END",
                 "␛[31mred␛[0m␛]0;title␇␛[2J"):  # fmt: skip
        assert name in names, name
    for job in found:
        for text in json.dumps(as_json(job), ensure_ascii=False).splitlines():
            assert clean(text) == text


async def test_nodes(reader: SlurmReader) -> None:
    nodes = {node.name: node for node in await reader.list_nodes()}
    assert sorted(nodes) == [f"n0{n}" for n in range(1, 9)]
    assert (nodes["n07"].status, nodes["n07"].reason) == ("drain", "bad DIMM, ticket 4711")
    assert nodes["n07"].extensions["reason_by"] == "root" and nodes["n07"].extensions["reason_at"] is not None
    # 24.11 and later print a load of 0.00 for a node that is down, 22.05 prints N/A.
    assert nodes["n08"].status == "down" and nodes["n08"].extensions.get("load") in (None, 0.0)
    gpu = nodes["n05"]
    assert (gpu.gpu_count, gpu.gpus_used, gpu.cores_total, gpu.features) == (4, 3, 8, ("gpu", "a100"))
    assert gpu.memory_bytes_total == 32000 * MIB and gpu.memory_bytes_used == 5120 * MIB
    assert nodes["n01"].gpu_count == 0 and set(nodes["n01"].extensions["partitions"]) == {"batch", "debug"}
    assert all(node.slots_total == node.cores_total and node.slots_quota is None for node in nodes.values())
    assert nodes["n02"].extensions["reservations"] == ("later",)


async def test_states_of_nodes_where_sinfo_does_not_know_its_newer_field(reader: SlurmReader, version: str) -> None:
    """20.11 answers `StateComplete` with nothing and exit code 0: it is asked for the older field, and from then on for
    that alone."""
    first = {node.name: (node.status, node.extensions["state"]) for node in await reader.list_nodes()}
    asked = reader.calls.total
    assert first == {node.name: (node.status, node.extensions["state"]) for node in await reader.list_nodes()}
    assert reader.calls.total - asked == 2, "reservations and nodes: no second question once it is known"
    assert (reader.calls.unknown_fields == {"StateComplete"}) == (version == "20.11")
    down = "down*" if version == "20.11" else "down+not_responding"
    drained = "drained" if version == "20.11" else "idle+drain"
    assert first["n08"] == ("down", down) and first["n07"] == ("drain", drained)
    assert {first[f"n0{n}"][0] for n in range(1, 7)} == {"busy"}


async def test_partitions(reader: SlurmReader) -> None:
    queues = {queue.name: queue for queue in await reader.list_queues()}
    assert {name: (q.status, q.node_count, q.max_walltime_seconds) for name, q in queues.items()} == {
        "batch": ("active", 6, 172800), "gpu": ("active", 2, 86400), "debug": ("active", 2, 1800),
        "maint": ("inactive", 2, None),
    }  # fmt: skip
    assert queues["batch"].default_resources.walltime_seconds == 3600 and queues["batch"].extensions["default"] is True
    assert queues["maint"].extensions["max_time"] == "infinite" and queues["gpu"].running_jobs == 3
    assert (queues["batch"].pending_jobs or 0) > 100, "a folded array of a hundred counts a hundred"


async def test_the_history(reader: SlurmReader, version: str) -> None:
    rows = {job.name: job for job in await reader.history()}
    assert len(await reader.history()) > 50
    assert (rows["exit3"].status, rows["exit3"].exit_code) == ("failed", 3)
    assert (rows["segv"].exit_code, rows["segv"].extensions["signal"]) == (None, 11)
    assert rows["stop-me"].raw_status.startswith("CANCELLED by ") and rows["stop-me"].status == "cancelled"
    assert rows["too-slow"].status == "failed" and rows["too-slow"].walltime_seconds == 60
    assert rows["mpi-2x12"].node_names == ("n03", "n04") and rows["mpi-2x12"].memory_bytes == 40000 * MIB
    assert rows["train-a100"].gpus == 2
    assert rows["ok-1"].extensions["comment"] == 'first | run "ok"' and "[bold red]run[/bold red]" in rows
    pattern = None if version in BEFORE_24 else "/rig/out/%x-%j.out"
    assert rows["ok-1"].extensions.get("stdout") == pattern, "the accounting keeps output files since 24.05"
    expected = f"/rig/out/slurm-{rows['ok-1'].id}.out" if pattern is None else f"/rig/out/ok-1-{rows['ok-1'].id}.out"
    assert reader._remembered(rows["ok-1"], "stdout") == reader._remembered(rows["ok-1"], "stderr") == expected


async def test_details(reader: SlurmReader, jobs: dict[str, Job]) -> None:
    train = await reader.get_job(jobs["train-a100"].id)
    assert train.extensions["tres"].startswith("cpu=2,mem=4G,node=1") and train.extensions["work_dir"] == "/rig/out"
    assert train.extensions["batch_host"] == "n05" and train.extensions["stdout"] == "/rig/out/%x-%j.out"
    assert train == train._replace(**{name: getattr(jobs["train-a100"], name) for name in ("id", "status", "gpus")})
    _, path = await reader._output(train.id, "stdout")
    assert path == f"/rig/out/train-a100-{train.id}.out"
    folded = await reader.get_job(jobs["pend-array"].id)
    assert folded.id == jobs["pend-array"].id
    with pytest.raises(NotFound, match="no job 999999"):
        await reader.detail("999999")


async def test_who_one_is_and_what_that_allows(reader: SlurmReader, version: str) -> None:
    found = await reader.capabilities()
    assert found.backend.startswith(f"slurm {version}") and (await reader.whoami()).role == "user"
    assert {"submit", "cancel", "hold", "modify"} <= found.supported and "drain" not in found.supported
    assert ("suspend" in found.supported) == (version == "26.05")
    assert ("job_state_tick" in found.parts) == (version not in BEFORE_24)


async def test_the_cheap_tick_names_the_same_jobs(reader: SlurmReader, version: str) -> None:
    if version in BEFORE_24:
        with pytest.raises(AdapterError):
            await CommandSource(reader.calls, reader.facts).states()
        return
    states = await CommandSource(reader.calls, reader.facts).states()
    jobs = {tick_key(job.id): job.raw_status for job in await reader.list_jobs()}
    assert states == jobs


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A recorded answer with some of its bytes changed, cut out or doubled."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 12)):
        at = chance.randrange(len(found))
        what = chance.random()
        if what < 0.5:
            found[at] = chance.randrange(256)
        elif what < 0.75:
            del found[at : at + chance.randint(1, 40)]
        else:
            found[at:at] = found[at : at + chance.randint(1, 40)]
    return bytes(found)


@pytest.mark.parametrize("seed", range(40))
def test_mutated_answers_are_rows_or_an_error(version: str, seed: int) -> None:
    chance = random.Random(seed)
    tokens = Tokens("<<FIELD>>", "<<RECORD>>")
    for program, argv, make in (
        ("squeue", ("squeue", "-h", "-a", "-t", "all", "-O"), lambda r: [job_of_record(each, "rec") for each in r]),
        ("sinfo", ("sinfo", "-h", "-a", "-N"), lambda r: node_list(r, "rec").nodes),
    ):
        data = mutated(answer(version, *argv), chance)
        try:
            rows = make(tokens.records(data, program))
        except ProtocolError:
            continue
        for row in rows:
            assert clean(row.name) == row.name and row.cluster == "rec"
    with suppress(ProtocolError):
        parse_reservations(mutated(answer(version, "scontrol", "-o", "show", "reservation"), chance), "rec")


@pytest.mark.parametrize("seed", range(40))
def test_mutated_fields_never_break_a_row(version: str, seed: int) -> None:
    """Each field may hold the text of any other: types are never taken for granted."""
    chance = random.Random(seed)
    records = Tokens("<<FIELD>>", "<<RECORD>>").records(
        answer(version, "squeue", "-h", "-a", "-t", "all", "-O"), "squeue"
    )
    pool = [part.decode("utf-8", "surrogateescape") for record in records for part in record.split(b"\0")]
    for _ in range(20):
        job_of_fields({name: chance.choice(pool) for name in JOB_FIELDS}, "rec")
        job_of_history({name: chance.choice(pool) for name in HISTORY_FIELDS}, "rec")
        node_list(["\0".join(chance.choice(pool) for _ in NODE_FIELDS).encode("utf-8", "surrogateescape")], "rec")


def test_a_name_of_15_kilobytes_is_bounded(version: str) -> None:
    records = Tokens("<<FIELD>>", "<<RECORD>>").records(
        answer(version, "squeue", "-h", "-a", "-t", "all", "-O"), "squeue"
    )
    job = job_of_record(records[0].rpartition(b"\0")[0] + b"\0" + b"\xff" * 15_000, "rec")
    assert 1024 <= len(job.name) <= 4 * 1024 and job.name.endswith("…")
