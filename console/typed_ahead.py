"""One key after the other: the next is handed on when all that the one before has brought about is there.

The toolkit passes a key from the focused widget up to the screen and only then looks for what it is bound to; a key
that came right behind it has been given to the old focus by then. Typed quickly, or come in one piece over a slow link,
`/id` would open the filter and take `i` and `d` for commands.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

PATIENCE = 1.0  # seconds that a key may take; a handler that needs longer does not stop the keyboard
OPENING = 3.0  # seconds that keys wait for something that is opened aside
ROUNDS = 3  # a key, what its widget makes of it, what that comes to
MOST_HELD = 1000  # keys; nobody types so many ahead


class TypedAhead:
    """Holds keys back until those before them have been dealt with."""

    def __init__(self, app: App[int]) -> None:
        self._app = app
        self._held: deque[events.Key] = deque()
        self._due: events.Key | None = None  # the held key that is on its way back to the application
        self._turn = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._longer: asyncio.TimerHandle | None = None  # something that a key began is still being opened

    def takes(self, key: events.Key) -> bool:
        """Whether the key has to wait; then it is posted to the application again when its turn has come."""
        if key is self._due:
            self._due = None
            return False
        if not self.busy:
            return False
        if len(self._held) < MOST_HELD:
            self._held.append(key)
        return True

    @property
    def busy(self) -> bool:
        """A key is being dealt with, or one waits."""
        return self._alarm is not None or self._due is not None or self._longer is not None

    @property
    def waiting(self) -> bool:
        """More keys have come than the one that is dealt with."""
        return bool(self._held)

    def wait(self) -> Callable[[], None]:
        """What this key opens is made aside: the keys behind it wait until what is returned is called, for a few
        seconds at most."""
        if self._longer is None:
            self._longer = asyncio.get_running_loop().call_later(OPENING, self._opened)
        return self._opened

    def _opened(self) -> None:
        if self._longer is not None:
            self._longer.cancel()
            self._longer = None
            if self._alarm is None:
                self.go_on()

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Around the handing on of a key: something is sent after it along its whole way."""
        way, self._turn = self._way(), self._turn + 1
        first = next(way)
        self._alarm = asyncio.get_running_loop().call_later(PATIENCE, self._done, self._turn)
        yield
        self._go(chain((first,), way), self._turn)

    def _way(self) -> Iterator[MessagePump]:
        """From the focused widget up to the application, which carries out what the key is bound to; and again, behind
        the messages that this brought (a field that was submitted, a line that closes, a change of the focus). A new
        screen sets up itself and its own focus."""
        app = self._app
        top = app.screen if app.screen_stack else None
        nodes = list((app.focused or top or app).ancestors_with_self)
        for _ in range(ROUNDS):
            yield from nodes
            now = app.screen if app.screen_stack else None
            if now is not None and now is not top:
                yield from (now, app)
                break
        yield app

    def _go(self, way: Iterator[MessagePump], turn: int) -> None:
        """To the next that still takes messages. A callback comes behind what is in its queue already."""
        for pump in way:
            if pump.call_later(self._go, way, turn):
                return
        self._done(turn)

    def _done(self, turn: int) -> None:
        if turn != self._turn or self._alarm is None:
            return
        self._alarm.cancel()
        self._alarm = None
        self.go_on()

    def go_on(self) -> None:
        """The key is dealt with, or was not wanted: the next one's turn."""
        if self._held and self._longer is None:
            self._due = self._held.popleft()
            self._app.post_message(self._due)
