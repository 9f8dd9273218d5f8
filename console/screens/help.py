"""The help: what works here, from the table of commands."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from console.commands import COMMANDS, TITLES, Command, Context
from console.screens.bindings import CommandScreen, bindings_for
from widgets.help import HelpLine, HelpPanel, HelpSection
from widgets.jobs import JOB_LETTERS
from widgets.nodes import NODE_LETTERS
from widgets.queues import QUEUE_LETTERS

ORDER: tuple[Context, ...] = (
    "jobs", "queues", "nodes", "node", "job", "log", "sent", "map", "record", "keys", "reservations", "main", "chat",
    "say", "inbox", "confirm",
)  # fmt: skip


def sections(
    here: Collection[Context], bound: Callable[[Command], Command] = lambda c: c,
    hidden: Callable[[Command], bool] = lambda c: False,
) -> list[HelpSection]:  # fmt: skip
    """What works in these contexts first, then the rest; a command that works in several is told once."""
    told: set[str] = set()
    made: list[HelpSection] = []
    for context in sorted(ORDER, key=lambda c: c not in here):
        lines = [c for c in COMMANDS if context in c.contexts and c.id not in told and not hidden(c)]
        told.update(c.id for c in lines)
        if lines:
            rows = tuple(HelpLine(bound(c).shown, c.help, c.writes) for c in lines)
            made.append(HelpSection(TITLES[context] + (", here" if context in here else ""), rows))
    return made


def legend() -> list[str]:
    """What the letters of the state columns mean."""

    def line(title: str, letters: Collection[tuple[str, str]]) -> str:
        return f"{title}: " + ", ".join(f"{letter} {state}" for state, letter in letters)

    return [
        line("Jobs", JOB_LETTERS.items()),
        line("Queues", QUEUE_LETTERS.items()),
        line("Nodes", NODE_LETTERS.items()),
        "w marks what writes: it opens a question first. Esc and q only ever go back.",
    ]


class HelpScreen(CommandScreen, ModalScreen[None]):
    """Shown above whatever was there; Esc, q and ? leave it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("help")
    contexts = frozenset[Context]({"help"})

    def __init__(self, here: Collection[Context]) -> None:
        super().__init__()
        self._here = frozenset(here)

    def compose(self) -> ComposeResult:
        self.panel = HelpPanel(sections(self._here, self.bound, self.hidden), legend())
        dialog = Vertical(self.panel, id="help-dialog", classes="dialog")
        dialog.border_title = Content(" Keys ")
        dialog.border_subtitle = Content(" Esc closes ")
        yield dialog

    def on_mount(self) -> None:
        self.panel.focus()

    def _move(self, by: int) -> None:
        self.panel.scroll_relative(y=by, animate=False)

    def do_move_page_down(self) -> None:
        self.panel.scroll_page_down(animate=False)

    def do_move_page_up(self) -> None:
        self.panel.scroll_page_up(animate=False)

    def do_back(self) -> None:
        self.dismiss(None)

    def do_quit(self) -> None:
        self.dismiss(None)
