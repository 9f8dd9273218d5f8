"""Takes people, machines and work out of what is recorded, so that a recording can be attached to a bug report.

Names become user1, node1, job1 and so on, the same name always the same one; numbers, times and states stay. Commands,
descriptions, paths, addresses, logs and error texts are left out. Job ids that are plain numbers stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from adapters.base import AdapterError, SourceState

_WORD = re.compile(r"[\w][\w.@-]*[\w]|[\w]")
_NUMBER_ID = re.compile(r"\d+(?:[_.\[]\d+\]?)?")
_PLAIN_WORDS = frozenset(
    """a after all an administrator and any are array at be been by can cannot cluster cores cpu cpus dependency down
    drained element elements ended enough exit failed finished for free from full given gpu gpus group has have held
    hold in is it its job jobs killed later less limit limits lost maximum may memory minutes more most no node nodes
    none not of on one only or other out over owner partition pending priority qos quota reached reason requested
    required resources run runs running satisfied seconds signal slot slots start started starts state status stopped
    suspended system than that the there these this time to too turn under up use used user users waiting waits was
    were while will with""".split()  # noqa: SIM905
)


class Anonymiser:
    """Replaces names consistently over one recording."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, str]] = {}

    def name(self, kind: str, name: str) -> str:
        """The stand-in of a name of that kind (user, node, queue, job, project)."""
        known = self._names.setdefault(kind, {})
        return known.setdefault(name, f"{kind}{len(known) + 1}")

    def text(self, text: str) -> str:
        """Free text: numbers and plain words of schedulers stay, known names become their stand-ins, the rest dots."""
        every = {name: stand for known in self._names.values() for name, stand in known.items()}

        def one(match: re.Match[str]) -> str:
            word = match[0]
            if word in every:
                return every[word]
            return word if word.isdigit() or word.lower() in _PLAIN_WORDS else "..."

        return _WORD.sub(one, text)

    def row(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """An encoded row (`adapters.replay.rows.encode_row`) without what tells whose it is."""
        kind = str(data["kind"])
        made = {key: value for key, value in data.items() if key not in ("logs_url", "extensions", "features")}
        for key, of in (("owner", "user"), ("queue", "queue")):
            if made.get(key) is not None:
                made[key] = self.name(of, made[key])
        if "node_names" in made:
            made["node_names"] = [self.name("node", name) for name in made["node_names"]]
        if "users" in made:
            made["users"] = [self.name("user", name) for name in made["users"]]
        if kind == "job":
            self._job(made)
        elif made.get("name") is not None:
            made["name"] = self.name(kind, made["name"])
        if kind == "metrics" and "queues" in made:
            made["queues"] = {self.name("queue", name): value for name, value in made["queues"].items()}
        if made.get("reason") is not None:
            made["reason"] = self.text(made["reason"])
        numbers = _numbers(data.get("extensions", {}))
        return made | ({"extensions": numbers} if numbers else {})

    def _job(self, made: dict[str, Any]) -> None:
        made["id"] = self._job_id(made["id"])
        if made.get("name"):
            made["name"] = self.name("job", made["name"])
        if "dependencies" in made:
            made["dependencies"] = [{**each, "id": self._job_id(each["id"])} for each in made["dependencies"]]
        if made.get("array"):
            made["array"] = {**made["array"], "id": self._job_id(made["array"]["id"])}

    def _job_id(self, id: str) -> str:
        return id if _NUMBER_ID.fullmatch(id) else self.name("id", id)

    def ref(self, data: list[str | None]) -> list[str | None]:
        """An encoded name of a row that is gone. A `born` that is no time is the backend's uid, and is left out."""
        kind, id, born = data
        assert kind is not None and id is not None
        if born is not None and not re.match(r"\d{4}-\d\d-\d\dT", born):
            born = None
        return [kind, self._job_id(id) if kind == "job" else self.name(kind, id), born]

    def state(self, state: SourceState) -> SourceState:
        """A state without the words of the backend; the sort of an error stays."""
        error = state.error
        made: AdapterError | None = None if error is None else type(error)(error.title)
        return SourceState(
            state.label,
            state.kinds,
            state.interval,
            made,
            state.retry_at,
            self.text(state.note),
            state.at,
            state.calls_per_minute,
        )


def _numbers(value: Any) -> dict[str, Any]:
    """What of extensions are numbers, one level of names deep: they tell how much, not whose."""
    kept: dict[str, Any] = {}
    for key, part in dict(value).items():
        if isinstance(part, bool | int | float):
            kept[key] = part
        elif isinstance(part, Mapping):
            inner = {name: number for name, number in part.items() if isinstance(number, bool | int | float)}
            if inner and len(inner) == len(part):
                kept[key] = inner
    return kept
