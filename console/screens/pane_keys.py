"""Between and within panes: focus, filter, sort, and links from row to row with a trail that leads back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.timer import Timer

from adapters.model import Job, Ref
from adapters.text import clean
from console.filters import FilterError
from console.screens.board import Board
from console.sorting import Sort, sort_of
from widgets.columns import Moment, Role
from widgets.filter_bar import FilterBar

if TYPE_CHECKING:
    from console.app import ConsoleApp

MANY = 5000  # rows above which a filter waits until typing rests
QUIET = 0.08  # seconds without a key that count as rest
LONGEST_TRAIL = 50


class Place(NamedTuple):
    """Where a person was: pane, filter and row."""

    pane: str
    filter: str
    row: Ref | None


class PaneKeys:
    """For the main screen."""

    _host: ConsoleApp
    boards: dict[str, Board]
    _active: str
    _moment: Moment
    _typing: Timer | None = None
    _trail: list[Place]

    if TYPE_CHECKING:
        query_one: Any
        set_timer: Any

        @property
        def board(self) -> Board: ...
        @property
        def target(self) -> Ref | None: ...
        def say(self, text: str, role: Role = "plain") -> None: ...
        def go(self, id: str) -> None: ...

    # -- panes ------------------------------------------------------------------------------------------------------

    def do_pane_jobs(self) -> None:
        self.go("jobs")

    def do_pane_queues(self) -> None:
        self.go("queues")

    def do_pane_nodes(self) -> None:
        self.go("nodes")

    def _step_pane(self, by: int) -> None:
        ids = list(self.boards)
        self.go(ids[(ids.index(self._active) + by) % len(ids)])

    def do_pane_next(self) -> None:
        self._step_pane(1)

    def do_pane_previous(self) -> None:
        self._step_pane(-1)

    # -- filter and sort --------------------------------------------------------------------------------------------

    def do_filter(self) -> None:
        self.query_one(FilterBar).open(self.board.filter, self._host.remembered.history("filter"))

    def set_filter(self, text: str) -> None:
        """Filter the pane; a filter that means nothing is said, and the one of before stays."""
        self._typing = None
        try:
            self.board.set_filter(text, self._moment)
        except FilterError as error:
            self.say(clean(str(error)), "warn")
        else:
            self.say("")

    def on_filter_bar_typed(self, message: FilterBar.Typed) -> None:
        """Wait for a moment of rest where there are many rows."""
        if self._typing is not None:
            self._typing.stop()
        if self.board.view.total > MANY:
            self._typing = self.set_timer(QUIET, partial(self.set_filter, message.text))
        else:
            self.set_filter(message.text)

    def on_filter_bar_closed(self, message: FilterBar.Closed) -> None:
        if self._typing is not None:
            self._typing.stop()
        self._host.remembered.typed("filter", message.text)
        self.set_filter(message.text)
        self.go(self._active)

    def sort(self, sorts: Sequence[Sort]) -> None:
        """By these keys; without any as at the start."""
        self.board.sort(sorts, self._moment)
        self.remember_sort(chosen=bool(sorts))

    def do_sort(self) -> None:
        self.board.next_sort(self._moment)
        self.remember_sort()

    def remember_sort(self, chosen: bool = True) -> None:
        words = [f"{sort.field}{'-' if sort.descending else ''}" for sort in self.board.view.sort] if chosen else []
        self._host.remembered.choose_view("sort", self._active, words)

    def recall_views(self) -> None:
        """The sorts and the columns that were chosen in an earlier run."""
        for id, board in self.boards.items():
            if words := self._host.remembered.of_view("sort", id):
                board.view.set_sort(tuple(sort_of(word) for word in words))
            if ids := self._host.remembered.of_view("columns", id):
                board.pane.choose_columns(ids)

    def choose_columns(self, ids: Sequence[str]) -> None:
        """These columns of the pane in this order, from now on; without any, those of the configuration."""
        pane = self.board.pane
        if unknown := [id for id in ids if id not in pane.column_titles]:
            known = ", ".join(pane.column_titles)
            self.say(f"There is no column {clean(unknown[0], 40)} of {pane.noun}; there are {known}.", "warn")
            return
        pane.choose_columns(ids)
        self._host.remembered.choose_view("columns", self._active, ids)
        self.say("" if ids else f"The columns of the {pane.noun} are as at the start.", "dim")

    def show_clusters(self, name: str) -> None:
        """Show one cluster alone, or with ``all`` every one."""
        every = list(self._host.engine.clusters)
        clusters = every if name == "all" else [cluster for cluster in every if cluster == name]
        if not clusters:
            self.say(f"There is no cluster {clean(name, 40)}; there are {', '.join(every)}.", "warn")
            return
        for board in self.boards.values():
            board.show_clusters(clusters, self._moment)
        self.say("" if len(clusters) == len(every) else f"Only {clusters[0]} is shown.", "info")

    # -- links ------------------------------------------------------------------------------------------------------

    def follow(self, pane: str, filter: str | None = None, row: Ref | None = None) -> None:
        """Go from here to rows of another pane, and remember the way back."""
        self._trail.append(Place(self._active, self.board.filter, self.target))
        del self._trail[:-LONGEST_TRAIL]
        self._arrive(Place(pane, self.boards[pane].filter if filter is None else filter, row))

    def _arrive(self, place: Place) -> None:
        self.go(place.pane)
        self.set_filter(place.filter)
        if place.row is not None and not self.board.pane.table.move_to(place.row):
            self.say(f"{clean(place.row.id, 60)} is not among the rows shown.", "dim")

    def go_back(self) -> bool:
        """One step back on the trail; False where it is at its beginning."""
        if not self._trail:
            return False
        self._arrive(self._trail.pop())
        return True

    def do_queue_jobs(self) -> None:
        if (ref := self.target) is not None:
            self.follow("jobs", f'queue="{ref.id}"')

    def do_node_jobs(self) -> None:
        if (ref := self.target) is not None:
            self.follow("jobs", f'node="{ref.id}"')

    def do_job_node(self) -> None:
        """The first of the nodes the job runs on."""
        store = self._host.engine.store
        row = store.row(self.target) if self.target else None
        if not isinstance(row, Job) or not row.node_names:
            self.say("The job is on no node.", "dim")
            return
        found = store.find(row.cluster, "node", row.node_names[0])
        self.follow("nodes", "", found or Ref(row.cluster, "node", row.node_names[0]))

    def do_job_queue(self) -> None:
        store = self._host.engine.store
        row = store.row(self.target) if self.target else None
        if isinstance(row, Job) and row.queue:
            found = store.find(row.cluster, "queue", row.queue)
            self.follow("queues", "", found or Ref(row.cluster, "queue", row.queue))
