"""The last hour of a figure as a line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from console.samples import STEP, STEPS, Samples

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_one_character_a_step_scaled_to_the_largest_and_a_space_for_the_unknown() -> None:
    samples = Samples()
    for ago, value in ((3, 0), (2, 7), (1, 14)):
        samples.add(NOW - timedelta(seconds=ago * STEP), value)
    line = samples.line(NOW)
    assert len(line) == STEPS
    assert line[-4:] == "▁▅█ " or line[-4:] == "▁▄█ "
    assert line[:-4].strip() == ""


def test_the_newest_value_of_a_step_counts_and_old_steps_leave() -> None:
    samples = Samples()
    samples.add(NOW, 5)
    samples.add(NOW + timedelta(seconds=1), 0)
    assert samples.line(NOW)[-1] == "▁"
    assert samples.line(NOW + timedelta(hours=2)).strip() == ""
