"""From a row to what is behind it: detail, log, node, help; and what leaves the screen: copies and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.model import Job, Node, Ref
from console.commands import Context
from console.screens.board import Board
from widgets.columns import Role

if TYPE_CHECKING:
    from console.app import ConsoleApp

MOST_COPIED = 75_000  # characters: terminals drop longer clipboard writes (OSC 52) whole


class OpenKeys:
    """For the main screen."""

    _host: ConsoleApp

    if TYPE_CHECKING:

        @property
        def contexts(self) -> frozenset[Context]: ...
        @property
        def board(self) -> Board: ...
        @property
        def target(self) -> Ref | None: ...
        @property
        def targets(self) -> tuple[Ref, ...]: ...
        def say(self, text: str, role: Role = "plain") -> None: ...

    def do_help(self) -> None:
        from console.screens.help import HelpScreen

        self._host.push_screen(HelpScreen(self.contexts))

    def do_job_open(self, why: bool = False) -> None:
        from console.screens.job import JobScreen

        if (ref := self.target) is not None and ref.kind == "job":
            self._host.push_screen(JobScreen(self._host, ref, why=why))

    def do_job_why(self) -> None:
        self.do_job_open(why=True)

    def do_job_log(self) -> None:
        from console.screens.log import LogScreen

        if (ref := self.target) is not None and isinstance(job := self._host.engine.store.row(ref), Job):
            self._host.push_screen(LogScreen(self._host, job))

    def do_node_open(self) -> None:
        from console.screens.node import NodeScreen

        if (ref := self.target) is not None and isinstance(self._host.engine.store.row(ref), Node):
            self._host.push_screen(NodeScreen(self._host, ref))

    def do_suspend(self) -> None:
        """Hand the terminal back to the shell until the person says fg."""
        self._host.to_shell(self.say)

    def do_copy(self) -> None:
        """The ids of the marked rows, or of the cursor's, to the terminal's clipboard."""
        text = "\n".join(ref.id for ref in self.targets)
        if not text:
            self.say("There is no row to copy.", "dim")
        elif len(text) > MOST_COPIED:
            self.say(f"{len(text)} characters are more than terminals take; export the rows instead.", "warn")
        else:
            self._host.copy_to_clipboard(text)
            self.say(
                f"Copied {len(self.targets)} of {self.board.view.shown} by the terminal's clipboard (OSC 52).", "ok"
            )

    def export(self, path: str) -> None:
        """Write the rows shown, in their order, to a file."""
        from console.export import ExportError, export

        store = self._host.engine.store
        rows = [row for ref in self.board.view.refs if (row := store.row(ref)) is not None]
        try:
            file = export(rows, path)
        except ExportError as error:
            self.say(str(error), "warn")
        else:
            self.say(f"{len(rows)} rows written to {file}", "ok")
