"""When a yes may count."""

from __future__ import annotations

from console.screens.keyguard import BURST, QUIET, KeyGuard


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_listens_after_a_quiet_spell_and_not_before() -> None:
    clock = _Clock()
    guard = KeyGuard(clock)
    assert not guard.look() and not guard.admit()
    clock.now += QUIET + 0.001
    assert guard.look()


def test_a_key_that_is_held_down_keeps_it_from_listening() -> None:
    clock = _Clock()
    guard = KeyGuard(clock)
    for _ in range(100):
        clock.now += 0.03
        assert not guard.admit()
    clock.now += QUIET + 0.001
    assert guard.admit() and guard.calm


def test_a_burst_of_keys_means_no_yes_even_while_it_listens() -> None:
    clock = _Clock()
    guard = KeyGuard(clock)
    clock.now += QUIET + 0.001
    assert guard.admit() and guard.calm
    clock.now += BURST / 2
    assert guard.admit() and not guard.calm
    clock.now += BURST * 2
    assert guard.admit() and guard.calm


def test_a_key_that_was_typed_before_the_dialog_counts_for_nothing_however_late_it_is_handled() -> None:
    clock = _Clock()
    guard = KeyGuard(clock)
    clock.now += 5.0  # the screen was busy
    assert not guard.admit(age=5.2) and not guard.calm
    clock.now += 1.0
    assert guard.admit(age=0.01) and guard.calm


def test_the_wait_begins_when_the_dialog_is_on_the_screen() -> None:
    clock = _Clock()
    guard = KeyGuard(clock)
    clock.now += 2.0
    guard.shown()
    clock.now += 0.1
    assert not guard.admit()
