"""How far agents may reach, as a form: the only place where that is widened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from adapters.base import AdapterError
from adapters.text import clean
from console.gate import AgentScope
from console.grants import WishError, names
from console.screens.keyguard import KeyGuard, age_of
from console.screens.writes import told
from widgets.columns import Role
from widgets.form import Field, FormPanel
from widgets.node_facts import COLOURS

if TYPE_CHECKING:
    from console.app import ConsoleApp


class ScopeScreen(ModalScreen[None]):
    """Filled with the scope that holds, or with `wanted`; entering it sets the scope, on record.

    Keys of the first moments are dropped: whoever types into the chat must not fill this in by accident.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back", show=False)]

    def __init__(self, host: ConsoleApp, wanted: Mapping[str, Any], guard: KeyGuard | None = None) -> None:
        super().__init__()
        self._host = host
        self._guard = guard or KeyGuard()
        scope = host.engine.gate.agents.scope
        shown = {"owners": scope.owners, "queues": listed(scope.queues), "clusters": listed(scope.clusters)}
        shown |= {key: text(value) for key, value in wanted.items() if key in shown}
        self.form = FormPanel(
            [
                Field("owners", "Whose jobs", shown["owners"], "mine, or all"),
                Field("queues", "Queues", shown["queues"], "names; any"),
                Field("clusters", "Clusters", shown["clusters"], "names; any"),
            ]
        )
        self.said = Static("", id="form-said")

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.form, self.said, id="form-dialog", classes="dialog")
        dialog.border_title = Content(" How far agents may reach ")
        dialog.border_subtitle = Content(" it holds until the console ends ")
        yield dialog

    def on_mount(self) -> None:
        self.call_after_refresh(self._guard.shown)
        now = self._host.engine.gate.agents.scope.words()
        self.say(f"Now: {now}. Enter moves on, Ctrl+S sets it, Esc leaves it.", "dim")

    def admits(self, event: events.Key) -> bool:
        return self._guard.admit(age_of(event)) or event.key == "escape"

    def say(self, text: str, role: Role = "plain") -> None:
        self.said.update(Content.styled(clean(text), COLOURS[role]))

    async def on_form_panel_entered(self, message: FormPanel.Entered) -> None:
        message.stop()
        try:
            scope = scope_of(message.values, list(self._host.engine.clusters))
            await self._host.engine.gate.agents.widen(scope)
        except WishError as error:
            self.form.complain(error.field, str(error))
        except AdapterError as error:
            self.say(told(error), "bad")
        else:
            self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)


def listed(found: frozenset[str] | None) -> str:
    """Names as the form takes them; ``any`` where nothing restricts."""
    return "any" if found is None else " ".join(sorted(found))


def text(value: Any) -> str:
    """A wish of a `/` command as the form takes it."""
    if value is None:
        return "any"
    if isinstance(value, list | tuple | set | frozenset):
        return " ".join(sorted(clean(str(part), 128) for part in value))
    return clean(str(value), 400)


def scope_of(values: Mapping[str, str], clusters: list[str]) -> AgentScope:
    """The scope that a form asks for. Raises WishError."""
    owners: Literal["mine", "all"]
    match values.get("owners", "").strip().lower():
        case "mine":
            owners = "mine"
        case "all":
            owners = "all"
        case other:
            raise WishError("owners", f"It is mine or all, not {clean(other, 40)!r}.")
    return AgentScope(owners, names("queues", values["queues"]), known_clusters(values["clusters"], clusters))


def known_clusters(text: str, clusters: list[str]) -> frozenset[str] | None:
    """Names of clusters that there are. Raises WishError."""
    wanted = names("clusters", text)
    for name in sorted(wanted or ()):
        if name not in clusters:
            raise WishError("clusters", f"There is no cluster {clean(name, 40)!r}; there are {', '.join(clusters)}.")
    return wanted
