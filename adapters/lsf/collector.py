"""Large answers and the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class _Nested:
    """How many blocks hold the collector back; the last one to leave lets it go on."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._depth = 0
        self._was_on = False

    def enter(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._depth += 1

    def leave(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._was_on:
                gc.enable()


_nested = _Nested()


@contextmanager
def no_collections() -> Iterator[None]:
    """No automatic collection while a large answer becomes rows.

    Each full collection looks at every object of the process and stops all threads meanwhile: at 100,000 rows for
    more than a tenth of a second, several times. Records and rows form no cycles, so nothing is missed.
    """
    _nested.enter()
    try:
        yield
    finally:
        _nested.leave()
