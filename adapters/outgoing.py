"""What leaves an adapter and may change something: an observer can look at each such request as it goes out.

Transports call `report` with the very request they are about to send (credential left out), once for every
mutating HTTP request and every mutating argv. The test suite proves with it that nothing leaves without its line in
the audit log; nothing in the product depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from adapters.plan import HttpRequest, Request

Observer: TypeAlias = Callable[[str, Request], None]

_observers: list[Observer] = []


def observe(callback: Observer) -> Callable[[], None]:
    """Have `callback(cluster, request)` called for each mutating request; returns what ends it."""
    _observers.append(callback)

    def end() -> None:
        if callback in _observers:
            _observers.remove(callback)

    return end


def report(cluster: str, request: Request) -> None:
    """Say that `request` is about to leave for `cluster`. A GET or HEAD is no business of an observer."""
    if isinstance(request, HttpRequest) and request.method in ("GET", "HEAD", "OPTIONS"):
        return
    for callback in tuple(_observers):
        callback(cluster, request)
