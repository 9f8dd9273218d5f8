"""The live view: reflectors fill a World, and what changed in its rows comes out in batches.

A batch gathers 30 ms of events. Long work is cut into slices, so that no key press waits for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import suppress

from adapters.base import AdapterError, Delta, Interest, InterestCell, SourceState, WatchItem
from adapters.kubernetes.client import Api
from adapters.kubernetes.discovery import Offer
from adapters.kubernetes.reflector import Timing
from adapters.kubernetes.resources import NEEDS, keys_for
from adapters.kubernetes.rows import Changes, Memory, Rows
from adapters.kubernetes.scope import Scope
from adapters.kubernetes.states import is_ready, state_of
from adapters.kubernetes.supervisor import Supervisor
from adapters.model import Job, Kind, Metrics, Row

GATHER = 0.03
"""Seconds for which events are gathered into a batch."""
ROWS_AT_ONCE = 100
"""Rows made without giving other tasks their turn: about 10 ms."""
PIECE = 1000
"""Rows in one piece of a snapshot."""
PATIENCE = 3.0
"""Seconds a first snapshot waits for what only adds to it (events, quotas)."""
TICK = 1.0
"""Seconds between looks without an event: totals, remembered jobs whose time is over."""
_ORDER: tuple[Kind, ...] = ("job", "queue", "node", "metrics")


class Watch:
    """One running watch of one cluster."""

    def __init__(
        self,
        api: Api,
        scope: Scope,
        find_offer: Callable[[], Awaitable[Offer]],
        memory: Memory,
        cluster: str,
        whoami: Callable[[], Awaitable[str]],
        timing: Timing | None = None,
    ) -> None:
        self._api = api
        self._scope = scope
        self._whoami = whoami
        self._supervisor = Supervisor(api, scope, find_offer, timing)
        self._rows = Rows(self._supervisor.world, cluster, api.config.namespace, memory)
        self._loaded: set[Kind] = set()
        self._told: dict[Kind, SourceState] = {}
        self._metrics: Metrics | None = None
        self._metrics_at = 0.0
        self._interest = Interest()
        self._me: str | None = None
        self._began = time.monotonic()

    async def run(self, cell: InterestCell) -> AsyncIterator[WatchItem]:
        """Snapshots, deltas and states until cancelled or closed."""
        supervisor = self._supervisor
        listening = asyncio.create_task(self._listen(cell))
        try:
            self._adopt(cell.current)
            while True:
                # Not wait_for: before Python 3.12 it forgets a cancellation that comes together with the event.
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK):
                        await supervisor.wake.wait()
                    await asyncio.sleep(GATHER)
                supervisor.wake.clear()
                if cell.current != self._interest:
                    self._adopt(cell.current)
                async for item in self._round():
                    yield item
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            await supervisor.stop()

    async def _listen(self, cell: InterestCell) -> None:
        while True:
            await cell.changed()
            self._supervisor.kick()
            self._supervisor.wake.set()

    def _adopt(self, interest: Interest) -> None:
        """Look at what this interest asks for. Kinds that come new, and jobs of other owners, begin with a snapshot."""
        if interest.owner != self._interest.owner:
            self._loaded.discard("job")
        self._interest = interest
        self._loaded &= interest.kinds
        self._told = {kind: state for kind, state in self._told.items() if kind in interest.kinds}
        self._began = time.monotonic()
        self._supervisor.want(keys_for(interest.kinds))

    async def _find_me(self) -> None:
        """Whose jobs are mine: until the server has told, none are."""
        if self._interest.owner == "mine" and self._me is None and self._supervisor.offer is not None:
            with suppress(AdapterError):
                self._me = await self._whoami()
                self._loaded.discard("job")

    async def _round(self) -> AsyncIterator[WatchItem]:
        await self._find_me()
        kinds = [kind for kind in _ORDER if kind in self._interest.kinds and NEEDS[kind]]
        for state in self._states(kinds):
            yield state
        waited = time.monotonic() - self._began
        ready = [kind for kind in kinds if is_ready(kind, self._supervisor, waited, PATIENCE)]
        # While lists come in, rows would be made again and again: they are made once something can be shown.
        if ready or self._loaded:
            async for delta in self._flushed():
                yield delta
        for kind in ready:
            if kind not in self._loaded:
                self._loaded.add(kind)
                for piece in self._snapshot(kind):
                    yield piece
                    await asyncio.sleep(0)
        totals = self._totals()
        if totals is not None:
            yield totals
        for state in self._states(kinds):
            yield state

    async def _flushed(self) -> AsyncIterator[Delta]:
        """Make anew what changed, slice by slice; what belongs to kinds that are shown comes out. The first slice is
        made even if nothing changed: the time of a remembered job may be over."""
        while True:
            delta = self._live(self._rows.flush(self._api.now(), ROWS_AT_ONCE))
            if delta is not None:
                yield delta
            await asyncio.sleep(0)
            if not self._supervisor.world.dirty:
                return

    def _states(self, kinds: Iterable[Kind]) -> Iterator[SourceState]:
        for kind in kinds:
            state = state_of(kind, self._supervisor, self._scope, self._api, kind in self._loaded)
            if state != self._told.get(kind):
                self._told[kind] = state
                yield state

    def _live(self, changes: Changes) -> Delta | None:
        upserts = tuple(row for row in changes.upserts if row.ref.kind in self._loaded and self._is_shown(row))
        removals = tuple(ref for ref in changes.removals if ref.kind in self._loaded)
        return Delta(upserts, removals, at=self._api.now()) if upserts or removals else None

    def _is_shown(self, row: Row) -> bool:
        return not isinstance(row, Job) or self._interest.owner == "all" or row.owner == self._me

    def _snapshot(self, kind: Kind) -> Iterator[Delta]:
        """All rows of a kind, in pieces. Nothing is made anew between them, so that they belong together."""
        if kind == "metrics":
            self._metrics = self._rows.metrics(self._api.now())
            self._metrics_at = time.monotonic()
            rows: list[Row] = [self._metrics]
        else:
            rows = [row for row in self._rows.of(kind) if self._is_shown(row)]
        at = self._api.now()
        for start in range(0, max(1, len(rows)), PIECE):
            yield Delta(
                tuple(rows[start : start + PIECE]),
                reset=frozenset({kind}) if start == 0 else frozenset(),
                more=start + PIECE < len(rows),
                snapshot=True,
                at=at,
            )

    def _totals(self) -> Delta | None:
        """The totals, at most once a second and only when they differ."""
        if "metrics" not in self._loaded or time.monotonic() - self._metrics_at < TICK:
            return None
        self._metrics_at = time.monotonic()
        totals = self._rows.metrics(self._api.now())
        if self._metrics is not None and totals == self._metrics._replace(at=totals.at):
            return None
        self._metrics = totals
        return Delta((totals,), at=totals.at)
