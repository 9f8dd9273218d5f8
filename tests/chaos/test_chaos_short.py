"""The short form of `make chaos`."""

from __future__ import annotations

import shutil

import pytest

from tests.chaos.chaos import run_chaos


@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("flock") is None, reason="the jobs of the storm take their locks with flock(1)")
def test_a_short_storm_loses_nothing_and_runs_nothing_twice() -> None:
    figures = run_chaos(150, seed=5, pause=(0.1, 0.7), limit=200)
    print("\n".join(figures.lines()))
    assert {name: found for name, found in figures.wrong.items() if found} == {}
    assert sum(figures.strikes.values()) >= 3, "there was a storm"
