"""The API keys of a scheduler that has its own: who has them, a new one, and the end of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.binding import BindingType

from adapters.base import Unsupported
from adapters.intents import CreateKey, Intent, RevokeKey
from adapters.keys import ApiKey, KeyReader
from adapters.model import Ref
from adapters.text import clean
from console.commands import Context
from console.forms import FieldError
from console.screens.bindings import bindings_for
from console.screens.form import FormScreen
from console.screens.listing import ListingScreen
from console.screens.writes import outcome_of
from widgets.columns import Column, Role
from widgets.form import Field

if TYPE_CHECKING:
    from console.app import ConsoleApp
    from console.gate import Operation

ROLES = ("mcp_readonly", "mcp_operator", "user", "cluster_admin")


def _day(when: datetime | None) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if when else "-"


def _column(id: str, title: str, width: int, priority: int, grow: int = 0) -> Column:
    return Column(id, title, width, priority, lambda key, _: getattr(key, id) or "-", grow=grow)


COLUMNS: tuple[Column, ...] = (
    _column("id", "ID", 10, 0, grow=1),
    _column("prefix", "PREFIX", 12, 4),
    _column("owner", "OWNER", 10, 1, grow=1),
    _column("role", "ROLE", 13, 2),
    Column("created", "CREATED", 16, 5, lambda key, _: _day(key.created)),
    Column("last_used", "LAST USED", 16, 3, lambda key, _: _day(key.last_used)),
)


def named(cluster: str, key: ApiKey) -> Ref:
    """A name for the table; intents name a key by its id alone."""
    return Ref(cluster, "metrics", key.id)


class KeysScreen(ListingScreen):
    """Keys, without their secrets. A new key's secret is shown once, in the line below."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("keys")
    contexts = frozenset[Context]({"keys"})

    def __init__(self, host: ConsoleApp, cluster: str) -> None:
        super().__init__(host, "API keys", COLUMNS, cluster)

    async def read(self) -> Iterable[tuple[Ref, Any]]:
        reader = self._host.engine.reader(self._cluster)
        if not hasattr(reader, "list_keys"):  # a recorded reader hands it through by name only
            raise Unsupported(f"{self._cluster} has no API keys of its own.")
        return [(named(self._cluster, key), key) for key in await cast("KeyReader", reader).list_keys()]

    @property
    def nothing(self) -> str:
        return "There are no keys, or none that you may see."

    def outcome(self, operation: Operation) -> tuple[str, Role]:
        for outcome in operation.outcomes:
            if outcome.secret is not None:
                return f"The new key, shown this once: {clean(outcome.secret)}", "warn"
        return outcome_of(operation)

    def do_key_create(self) -> None:
        if self.able("create_key"):
            self._host.push_screen(NewKeyScreen(self._host, self._cluster, self.sent))

    def do_key_revoke(self) -> None:
        if (ref := self.target) is not None and self.able("revoke_key"):
            self.write(RevokeKey(cluster=self._cluster, key_id=ref.id))


class NewKeyScreen(FormScreen):
    """Whose key, and what it may do."""

    def __init__(self, host: ConsoleApp, cluster: str, sent: Any) -> None:
        self._then = sent
        roles = ", ".join(ROLES)
        super().__init__(host, "New key", cluster, [Field("user", "User", "", ""), Field("role", "Role", "", roles)])

    def intent(self, values: Mapping[str, str]) -> Intent:
        role = values.get("role", "")
        if not values.get("user"):
            raise FieldError("user", "A key belongs to a user.")
        if role not in ROLES:
            raise FieldError("role", f"{role!r} is no role: {', '.join(ROLES)}.")
        return CreateKey.model_validate({"cluster": self._cluster, "user": values["user"], "role": role})

    def _sent(self, operation: Operation) -> None:
        super()._sent(operation)
        self._then(operation)
