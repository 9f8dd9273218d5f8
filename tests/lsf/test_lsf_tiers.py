"""The three tiers with hostile names, and every parser on mutated recordings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.base import ProtocolError
from adapters.lsf.decode import Rows, read_delimited, read_json, read_table, text_of
from adapters.lsf.details import enrich, from_archive, from_record
from adapters.lsf.jobs import JobRows
from adapters.lsf.legacy_jobs import read_jobs
from adapters.lsf.longform import read_details
from adapters.lsf.longform_hosts import read_hosts, read_queues
from adapters.lsf.nodes import nodes
from adapters.lsf.queues import queue
from adapters.lsf.tables import HOSTS, JOBS, LIM_HOSTS, LOAD, QUEUES, Dialect
from adapters.lsf.times import Clock
from adapters.model import Job
from adapters.text import clean
from tests.contract.test_contract_reads import texts
from tests.doubles.lsf.render import JOB_FIELDS, as_json, delimited, job_table
from tests.doubles.lsf.world import new_job
from tests.lsf.data import FOLDER, NOW, raw

NAMES = st.text(
    st.characters(codec="utf-8") | st.sampled_from("^|-,;:\t\x1b[]<>{}\"'\\/ \u202e\u200b\x85\u2028\x0b\x0c\r"),
    max_size=60,
)
LINE = NAMES.map(lambda name: name.replace("\n", ""))
"""LSF takes newlines out of names (recorded)."""
STATES = st.sampled_from(["PEND", "PSUSP", "RUN", "USUSP", "SSUSP", "DONE", "EXIT", "UNKWN"])


def world_of(names: list[str], states: list[str]) -> list[dict[str, Any]]:
    made = []
    for number, (name, stat) in enumerate(zip(names, states, strict=True), start=101):
        hosts = [] if stat in ("PEND", "PSUSP") else ["node01", "node01", "node02"]
        times = {"submit": 1_790_000_000, "start": 1_790_000_100 if hosts else 0}
        made.append(new_job({"next": number}, name=name, stat=stat, hosts=hosts, slots=3, **times))
    return made


def cells(jobs: list[dict[str, Any]], columns: tuple[str, ...]) -> list[list[str]]:
    return [[JOB_FIELDS[name]({}, job) for name in columns] for job in jobs]


def essence(jobs: list[Job]) -> list[tuple[object, ...]]:
    return [(job.id, job.raw_status, job.owner, job.queue, job.node_names) for job in jobs]


def expected(jobs: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [
        (str(job["id"]), job["stat"], job["user"], job["queue"], tuple(dict.fromkeys(job["hosts"]))) for job in jobs
    ]


def made(rows: Rows) -> list[Job]:
    return JobRows("lsf", NOW, UTC).make(rows.records)


def lists(names: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[list[str], list[str]]]:
    rows = st.lists(st.tuples(names, STATES), min_size=1, max_size=6)
    return rows.map(lambda found: ([name for name, _ in found], [state for _, state in found]))


@given(lists(NAMES))
def test_tier_a_reads_any_name(world: tuple[list[str], list[str]]) -> None:
    jobs, columns = world_of(*world), Dialect(JOBS).fields
    rows = read_json(as_json("bjobs", "JOBS", columns, cells(jobs, columns)), JOBS)
    found = made(rows)
    assert essence(found) == expected(jobs)
    assert [job.name for job in found] == [clean(job["name"]) if job["name"] != "-" else "" for job in jobs]


@given(lists(LINE))
@example((["^^^", "|x|", "-", " a^b "], ["RUN", "PEND", "DONE", "EXIT"]))
def test_tier_b_reads_any_name_of_one_line(world: tuple[list[str], list[str]]) -> None:
    jobs, columns = world_of(*world), Dialect(JOBS, tier="B").columns()
    rows = read_delimited(delimited(columns, cells(jobs, columns), "^"), JOBS, columns, "^")
    found = made(rows)
    assert essence(found) == expected(jobs) and rows.banner == []
    named = [job["name"].strip() for job in jobs]
    assert [job.name for job in found] == ["" if name == "-" else clean(name) for name in named]


@given(lists(LINE.filter(lambda name: not name.strip().endswith("]"))))
@example((["Nov 30 01:12", "- x", "Jan  1 10:00 2026", "node02"], ["RUN", "PEND", "DONE", "PSUSP"]))
def test_tier_c_reads_any_name_of_one_line(world: tuple[list[str], list[str]]) -> None:
    jobs = world_of(*world)
    rows = read_jobs(job_table(jobs))
    found = made(rows)
    assert essence(found) == expected(jobs) and rows.banner == []
    assert [job.name for job in found] == [clean(job["name"].strip()) for job in jobs]


def test_a_name_with_brackets_is_an_element_where_no_index_is_told() -> None:
    """To act on `123[4]` that is no element is refused by LSF; to act on 123 would hit a whole array."""
    (job,) = made(read_jobs(job_table(world_of(["ls x[4]"], ["RUN"]))))
    assert job.id == "101[4]"
    columns = Dialect(JOBS).fields
    (job,) = made(read_json(as_json("bjobs", "JOBS", columns, cells(world_of(["ls x[4]"], ["RUN"]), columns)), JOBS))
    assert job.id == "101" and job.array is None


# Mutated recordings


def mutated(data: bytes, random: Random) -> bytes:
    """The recording with some of its bytes changed, lost, doubled or cut off."""
    found = bytearray(data)
    for _ in range(random.randint(1, 12)):
        if not found:
            break
        at = random.randrange(len(found))
        kind = random.random()
        if kind < 0.4:
            found[at] = random.choice(b'\x00\n\t |^"{}[]<>,:-0A\xff\xc3\x1b')
        elif kind < 0.6:
            del found[at : at + random.randint(1, 40)]
        elif kind < 0.8:
            found[at:at] = found[at : at + random.randint(1, 80)]
        elif kind < 0.9:
            del found[at:]
        else:
            found[at:at] = b"LSF is processing your request. Please wait ...\n"
    return bytes(found)


def check_jobs(rows: Rows) -> None:
    for job in made(rows):
        assert job.id and [text for text in texts(job) if clean(text) != text] == []


def check_json_jobs(text: str) -> None:
    rows = read_json(text, JOBS)
    check_jobs(Rows([record for record in rows.records if record.get("JOBID")]))
    for record in rows.records:
        assert [part for part in texts(from_record(record)) if clean(part) != part] == []


def check_details(text: str) -> None:
    clock = Clock(NOW, UTC)
    for detail in read_details(text):
        for job in (from_archive("lsf", detail, clock), enrich(Job(detail.id, cluster="lsf"), {}, detail, clock)):
            assert [part for part in texts(job) if clean(part) != part] == []


def check_hosts(text: str) -> None:
    for table in (HOSTS, LOAD, LIM_HOSTS):
        with suppress(ProtocolError):
            records = read_table(text, table).records
            for node in nodes("lsf", records, records, records):
                assert [part for part in texts(node) if clean(part) != part] == []
    assert all(clean(detail.comment or "") == (detail.comment or "") for detail in read_hosts(text).values())


def check_queues(text: str) -> None:
    details = read_queues(text)
    for record in read_table(text, QUEUES).records:
        row = queue("lsf", record, details.get(record["QUEUE_NAME"]))
        assert [part for part in texts(row) if clean(part) != part] == []


def check_legacy(text: str) -> None:
    check_jobs(read_jobs(text))


PARSERS: list[tuple[str, Callable[[str], None]]] = [
    *((f"ibm/{path.name}", check_json_jobs) for path in sorted((FOLDER / "ibm").glob("bjobs_o_json*"))),
    ("volclava/bjobs_o_json.out", check_json_jobs),
    *((f"volclava/{name}", check_legacy) for name in ("bjobs_w_a_all.out", "bjobs_default_a_all.out")),
    *((f"ibm/{path.name}", check_details) for path in sorted((FOLDER / "ibm").glob("b*_l_*"))),
    *((f"volclava/{name}", check_details) for name in ("late_bjobs_l_a_all.out", "bhist_l_array.out")),
    *((f"volclava/{name}", check_hosts) for name in ("bhosts_w.out", "lsload_l.out", "lshosts_w.out", "bhosts_l.out")),
    *((f"volclava/{name}", check_queues) for name in ("bqueues.out", "bqueues_l.out")),
]


@pytest.mark.parametrize(("name", "check"), PARSERS, ids=[name for name, _ in PARSERS])
def test_a_mutated_recording_is_read_or_refused_and_never_crashes(name: str, check: Callable[[str], None]) -> None:
    data = raw(name)
    rounds = 12 if len(data) > 10_000 else 60
    for seed in range(rounds):
        with suppress(ProtocolError):
            check(text_of(mutated(data, Random(f"{name}{seed}"))))


@settings(max_examples=60)
@given(st.text(max_size=400))
def test_any_text_at_all_is_read_or_refused(text: str) -> None:
    for check in (check_json_jobs, check_legacy, check_details, check_hosts, check_queues):
        with suppress(ProtocolError):
            check(text)
