"""The reading half of the contract, over every adapter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from adapters.base import AdapterError, Capabilities, JobFilter, NotFound, Reader, Unsupported
from adapters.intents import INTENTS
from adapters.model import FINISHED, JOB_STATUSES, NODE_STATUSES, Job, Node, Queue, Row
from adapters.text import clean
from tests.contract.harness import ERROR_CODES, Harness

ALWAYS = {"extensions", "cluster"}
KIND_OF = {Job: "job", Queue: "queue", Node: "node"}


def is_set(value: Any) -> bool:
    """False for the model's ways of saying "not known"."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return any(is_set(part) for part in value)
    return value is not None and value != () and value != ""


def texts(value: Any) -> Iterator[str]:
    """Every string within a row, keys of extensions included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from texts(key)
            yield from texts(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            yield from texts(getattr(value, item.name))
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for part in value:
            yield from texts(part)


async def world(reader: Reader) -> dict[type[Row], list[Row]]:
    jobs = [*await reader.list_jobs()]
    detailed = [await reader.get_job(job.id) for job in jobs[:16]]
    return {Job: [*jobs, *detailed], Queue: [*await reader.list_queues()], Node: [*await reader.list_nodes()]}


async def test_each_field_is_set_or_declared_absent(harness: Harness) -> None:
    await harness.populate()
    absent = (await harness.reader.capabilities()).absent
    wrong = []
    for row_type, rows in (await world(harness.reader)).items():
        kind = KIND_OF[row_type]
        assert rows, f"the world of this harness has no {kind}"
        for name in row_type._fields:
            if name in ALWAYS or f"{kind}.{name}" in harness.allowed.fields:
                continue
            seen = any(is_set(getattr(row, name)) for row in rows)
            declared = name in absent.get(kind, frozenset())
            if seen == declared:
                wrong.append(
                    f"{kind}.{name}: {'declared absent but set' if seen else 'neither set nor declared absent'}"
                )
    assert wrong == []


async def test_declared_absences_name_fields_of_the_model(harness: Harness) -> None:
    names = {KIND_OF[row_type]: set(row_type._fields) for row_type in KIND_OF}
    for kind, absent in (await harness.reader.capabilities()).absent.items():
        assert absent <= names.get(kind, absent)


async def test_all_text_is_clean(harness: Harness) -> None:
    await harness.populate()
    for rows in (await world(harness.reader)).values():
        for row in rows:
            assert [text for text in texts(row) if clean(text) != text] == []


async def test_rows_are_of_this_cluster_and_of_known_states(harness: Harness) -> None:
    await harness.populate()
    rows = await world(harness.reader)
    for row in [row for group in rows.values() for row in group]:
        assert row.cluster == harness.reader.cluster
        assert hash(row.ref) is not None
    assert {row.status for row in rows[Job]} <= set(JOB_STATUSES)
    assert {row.status for row in rows[Node]} <= set(NODE_STATUSES)
    assert all(isinstance(row, Job) and row.raw_status for row in rows[Job])
    for job in rows[Job]:
        for moment in (job.submission_time, job.start_time, job.end_time):
            assert moment is None or moment.utcoffset() is not None


async def test_one_job_reads_like_its_row(harness: Harness) -> None:
    await harness.populate()
    jobs = [job for job in await harness.reader.list_jobs() if job.finished]
    assert jobs, "the world of this harness has no finished job"
    for row in jobs[:5]:
        detail = await harness.reader.get_job(row.id)
        assert (detail.id, detail.status, detail.owner, detail.born) == (row.id, row.status, row.owner, row.born)


async def test_filters_restrict(harness: Harness) -> None:
    await harness.populate()
    jobs = await harness.reader.list_jobs()
    owner = next(job.owner for job in jobs if job.owner)
    mine = await harness.reader.list_jobs(JobFilter(owner=owner))
    assert mine and {job.owner for job in mine} == {owner}
    finished = await harness.reader.list_jobs(JobFilter(statuses=FINISHED))
    assert all(job.finished for job in finished)
    one = jobs[0]
    assert one.id in {job.id for job in await harness.reader.list_jobs(JobFilter(ids=(one.id,)))}
    assert len(await harness.reader.list_jobs(JobFilter(limit=1))) == 1


async def test_what_is_not_there_is_not_found(harness: Harness) -> None:
    await harness.populate()
    with pytest.raises(NotFound) as caught:
        await harness.reader.get_job("999999999")
    assert "999999999" in caught.value.message


async def test_observe_tells_states_and_absence(harness: Harness) -> None:
    await harness.populate()
    job = next((job for job in await harness.reader.list_jobs() if job.finished), None)
    assert job is not None, "the world of this harness has no finished job"
    node = (await harness.reader.list_nodes())[0]
    gone = job.ref._replace(id="999999999", born=None)
    seen = await harness.reader.observe([job.ref, node.ref, gone])
    assert set(seen) == {job.ref, node.ref, gone}
    assert seen[gone] is None
    target = seen[job.ref]
    assert target is not None and target.finished and (target.owner, target.state) == (job.owner, job.status)
    other = seen[node.ref]
    assert other is not None and other.state == node.status


async def test_observe_tells_a_reused_id_from_the_old_one(harness: Harness) -> None:
    await harness.populate()
    job = (await harness.reader.list_jobs())[0]
    old = job.ref._replace(born="1970-01-01T00:00:00+00:00")
    assert (await harness.reader.observe([old]))[old] is None


async def test_metrics_agree_with_the_rows(harness: Harness) -> None:
    await harness.populate()
    metrics = await harness.reader.metrics()
    nodes = await harness.reader.list_nodes()
    assert sum(metrics.nodes.values()) == len(nodes)
    assert metrics.at is not None and metrics.cluster == harness.reader.cluster
    assert set(metrics.queues) <= {queue.name for queue in await harness.reader.list_queues()}


async def test_each_error_class_arises_from_the_backends_answer(harness: Harness) -> None:
    cases = harness.error_cases()
    left = set(ERROR_CODES) - set(cases)
    assert left == set(harness.allowed.errors), "each error code needs a case or a reason"
    assert all(len(reason) > 10 for reason in harness.allowed.errors.values())
    for code, provoke in cases.items():
        with pytest.raises(AdapterError) as caught:
            await provoke()
        assert caught.value.code == code, f"{code} came as {caught.value!r}"
        assert caught.value.message and clean(caught.value.message) == caught.value.message


def check_capabilities(found: Capabilities) -> None:
    assert found.backend
    for verb in INTENTS:
        reason = found.why_not(verb)
        assert (verb in found.supported) == (reason is None)
        assert not (verb in found.supported and verb in found.unsupported)
    assert found.supported <= set(INTENTS) and set(found.unsupported) <= set(INTENTS)


async def test_capabilities_cover_every_intent(harness: Harness) -> None:
    check_capabilities(await harness.reader.capabilities())


async def test_capabilities_are_probed(harness: Harness) -> None:
    full = await harness.reader.capabilities()
    async with harness.lesser() as lesser:
        found = await lesser.reader.capabilities()
        check_capabilities(found)
        assert lesser.verbs or lesser.parts, "a lesser peer must lack something"
        assert lesser.verbs <= full.supported and not lesser.verbs & found.supported
        assert lesser.parts <= full.parts and not lesser.parts & found.parts
        assert all(found.why_not(verb) for verb in lesser.verbs)


async def test_extensions_are_explained(harness: Harness) -> None:
    await harness.populate()
    known = set((await harness.reader.capabilities()).extensions)
    used = {key for rows in (await world(harness.reader)).values() for row in rows for key in row.extensions}
    assert used <= known


async def test_logs_are_the_bytes_the_job_wrote(harness: Harness) -> None:
    logged = await harness.logged_job()
    if logged is None:
        with pytest.raises(Unsupported):
            [chunk async for chunk in harness.reader.job_logs("1")]
        return
    for stream, expected in (("stdout", logged.stdout), ("stderr", logged.stderr)):
        if expected is None:
            continue
        chunks = [chunk async for chunk in harness.reader.job_logs(logged.id, stream)]  # type: ignore[arg-type]
        assert b"".join(chunk.data for chunk in chunks) == expected
    half = len(logged.stdout) // 2
    chunks = [chunk async for chunk in harness.reader.job_logs(logged.id, since=half)]
    assert b"".join(chunk.data for chunk in chunks) == logged.stdout[half:]
    chunks = [chunk async for chunk in harness.reader.job_logs(logged.id, tail=1)]
    assert b"".join(chunk.data for chunk in chunks) == logged.stdout.splitlines(keepends=True)[-1]
    chunks = [chunk async for chunk in harness.reader.job_logs(logged.id, follow=True)]
    assert b"".join(chunk.data for chunk in chunks) == logged.stdout and chunks[-1].at_end
