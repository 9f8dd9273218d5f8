"""Resource updates: what changes in the store is told to clients that listen. Nothing is watched while nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent

from adapters.model import Kind
from console.cursor import Cursor
from console.engine import Engine
from console.mcp_server.resources import uri_of

TICK = 0.5
KINDS: tuple[Kind, ...] = ("job", "queue", "node")


class FeedBus(InMemorySubscriptionBus):
    """Starts the engine's watches with the first listener, so that a scheduler is not polled for nobody."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine
        self._task: asyncio.Task[None] | None = None

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        if self._task is None:
            cursors = [self._engine.store.cursor(kind) for kind in KINDS]  # before the first snapshot comes
            self._task = asyncio.create_task(self._run(cursors), name="mcp updates")
        self._engine.start_feeds()
        return super().subscribe(listener)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, cursors: Sequence[Cursor]) -> None:
        while True:
            await asyncio.sleep(TICK)
            for cursor in cursors:
                changes = cursor.take()
                for ref in changes.changed | changes.gone:
                    if (uri := uri_of(ref)) is not None:
                        await self.publish(ResourceUpdated(uri=uri))
