"""What an application owes its terminal: little output on a slow one, short pastes, the way to the shell and back."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.screen import Screen
from textual.timer import Timer

from adapters.text import clean_lines
from console.driver import ConsoleDriver
from console.keyboard import MOST_PASTED
from console.link import Link
from console.typed_ahead import TypedAhead
from widgets.columns import Role

if TYPE_CHECKING:
    from rich.console import RenderableType

Say = Callable[[str, Role], None]
DRAIN_LOOK = 0.03  # seconds between looks whether a slow terminal has taken what was painted
CROWD = 0.1  # seconds without a painting while keys wait
CROWD_SLOW = 1.0  # the same where the terminal is slow


class TerminalApp(App[int]):
    """The part of the console that knows its terminal. It returns the exit code."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Before any dialog or field: whoever presses it means the terminal and not what is in it.
        Binding("ctrl+z", "suspend_process", show=False, priority=True, id="suspend"),
    ]

    def __init__(self, driver_class: type[Driver] | None = None) -> None:
        super().__init__(driver_class=driver_class)
        self.link = Link()
        self._held: ExitStack | None = None  # as long as nothing is painted
        self._missed = False  # something was painted meanwhile and not written
        self._drain: Timer | None = None
        self._ahead = TypedAhead(self)
        self._crowded_until = 0.0  # when what keys have led to is painted, though more of them wait

    async def on_event(self, event: events.Event) -> None:
        """Keys one after the other, and only those that are admitted when their turn has come."""
        if not isinstance(event, events.Key) or event.is_forwarded:
            await super().on_event(event)
        elif self._ahead.takes(event):
            self._crowded()
        else:
            if self._ahead.waiting:
                self._crowded()
            else:
                self._look_at_queue()  # the last of them: what it leads to is painted at once
            if self.admits(event):
                with self._ahead.followed():
                    await super().on_event(event)
            else:
                self._ahead.go_on()

    def _crowded(self) -> None:
        """Keys wait: what is between them is not worth painting, but for a picture now and then."""
        if self._held is None:
            self._crowded_until = time.monotonic() + (CROWD_SLOW if self.link.slow else CROWD)
            self._hold()

    def admits(self, key: events.Key) -> bool:
        """Whether a key may reach the screen on top."""
        return bool(self.screen_stack)

    @property
    def typing(self) -> bool:
        """A key is being dealt with; those behind it wait."""
        return self._ahead.busy

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Write what was painted; until the terminal has taken it, nothing more is painted.

        What changes until then is painted at once, as it is then. So a key that is held down on a slow line does not
        go on for seconds after it is let go.
        """
        if self._held is not None and renderable is not None:
            self._missed = True
        super()._display(screen, renderable)
        if self._held is None and self.link.full:
            self._hold()

    def _hold(self) -> None:
        self._held = ExitStack()
        self._held.enter_context(self.batch_update())
        self._drain = self.set_interval(DRAIN_LOOK, self._look_at_queue)

    def _look_at_queue(self) -> None:
        crowded = self._ahead.waiting and time.monotonic() < self._crowded_until
        if self._held is None or self.link.full or crowded:
            return
        held, self._held = self._held, None
        held.close()
        if self._drain is not None:
            self._drain.stop()
        if self._missed:  # a screen came or went meanwhile
            self._missed = False
            self.refresh(layout=True)
        elif self.screen_stack:
            self.screen.check_idle()  # the end of a batch wakes the application, but it is the screen that paints

    def hold_keys(self) -> Callable[[], None]:
        """Have the keys that come from now on wait until what is returned is called, for a few seconds at most."""
        return self._ahead.wait()

    def may_paste(self, event: events.Paste) -> bool:
        """Whether a paste is short enough. What is in it is made visible: fields show it as it is."""
        if not self.screen_stack:
            return False
        if len(event.text) > MOST_PASTED:
            words = f"A paste of more than {MOST_PASTED:,} characters was dropped."
            self.notify(words, severity="warning", markup=False)
            return False
        event.text = "\n".join(clean_lines(event.text))
        return True

    def to_shell(self, say: Say) -> None:
        """Hand the terminal back to the shell until the person says fg. Writes in flight go on when they do."""
        if isinstance(self._driver, ConsoleDriver) and not self._driver.stop():
            say("There is no shell to go back to here.", "dim")

    def action_suspend_process(self) -> None:
        self.to_shell(getattr(self.screen, "say", lambda text, role: self.notify(text, markup=False)))
