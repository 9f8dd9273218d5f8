"""A double of a backend that also has API keys and reservations, on the one in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.base import Reader, Writer
from adapters.intents import Outcome, Step
from adapters.keys import ApiKey
from adapters.model import Ref, Reservation, Row
from tests.doubles.memory_backend import MemoryBackend, MemoryReader, MemoryWriter

SECRET = "xce_ak_shown_once"


class ListsBackend(MemoryBackend):
    """Keys are made and revoked at once; a reservation ends at once."""

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        super().__init__(rows=rows)
        self.keys = {"k1": ApiKey("k1", "xce_ak_ab", "alice", "user"), "k2": ApiKey("k2", None, "bob", "mcp_readonly")}

    def open(self, name: str = "", profile: object = None) -> tuple[Reader, Writer]:
        return ListsReader(self), MemoryWriter(self)

    def do(self, step: Step, body: Mapping[str, Any]) -> Outcome:
        parameters = body["parameters"]
        match body["verb"]:
            case "create_key":
                self.keys["k3"] = ApiKey("k3", SECRET[:9], parameters["user"], parameters["role"])
                return Outcome("accepted", message="made", secret=SECRET)
            case "revoke_key":
                del self.keys[parameters["key_id"]]
                return Outcome("accepted", message="revoked")
            case "delete_reservation":
                self.remove(Ref(self.cluster, "reservation", body["id"]))
                return Outcome("accepted", step.targets[0].ref, "ended")
        return super().do(step, body)


class ListsReader(MemoryReader):
    """Reads both lists; `MemoryBackend.error` is raised for them too."""

    def __init__(self, backend: ListsBackend) -> None:
        super().__init__(backend)
        self._lists = backend

    async def list_keys(self) -> Sequence[ApiKey]:
        if self._lists.error is not None:
            raise self._lists.error
        return list(self._lists.keys.values())

    async def list_reservations(self) -> Sequence[Reservation]:
        found: list[Reservation] = self._rows(Reservation)
        return found
