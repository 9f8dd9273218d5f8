"""One task a cluster: what its watch yields goes to the store. A failure is a state, never the end of the feed."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

from adapters.base import AdapterError, InterestCell, ProtocolError, Reader, SourceState, WatchItem
from adapters.model import Delta
from console.store import KINDS, Store

_log = logging.getLogger(__name__)
PIECE = 2000  # rows that are applied in one go: about 10 ms, so that a key press never waits long
BIG = 5000  # rows after which it pays to keep them out of the garbage collector's sight


class Feed:
    """Applies the watch of one cluster to the store until it is cancelled.

    Adapters reconnect by themselves; should a watch end or raise all the same, it is begun anew after a pause that
    doubles up to 30 s.
    """

    def __init__(
        self,
        reader: Reader,
        interest: InterestCell,
        store: Store,
        *,
        sleep: Callable[[float], Any] = asyncio.sleep,
    ) -> None:
        self.cluster = reader.cluster
        self._reader = reader
        self._interest = interest
        self._store = store
        self._sleep = sleep
        self._loaded = False
        self._frozen = 0  # rows that were there when the garbage collector was last told to leave them alone

    async def run(self) -> None:
        """Runs for ever; end it by cancelling its task."""
        pause = 1.0
        self._store.note(self.cluster, SourceState("connecting"))
        while True:
            error: AdapterError
            try:
                async for item in self._watch():
                    await self._take(item)
                    if isinstance(item, Delta):
                        pause = 1.0
                error = ProtocolError("The watch ended by itself.", "It is begun anew.")
            except AdapterError as failure:
                error = failure
            except Exception as failure:  # a fault of the adapter's own: shown, logged, and survived
                _log.exception("watch of %s failed", self.cluster)
                error = ProtocolError(f"The watch failed: {type(failure).__name__}.", "It is begun anew; see the log.")
            self._fail(error, pause)
            await self._sleep(pause)
            pause = min(30.0, pause * 2)

    async def _watch(self) -> Any:
        async with aclosing(cast("Any", self._reader.watch(self._interest))) as items:
            async for item in items:
                yield item

    def _fail(self, error: AdapterError, pause: float) -> None:
        label = "stale" if self._loaded else "failed"
        retry_at = self._store.now() + timedelta(seconds=pause)
        self._store.note(self.cluster, SourceState(cast("Any", label), error=error, retry_at=retry_at))

    async def _take(self, item: WatchItem) -> None:
        if isinstance(item, SourceState):
            self._store.note(self.cluster, item)
            return
        for piece in pieces(item):
            self._store.apply(self.cluster, piece)
            await asyncio.sleep(0)
        if item.snapshot and not item.more:
            self._loaded = True
            self._settle_memory()

    def _settle_memory(self) -> None:
        """After a big load: full collections would look at every row again and again, 50 ms each at 100,000."""
        rows = sum(self._store.count(kind, [self.cluster]) for kind in KINDS)
        if rows >= BIG and rows > 1.5 * self._frozen:
            self._frozen = rows
            gc.collect()
            gc.freeze()


def pieces(delta: Delta, size: int = PIECE) -> Iterator[Delta]:
    """The same batch in several of at most `size` rows, which together do the same to the store."""
    rows = delta.upserts
    if len(rows) <= size:
        yield delta
        return
    last = (len(rows) - 1) // size
    for index in range(last + 1):
        yield replace(
            delta,
            upserts=rows[index * size : (index + 1) * size],
            reset=delta.reset if index == 0 else frozenset(),
            removals=delta.removals if index == last else (),
            more=delta.more or index < last,
        )
