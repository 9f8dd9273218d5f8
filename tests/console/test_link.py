"""Less is painted while the terminal is slow."""

from __future__ import annotations

from console.link import LONGEST, Link


def test_slow_writes_stretch_the_time_between_paintings_and_quick_ones_bring_it_back() -> None:
    link = Link()
    assert not link.slow and link.due(0.0, 0.2)
    assert not link.due(0.1, 0.2) and link.due(0.2, 0.2)
    link.wrote(0.2)
    assert link.slow and link.due(1.0, 0.2)
    assert not link.due(1.3, 0.2) and link.due(1.4, 0.2)
    for _ in range(20):
        link.wrote(0.001)
    assert not link.slow


def test_it_never_waits_longer_than_five_seconds() -> None:
    link = Link()
    for _ in range(50):
        link.wrote(1.0)
    assert link.due(0.0, 0.2)
    assert link.due(LONGEST, 0.2)
