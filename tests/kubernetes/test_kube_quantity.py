"""Quantities are exact, whatever their suffix."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.kubernetes.quantity import (
    NANO,
    QuantityError,
    ceil_cores,
    floor_cores,
    nano,
    quantity,
    show_bytes,
    show_cpu,
    whole,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("110100m", Fraction(1101, 10)), ("140", 140), ("1Gi", 2**30), ("1e3", 1000), ("1E3", 1000), ("1E", 10**18),
        ("0.5", Fraction(1, 2)), (".5", Fraction(1, 2)), ("5.", 5), ("-1", -1), ("+2k", 2000),
        ("100n", Fraction(1, 10**7)),
        ("25472Mi", 25472 * 2**20), ("1.5Gi", 3 * 2**29), ("2e-3", Fraction(1, 500)), ("7u", Fraction(7, 10**6)),
        ("3Ei", 3 * 2**60), ("0", 0),
    ],
)  # fmt: skip
def test_a_quantity_has_its_exact_value(text: str, value: Fraction | int) -> None:
    assert quantity(text) == value


@pytest.mark.parametrize(
    "text", ["", "m", "1KB", "1gi", "lots", "1e", "1 2", "0x10", "1e999", "1" * 60, "１", "NaN", "--1"]
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        quantity(text)
    assert "quantity" in str(caught.value)
    assert nano(text) is None and whole(text) is None


def test_mixed_units_compare() -> None:
    assert quantity("110100m") < quantity("140") and quantity("1Ti") > quantity("1T")


def test_numbers_and_other_things() -> None:
    assert (nano(2), whole(2.5), nano(None), whole(True), nano({})) == (2 * NANO, 3, None, None, None)


@given(st.integers(0, 10**12))
def test_cpu_is_shown_so_that_it_reads_back(nanos: int) -> None:
    assert nano(show_cpu(nanos)) == nanos
    assert floor_cores(nanos) * NANO <= nanos <= ceil_cores(nanos) * NANO
    assert ceil_cores(nanos) - floor_cores(nanos) <= 1


@given(st.integers(0, 2**62))
def test_bytes_are_shown_so_that_they_read_back(size: int) -> None:
    assert whole(show_bytes(size)) == size
