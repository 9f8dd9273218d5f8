"""Asking an LSF: forms that it knows, fields that it refuses, noise, silence, and how the commands are run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adapters.base import Interest, Invalid, JobFilter, NotFound, ProtocolError, Unavailable, Unreachable
from adapters.lsf import detect
from adapters.lsf.options import Options, environment_for_lsf
from adapters.lsf.probe import calls_a_minute
from adapters.lsf.tables import HOSTS, JOBS, LOAD, QUEUES
from tests.doubles.lsf.double import LsfDouble
from tests.lsf.data import text
from tests.lsf.support import ME, add, lsf, opened

TABLES = (JOBS, QUEUES, HOSTS, LOAD)


@pytest.mark.parametrize(
    ("dialect", "tiers"), [("ibm", "AAAA"), ("ibm9", "BBBB"), ("clone", "ACCC"), ("classic", "CCCC")]
)
async def test_each_command_is_asked_in_the_best_form_it_knows(tmp_path: Path, dialect: str, tiers: str) -> None:
    double = lsf(tmp_path, dialect)
    id = add(double, name="a|b^c", stat="RUN")
    add(double, user="ben", submit=0)
    reader, _ = opened(double)
    jobs = await reader.list_jobs()
    assert {job.id: job.name for job in jobs}[id] == "a|b^c" and {job.owner for job in jobs} == {ME, "ben"}
    assert [queue.name for queue in await reader.list_queues()] == ["normal", "short"]
    nodes = {node.name: node for node in await reader.list_nodes()}
    assert nodes["node01"].status == "busy" and nodes["node03"].features == ("cs", "gpu")
    assert nodes["node02"].extensions["load_mem_bytes"] == 14807 * 1024**2
    assert "".join(reader.session.dialects[table].tier for table in TABLES) == tiers
    asked = len(double.asked())
    await reader.list_jobs(JobFilter(mine=True))
    assert len(double.asked()) == asked + 1, "what has been learnt is not asked again"


@pytest.mark.parametrize("dialect", ["ibm", "ibm9", "clone", "classic"])
async def test_a_job_reads_alike_in_every_tier(tmp_path: Path, dialect: str) -> None:
    double = lsf(tmp_path, dialect)
    id = add(double, stat="RUN", runlimit=60, memlimit=100, description="hello", output="out.%J", dependency="done(1)")
    job = await opened(double)[0].get_job(id)
    assert (job.status, job.walltime_seconds, job.node_names, job.cores) == ("running", 3600, ("node01",), 1)
    assert job.start_time is not None and job.submission_time is not None
    assert job.extensions["output_file"] == "out.%J" == job.logs_url
    assert (job.extensions["command"], job.extensions["description"]) == ("sleep 60", "hello")


@pytest.mark.parametrize("unnamed", [False, True])
async def test_refused_fields_are_dropped_and_the_rest_is_kept(tmp_path: Path, unnamed: bool) -> None:
    double = lsf(tmp_path)
    add(double, stat="RUN", memlimit=100, gpus=2)
    double.set_mode(refused=["gpu_num", "exit_reason", "ngpus"], unnamed=unnamed)
    reader, _ = opened(double)
    (job,) = await reader.list_jobs()
    assert (job.memory_bytes, job.gpus) == (100 * 1024**2, None)
    jobs, hosts = reader.session.dialects[JOBS], reader.session.dialects[HOSTS]
    assert jobs.tier == "A" and set(jobs.dropped) == {"gpu_num", "exit_reason"}
    assert "dependency" in jobs.fields and "gpu_num" not in jobs.fields
    (*_, node) = await reader.list_nodes()
    assert node.gpu_count is None and set(hosts.dropped) == {"ngpus"}
    assert "gpus" in (await reader.capabilities()).absent["job"]


async def test_a_core_field_that_is_refused_ends_the_tier(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    add(double)
    double.set_mode(refused=["stat"])
    reader, _ = opened(double)
    assert len(await reader.list_jobs()) == 1
    assert reader.session.dialects[JOBS].tier == "C"


async def test_json_that_does_not_parse_falls_back_one_tier_this_time_and_says_so(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    add(double, name="x")
    reader, _ = opened(double)
    before = await reader.list_jobs()
    with double.mode(invalid_json=True):
        assert await reader.list_jobs() == before
    assert any("tier B this time" in line for line in reader.session.remarks)
    assert reader.session.dialects[JOBS].tier == "A"
    asked = len(double.asked())
    assert await reader.list_jobs() == before
    assert all("-json" in argv for argv in double.asked()[asked:])


async def test_broken_json_without_another_tier_is_an_error_and_no_empty_list(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    add(double)
    reader, _ = opened(double)
    await reader.list_queues()
    broken = {"stdout": '{"COMMAND":"bqueues","QUEUES":1,"RECORDS":[{'}
    argv = " ".join(reader.session.dialects[QUEUES].argv())
    other = " ".join(reader.session.dialects[QUEUES].argv("B"))
    with double.mode(answers={argv: broken, other: {"stdout": "nonsense\n"}}), pytest.raises(ProtocolError):
        await reader.list_queues()


async def test_noise_is_kept_as_a_banner_and_never_parsed(tmp_path: Path) -> None:
    for dialect in ("ibm", "ibm9", "classic"):
        double = lsf(tmp_path, dialect)
        id = add(double)
        double.set_mode(noisy=True)
        reader, _ = opened(double)
        assert [job.id for job in await reader.list_jobs()] == [id]
        assert len(await reader.list_nodes()) == 4 and len(await reader.list_queues()) == 2
        assert "Welcome to cluster [bold]red[/bold]␛[31m!" in reader.session.banner
        assert "You have new mail in /var/spool/mail/usr" in reader.session.banner


async def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    for dialect in ("ibm", "ibm9", "classic"):
        double = lsf(tmp_path, dialect)
        add(double, name="caf\udce9")
        (job,) = await opened(double)[0].list_jobs()
        assert job.name == "caf\\xe9"


async def test_no_jobs_is_an_answer(tmp_path: Path) -> None:
    for dialect in ("ibm", "ibm9", "classic"):
        assert await opened(lsf(tmp_path, dialect))[0].list_jobs() == []


async def test_commands_run_with_a_plain_locale_and_without_the_formats_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = {
        "LANG": "de_DE.UTF-8", "LC_TIME": "de_DE", "LSB_BJOBS_FORMAT": "jobid", "LSB_BQUEUES_FORMAT": "queue_name",
        "LSB_BHOSTS_FORMAT": "host_name", "LSB_UNIT_FOR_JOBS_DISPLAY": "G", "LSB_DISPLAY_YEAR": "N",
        "LSB_SOME_FORMAT": "x", "LSF_LSLOAD_FORMAT": "ut",
    }  # fmt: skip
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    double = lsf(tmp_path)
    await opened(double)[0].list_jobs()
    for seen in double.environments():
        assert (seen["LSB_DISPLAY_YEAR"], seen["LSB_BJOBS_CONSISTENT_EXIT_CODE"]) == ("Y", "Y")
        assert (seen["LC_ALL"], "LANG" in seen, "LC_TIME" in seen) == ("C", False, False)
        assert not [name for name in seen if name.endswith("_FORMAT") and name != "LSB_HMS_TIME_FORMAT"]
        assert "LSB_UNIT_FOR_JOBS_DISPLAY" not in seen and seen["LSF_ENVDIR"]


def test_what_lsf_needs_of_the_environment_stays() -> None:
    kept = {"LSF_ENVDIR": "/lsf/conf", "LSF_BINDIR": "/lsf/bin", "PATH": "/lsf/bin", "LSF_SERVERDIR": "/lsf/etc"}
    assert kept.items() <= environment_for_lsf(kept).items()


async def test_one_query_is_in_flight_at_a_time(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    add(double)
    reader, _ = opened(double)
    seen, running = [], 0
    run = reader.session.run

    async def watched(argv: list[str]) -> object:
        return await run(argv)

    reader.session.run = watched  # type: ignore[method-assign, assignment]
    inner = reader.session._one
    acquire = inner.acquire

    async def counting() -> bool:
        nonlocal running
        got = await acquire()
        running += 1
        seen.append(running)
        return got

    release = inner.release

    def leaving() -> None:
        nonlocal running
        running -= 1
        release()

    inner.acquire, inner.release = counting, leaving  # type: ignore[method-assign, assignment]
    await asyncio.gather(reader.list_jobs(), reader.list_queues(), reader.list_nodes())
    assert len(seen) >= 6 and set(seen) == {1}


async def test_a_silent_mbatchd_is_unavailable_after_the_timeout(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    reader, _ = opened(double, read_timeout=0.7)
    with double.mode(mbatchd_down=True), pytest.raises(Unavailable) as caught:
        await reader.list_jobs()
    assert "bjobs" in caught.value.message and caught.value.details["retry_after"] == 60.0
    with double.mode(mbatchd_down=True):
        assert (await reader.capabilities()).backend.startswith("IBM Spectrum LSF"), "lsid needs LIM only"


async def test_a_silent_lim_is_unavailable(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    reader, _ = opened(double, read_timeout=0.7)
    with double.mode(lim_down=True):
        with pytest.raises(Unavailable) as caught:
            await reader.capabilities()
        assert "LIM is down" in caught.value.message
        with pytest.raises(Unavailable):
            await reader.list_queues()
    assert (await reader.capabilities()).backend


async def test_a_slow_answer_is_waited_for(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double)
    with double.mode(slow=0.4):
        assert [job.id for job in await opened(double)[0].list_jobs(JobFilter(mine=True))] == [id]


async def test_back_off_grows_with_each_complaint_and_ends_with_an_answer(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    reader, _ = opened(double)
    told = []
    with double.mode(rate_limited=True):
        for _ in range(4):
            with pytest.raises(Unavailable) as caught:
                await reader.list_queues()
            told.append(caught.value.details["retry_after"])
    assert told == [60.0, 120.0, 300.0, 300.0]
    assert "concurrent query limit" in reader.session.pause.cause and reader.session.pause.left > 290
    await reader.list_queues()
    assert reader.session.pause.left == 0.0


async def test_an_answer_after_please_wait_is_used_and_polls_hold_back(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double)
    reader, _ = opened(double)
    with double.mode(busy=True):
        assert [job.id for job in await reader.list_jobs(JobFilter(mine=True))] == [id]
    assert 50 < reader.session.pause.left <= 60 and "Please wait" in reader.session.pause.cause


async def test_lsf_that_is_not_there(tmp_path: Path) -> None:
    double = lsf(tmp_path, without=("bjobs", "lsid"))
    reader, _ = opened(double)
    with pytest.raises(Unreachable) as caught:
        await reader.list_jobs()
    assert "bjobs" in caught.value.message and caught.value.hint
    assert await detect(environment=double.environment | {"PATH": str(double.bin)}) is None


async def test_lsf_is_found_by_its_commands(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    assert await detect(environment=double.environment) == "IBM Spectrum LSF Standard 10.1.0.15, May 13 2025"
    with double.mode(lim_down=True):
        assert await detect(environment=double.environment), "an LSF whose LIM is down is still an LSF"
    assert await detect(environment={"PATH": str(tmp_path)}) is None


async def notes_after_a_probe(double: LsfDouble) -> str:
    reader, _ = opened(double)
    assert await reader.probe() == ()
    return "\n".join((await reader.capabilities()).notes)


async def test_the_notes_name_the_tier_of_each_command_and_why(tmp_path: Path) -> None:
    clone = lsf(tmp_path, "clone")
    add(clone)
    text = await notes_after_a_probe(clone)
    assert "bjobs: tier A (-o with -json), because it knows this best form\n" in text
    assert "bqueues: tier C (legacy table), because: bqueues: invalid option -- 'o'" in text
    assert "An open console makes about 6 scheduler calls a minute." in text
    double = lsf(tmp_path)
    assert "bjobs: tier A (-o with -json), nothing shown yet that would prove it" in await notes_after_a_probe(double)
    add(double)
    double.set_mode(refused=["gpu_num"], noisy=True)
    text = await notes_after_a_probe(double)
    assert "without gpu_num, which it does not know" in text
    assert "Printed around the answers: You have new mail in /var/spool/mail/usr" in text


async def test_a_probe_names_what_does_not_answer(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    with double.mode(rate_limited=True):
        failures = await opened(double)[0].probe()
    assert [failure.split(":")[0] for failure in failures] == ["bjobs", "bqueues", "bhosts"]


def test_expected_calls_follow_what_is_looked_at() -> None:
    options = Options()
    assert calls_a_minute(options, Interest(kinds=frozenset({"job"}), owner="mine")) == 2.0
    assert calls_a_minute(options, Interest(kinds=frozenset({"queue"}))) == 1.0
    assert calls_a_minute(options) == 6.0
    assert calls_a_minute(Options(own_interval=10, calls_per_minute=4)) == 4.0


async def test_never_everything_of_everybody(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    add(double)
    reader, _ = opened(double)
    await reader.list_jobs()
    await reader.metrics()
    await reader.list_jobs(JobFilter(owner="ben"))
    for argv in double.asked():
        assert not ("-a" in argv and argv[-1] == "all" and "-u" in argv), argv


@pytest.mark.parametrize("id", ["0", "-1", "1[0]", "abc", "1[2", "1;2", "", "٣", "1 2"])
async def test_an_id_that_lsf_could_misread_is_refused(tmp_path: Path, id: str) -> None:
    double = lsf(tmp_path)
    reader, _ = opened(double)
    with pytest.raises(Invalid):
        await reader.get_job(id)
    with pytest.raises(Invalid):
        await reader.list_jobs(JobFilter(ids=(id,)))
    assert double.asked() == []


@pytest.mark.parametrize("field", ["owner", "queue", "node"])
async def test_a_name_that_lsf_would_take_for_an_option_is_refused(tmp_path: Path, field: str) -> None:
    double = lsf(tmp_path)
    with pytest.raises(Invalid):
        await opened(double)[0].list_jobs(JobFilter(**{field: "-l"}))  # type: ignore[arg-type]
    assert double.asked() == []


async def test_an_unknown_queue_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        await opened(lsf(tmp_path))[0].list_jobs(JobFilter(queue="nosuch"))
    assert caught.value.message == "bjobs: nosuch: No such queue"


async def test_an_array_by_its_base_id(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, name="arr", index=1)
    double.job(id=int(id), user=ME, name="arr", index=2, submit=1)
    reader, _ = opened(double)
    assert [job.id for job in await reader.list_jobs(JobFilter(ids=(id,)))] == [f"{id}[1]", f"{id}[2]"]
    folded = await reader.get_job(id)
    assert folded.id == id and folded.array is not None and folded.array.range == "1-2"
    assert (await reader.get_job(f"{id}[2]")).array is not None


async def test_a_job_that_mbatchd_has_forgotten_is_in_the_accounting(tmp_path: Path) -> None:
    double = lsf(tmp_path)
    id = add(double, stat="EXIT", exit=1, end=1_790_000_000, exit_reason="TERM_OWNER: job killed by owner")
    with double.world() as world:
        world["archive"] = world["jobs"]
        world["jobs"] = []
    reader, _ = opened(double)
    job = await reader.get_job(id)
    assert (job.status, job.owner, job.extensions["term_reason"]) == ("cancelled", ME, "TERM_OWNER")
    (old,) = await reader.history()
    assert old.id == id and old.extensions["peak_memory_bytes"] == 6 * 1024**2
    assert double.asked()[-1] == ["bacct", "-l", "-u", ME]
    with pytest.raises(NotFound):
        await reader.get_job("4711")


async def test_the_panes_agree_with_the_recordings(tmp_path: Path) -> None:
    """The recorded answers of a compatible scheduler, given by the commands on PATH, all the way to the rows."""
    double = lsf(tmp_path, "classic")
    files = {
        "bjobs -w -u all": "bjobs_w_a_all.out", "bqueues -w": "bqueues.out", "bqueues -l": "bqueues_l.out",
        "bhosts -w": "bhosts_w.out", "lsload -l": "lsload_l.out", "lshosts -w": "lshosts_w.out", "lsid": "lsid.out",
        "bjobs -w -a": "unreach_bjobs_w_unkwn.out",
    }  # fmt: skip
    double.set_mode(answers={argv: {"stdout": text(f"volclava/{name}")} for argv, name in files.items()})
    reader, _ = opened(double, user=None)
    jobs = {job.id: job for job in await reader.list_jobs()}
    assert len(jobs) == 61 and jobs["26"].status == "unknown" and jobs["38"].node_names == ("node01",)
    assert {job.status for job in jobs.values()} == {
        "running", "suspended", "pending", "failed", "succeeded", "unknown",
    }  # fmt: skip
    queues = {queue.name: queue for queue in await reader.list_queues()}
    assert (queues["normal"].running_jobs, queues["short"].max_walltime_seconds) == (14, 60)
    nodes = {node.name: node for node in await reader.list_nodes()}
    assert nodes["node04"].features == ("cs", "bigmem") and nodes["node02"].slots_used == 8
    assert nodes["node01"].extensions["load_status"] == "lockU" and nodes["node01"].memory_bytes_used is not None
    assert (await reader.capabilities()).backend == "volclava project 2.2"
    metrics = await reader.metrics()
    assert metrics.slots_used == sum(node.slots_used or 0 for node in nodes.values()) == 22
