"""The map of all nodes by queue: where there is room, what is away, and the way to a node."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from adapters.model import Node, Ref
from adapters.text import clean
from console.commands import Context
from console.node_groups import groups
from console.screens.bindings import CommandScreen, bindings_for
from widgets.columns import Role
from widgets.format import size, slots_with_quota, used
from widgets.key_bar import KeyBar
from widgets.node_facts import COLOURS
from widgets.node_map import SHARES, NodeMap
from widgets.nodes import node_role

if TYPE_CHECKING:
    from console.app import ConsoleApp

EVERY = 1.0  # seconds between two looks at the store, at least
LEGEND = f"· idle  {SHARES} used so far  D drain  X down  ? unknown"


class NodeMapScreen(CommandScreen, ModalScreen[Ref | None]):
    """Live while it is open. Returns the node that was chosen, or None."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("map")
    contexts = frozenset[Context]({"map"})

    def __init__(self, host: ConsoleApp, clusters: tuple[str, ...], start: Ref | None = None) -> None:
        super().__init__()
        self._host = host
        self._store = host.engine.store
        self._clusters = clusters
        self._start = start
        self._seen = -1
        self._looked = 0.0
        self._told: tuple[str, Role] = ("", "plain")
        self.map = NodeMap()
        self.said = Static(id="map-said")
        self.keys = KeyBar()

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.map, self.said, self.keys, id="map-dialog", classes="dialog")
        dialog.border_title = Content(" Nodes by queue ")
        dialog.border_subtitle = Content(f" {LEGEND} ")
        yield dialog

    def on_mount(self) -> None:
        self.map.focus()
        self.call_after_refresh(self.tick)
        self.call_after_refresh(lambda: self.keys.show(self.hints()))
        self.set_interval(0.25, self.tick)

    def tick(self) -> None:
        """Look at the store when it has changed, not more often than once a second."""
        now = time.monotonic()
        if not self.is_active or self._store.revision == self._seen or now - self._looked < EVERY:
            return
        self._seen, self._looked = self._store.revision, now
        self.map.show(groups(self._store, self._clusters))
        if self._start is not None:
            self.map.go_to(self._start)
            self._start = None
        self._describe()

    def _describe(self) -> None:
        """The node under the cursor, in a line."""
        ref = self.map.cursor
        node = self._store.row(ref) if ref is not None else None
        if not isinstance(node, Node):
            self.say("No nodes are known yet." if ref is None else "", "dim")
            return
        facts = [f"slots {slots_with_quota(node)}" if node.slots_total is not None else ""]
        facts.append(f"cores {used(node.cores_used, node.cores_total)}" if node.cores_total is not None else "")
        if node.memory_bytes_total is not None:
            facts.append(f"memory {size(node.memory_bytes_used)}/{size(node.memory_bytes_total)}")
        facts.append(f"GPUs {used(node.gpus_used, node.gpu_count)}" if node.gpu_count else "")
        text = "  ".join(part for part in (clean(node.name, 60), node.status, *facts, clean(node.reason or "")) if part)
        self.say(text, node_role(node))

    def say(self, text: str, role: Role = "plain") -> None:
        if (text, role) != self._told:
            self._told = (text, role)
            self.said.update(Content.styled(text, COLOURS[role]), layout=False)

    def on_node_map_moved(self, message: NodeMap.Moved) -> None:
        message.stop()
        self._describe()

    def on_node_map_opened(self, message: NodeMap.Opened) -> None:
        message.stop()
        self.dismiss(message.ref)

    # -- keys -------------------------------------------------------------------------------------------------------

    @property
    def movable(self) -> NodeMap:
        return self.map

    def do_map_left(self) -> None:
        self.map.step_by(-1)

    def do_map_right(self) -> None:
        self.map.step_by(1)

    def do_map_open(self) -> None:
        if self.map.cursor is not None:
            self.dismiss(self.map.cursor)

    def do_help(self) -> None:
        from console.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.contexts))

    def do_back(self) -> None:
        self.dismiss(None)

    def do_quit(self) -> None:
        self.dismiss(None)
