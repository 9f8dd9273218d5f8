"""The reservations of a cluster: read when somebody looks, made and ended through the gate."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.binding import BindingType

from adapters.base import Unsupported
from adapters.intents import DeleteReservation
from adapters.model import Ref, Reservation
from adapters.reservations import ReservationReader
from console.commands import Context
from console.screens.bindings import bindings_for
from console.screens.form import ReserveScreen
from console.screens.listing import ListingScreen
from widgets.columns import Column

if TYPE_CHECKING:
    from console.app import ConsoleApp


def _local(when: datetime | None) -> str:
    return when.astimezone().strftime("%m-%d %H:%M") if when else "-"


def _from(row: Reservation) -> str:
    """When it begins; where the backend tells no moment, the window in its own words."""
    return _local(row.start_time) if row.start_time else str(row.extensions.get("window", "-"))


COLUMNS: tuple[Column, ...] = (
    Column("name", "NAME", 14, 0, lambda row, _: row.name, lambda row: "strong", grow=2, limit=40),
    Column("status", "STATE", 8, 3, lambda row, _: row.status),
    Column("start_time", "FROM", 18, 1, lambda row, _: _from(row)),
    Column("end_time", "UNTIL", 11, 2, lambda row, _: _local(row.end_time)),
    Column("cores", "CORES", 5, 6, lambda row, _: "-" if row.cores is None else str(row.cores), right=True),
    Column("users", "USERS", 8, 5, lambda row, _: " ".join(row.users) or "-", grow=1),
    Column("node_names", "NODES", 10, 4, lambda row, _: " ".join(row.node_names) or "-", grow=3),
)


class ReservationsScreen(ListingScreen):
    """What is set apart, for whom, and how long."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("reservations")
    contexts = frozenset[Context]({"reservations"})

    def __init__(self, host: ConsoleApp, cluster: str) -> None:
        super().__init__(host, "Reservations", COLUMNS, cluster)

    async def read(self) -> Iterable[tuple[Ref, Any]]:
        reader = self._host.engine.reader(self._cluster)
        if not hasattr(reader, "list_reservations"):  # a recorded reader hands it through by name only
            raise Unsupported(f"{self._cluster} lists no reservations.")
        rows = await cast("ReservationReader", reader).list_reservations()
        return [(row.ref, row) for row in sorted(rows, key=lambda row: row.name)]

    @property
    def nothing(self) -> str:
        return "Nothing is reserved."

    def do_reservation_delete(self) -> None:
        if (ref := self.target) is not None and self.able("delete_reservation"):
            self.write(DeleteReservation(cluster=self._cluster, refs=(ref,)))

    def do_reserve(self) -> None:
        if self.able("create_reservation"):
            self._host.push_screen(ReserveScreen(self._host, self._cluster, ()), lambda _: self.do_refresh())
