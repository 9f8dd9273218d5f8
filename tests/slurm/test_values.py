"""Slurm's amounts, times and lists in the units of the model."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.model import Dependency
from adapters.slurm import values
from adapters.slurm.values import Tres


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0:00", 0), ("1:00", 60), ("30:00", 1800), ("1:00:00", 3600), ("8:00:00", 28800), ("2-00:00:00", 172800),
        ("1-12:00:00", 129600), ("1-12", 129600), ("1-02:30", 95400), ("60", 3600), ("365-00:00:00", 31536000),
        ("UNLIMITED", None), ("infinite", None), ("Partition_Limit", None), ("NOT_SET", None), ("INVALID", None),
        ("", None), ("N/A", None), ("n/a", None), ("1:00:00:00:00", None), ("-5", None),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: int | None) -> None:
    assert values.seconds(text) == seconds


@given(st.integers(min_value=60, max_value=10**8))
def test_a_time_limit_is_read_back_as_whole_minutes(duration: int) -> None:
    back = values.seconds(values.time_limit(duration))
    assert back is not None and back % 60 == 0 and 0 <= back - duration < 60


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500M", 500 * 2**20), ("4G", 4 * 2**30), ("62.50G", 62 * 2**30 + 2**29), ("1.50T", 3 * 2**39), ("0", 0),
        ("2048", 2**31), ("100Mc", 100 * 2**20), ("2Gn", 2**31), ("1024K", 2**20), ("N/A", None), ("", None),
        ("18446744073709551614", None), ("(null)", None),
    ],
)  # fmt: skip
def test_memory(text: str, size: int | None) -> None:
    assert values.memory_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "count"),
    [("4", 4), ("2K", 2048), ("1-4", 1), ("16+", 16), ("N/A", None), ("", None), ("4294967294", None), ("65534", None),
     ("1.5K", 1536)],
)  # fmt: skip
def test_counts(text: str, count: int | None) -> None:
    assert values.number(text) == count


def test_times() -> None:
    assert values.when("1796006590") == datetime.fromtimestamp(1796006590, UTC)
    for nothing in ("0", "N/A", "Unknown", "NONE", "", "-1", "١٢٣", "99999999999999", "2026-11-30T01:31:11"):
        assert values.when(nothing) is None


def test_tres_of_each_version() -> None:
    assert values.tres("cpu=2,mem=4G,node=1,billing=2,gres/gpu=2") == Tres(2, 4 * 2**30, 2, 1)
    assert values.tres("cpu=2,mem=4G,node=1,gres/gpu:a100=2,gres/gpu=2") == Tres(2, 4 * 2**30, 2, 1)
    assert values.tres("cpu=8,node=2,gres/gpu:a100=2,gres/gpu:v100=1") == Tres(8, None, 3, 2)
    assert values.tres("billing=1,cpu=1,mem=500M,node=1").gpus is None
    for nothing in ("", "N/A", "(null)", "rubbish", "cpu=,mem=x"):
        assert values.tres(nothing) == Tres()


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gpu:a100:4", 4), ("gpu:a100:3(IDX:0-2)", 3), ("gpu:v100:0(IDX:N/A)", 0), ("gpu:0", 0), ("gres:gpu:a100:2", 2),
        ("gres/gpu:a100:2", 2), ("gres/gpu:1", 1), ("gpu", 1), ("gpu:a100", 1), ("gpu:a100:2(S:0),gpu:v100:1(S:1)", 3),
        ("gpu:a100:2(IDX:0,2),shard:8(IDX:1,3)", 2), ("fpga:1,mps:200", 0), ("gpu:nvidia_h100_80gb:8(S:0-1)", 8),
        ("(null)", 0), ("", 0),
    ],
)  # fmt: skip
def test_gpus_of_gres(text: str, gpus: int) -> None:
    assert values.gpus_of_gres(text) == gpus


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n01", ("n01",)), ("n[03-04]", ("n03", "n04")), ("n[01-03,07]", ("n01", "n02", "n03", "n07")),
        ("a,b[1-2]", ("a", "b1", "b2")), ("r[1-2]n[0-1]x", ("r1n0x", "r1n1x", "r2n0x", "r2n1x")),
        ("n[098-101]", ("n098", "n099", "n100", "n101")), ("", ()), ("(null)", ()),
        ("n[3-1]", ("n[3-1]",)), ("n[", ("n[",)), ("n[1-999999999]", ("n[1-999999999]",)), ("n]1[", ("n]1[",)),
    ],
)  # fmt: skip
def test_host_lists(text: str, names: tuple[str, ...]) -> None:
    assert values.hosts(text) == names


def test_dependencies() -> None:
    assert values.dependencies("afterok:31(unfulfilled)") == (Dependency("31", "afterok"),)
    assert values.dependencies("afterany:31(unfulfilled),afternotok:28_*(failed)") == (
        Dependency("31", "afterany"),
        Dependency("28", "afternotok"),
    )
    assert values.dependencies("afterok:7?singleton(unfulfilled)") == (
        Dependency("7", "afterok"),
        Dependency("", "singleton"),
    )
    assert values.dependencies("after:31+10(unfulfilled)") == (Dependency("31+10", "after"),)
    assert values.dependencies("aftercorr:12_4(unfulfilled)") == (Dependency("12_4", "aftercorr"),)
    assert values.dependencies("what is this") == ()


@pytest.mark.parametrize(
    ("text", "code", "signal"),
    [
        ("0", 0, None), ("768", 3, None), ("11", None, 11), ("15", None, 15), ("4021", None, 53), ("139", None, 11),
        ("3:0", 3, None), ("0:15", None, 15), ("0:0", 0, None), ("1:0", 1, None), ("N/A", None, None), ("", None, None),
        ("4294967294", None, None), ("a:b", None, None),
    ],
)  # fmt: skip
def test_exit_codes_and_signals_are_told_apart(text: str, code: int | None, signal: int | None) -> None:
    assert values.exit_of(text) == (code, signal)


_FUNCTIONS = (values.seconds, values.number, values.memory_bytes, values.tres, values.gpus_of_gres, values.hosts,
              values.dependencies, values.exit_of, values.when)  # fmt: skip


@given(st.one_of(st.text(max_size=60), st.from_regex(r"[0-9a-z:,\-\[\]()=/KMG.+%?*]{0,40}", fullmatch=True)))
@example("¹:0")  # a digit that is no number
@example("n[¹-2]")
def test_no_text_breaks_a_parser(text: str) -> None:
    for parse in _FUNCTIONS:
        parse(text)
