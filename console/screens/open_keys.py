"""From a row to what is behind it: detail, log, node, help; and what leaves the screen: copies and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.model import Job, Node, Ref
from adapters.text import clean
from console.commands import Context
from console.screens.board import Board
from widgets.columns import Role

if TYPE_CHECKING:
    from console.app import ConsoleApp


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
        def follow(self, pane: str, filter: str | None = None, row: Ref | None = None) -> None: ...

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
            return
        try:
            self._host.copy_to_clipboard(text)
        except ValueError as error:
            self.say(f"{error} Export the rows instead.", "warn")
        else:
            told = f"Copied {len(self.targets)} of {self.board.view.shown} by the terminal's clipboard (OSC 52)."
            self.say(told, "ok")

    def save_screen(self, path: str) -> None:
        """What is on the screen, once the line that asked for it is gone from it."""
        self._host.call_after_refresh(lambda: self.say(*self._host.save_screen(path or None)))

    # -- more to look at --------------------------------------------------------------------------------------------

    def cluster_here(self, name: str = "") -> str | None:
        """The cluster of that name; without one, that of the row one is on, else the first that is shown."""
        known = self._host.engine.clusters
        if name:
            if name not in known:
                self.say(f"There is no cluster {clean(name, 40)}; there are {', '.join(known)}.", "warn")
            return name if name in known else None
        return self.target.cluster if self.target else next(iter(self.board.clusters), None)

    def do_map(self) -> None:
        """Every node by its queue; the one that is chosen there is gone to."""
        from console.screens.node_map import NodeMapScreen

        start = self.target if self.target and self.target.kind == "node" else None
        self._host.push_screen(NodeMapScreen(self._host, self.board.clusters, start), self._from_map)

    def _from_map(self, ref: Ref | None) -> None:
        if ref is not None:
            self.follow("nodes", "", ref)

    def do_record(self) -> None:
        from console.screens.record import RecordScreen

        self._host.push_screen(RecordScreen(self._host))

    def do_keys(self, cluster: str = "") -> None:
        from console.screens.keys import KeysScreen

        if name := self.cluster_here(cluster):
            self._host.push_screen(KeysScreen(self._host, name))

    def do_reservations(self, cluster: str = "") -> None:
        from console.screens.reservations import ReservationsScreen

        if name := self.cluster_here(cluster):
            self._host.push_screen(ReservationsScreen(self._host, name))

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
