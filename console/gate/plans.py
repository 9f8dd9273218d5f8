"""Plans that wait for a person in another process: one file a plan, of the owner's alone, used at most once.

An MCP client that cannot ask leaves a plan here; a person approves it with ``pilothouse approve PLAN`` or in an open
console. The file holds the intent and what was planned then. It is planned anew before anybody is asked, so the person
agrees to what would be sent now; the file is consumed by an atomic rename before anything is sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from adapters.base import NotFound
from adapters.intents import INTENTS, Intent
from adapters.text import clean
from console.audit import AuditError, state_folder
from console.audit.files import prepare_folder, read_private, replace_private
from console.gate.prepared import Prepared, Refused

VERSION = 1
LIFE = timedelta(hours=24)
_NAME = re.compile(r"[0-9a-f]{32}")


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class WaitingPlan:
    """A plan that waits. `said` is what the one who proposed it had to say: untrusted words, cleaned."""

    plan_id: str
    intent: Intent
    digest: str
    summary: str
    said: str
    at: datetime

    @property
    def expires(self) -> datetime:
        return self.at + LIFE


class PlanFiles:
    """The folder of waiting plans. Raises AuditError where it cannot be used: a plan is then not accepted at all."""

    def __init__(self, folder: Path | None = None, clock: Callable[[], datetime] = _utc_now) -> None:
        self._folder = folder if folder is not None else state_folder() / "plans"
        self._clock = clock

    def put(self, prepared: Prepared, said: str = "") -> WaitingPlan:
        """Keep a plan for a person to look at."""
        prepare_folder(self._folder)
        plan = WaitingPlan(
            prepared.plan.plan_id, prepared.intent, prepared.digest, clean(prepared.intent.describe(), 200),
            clean(said, 2000), self._clock(),
        )  # fmt: skip
        replace_private(self._path(plan.plan_id), json.dumps(_as_record(plan), sort_keys=True).encode() + b"\n")
        return plan

    def waiting(self) -> list[WaitingPlan]:
        """Every plan that can still be answered, oldest first. Files that are none of ours are passed over."""
        found = [plan for path in self._files() if (plan := self._read(path)) is not None]
        return sorted((plan for plan in found if plan.expires > self._clock()), key=lambda plan: plan.at)

    def get(self, plan_id: str) -> WaitingPlan:
        """The plan of that id, or the only one whose id begins so. Raises NotFound."""
        found = [plan for plan in self.waiting() if plan_id and plan.plan_id.startswith(plan_id.lower())]
        if len(found) != 1:
            told = "More than one plan" if found else "No plan"
            raise NotFound(f"{told} waits under {clean(plan_id, 40)!r}.", "See: pilothouse approve")
        return found[0]

    def take(self, plan_id: str) -> None:
        """Use the plan up. Exactly one of any number of takers succeeds; the others get Refused."""
        path = self._path(plan_id)
        used = path.with_suffix(".used")
        try:
            path.rename(used)
        except FileNotFoundError:
            raise Refused(
                "approval", "This plan was already answered; nothing was sent again.", "Begin anew."
            ) from None
        except OSError as error:
            raise AuditError(f"{path} cannot be used up: {error.strerror}.", "Nothing was sent.") from error
        used.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what has expired."""
        for path in self._files():
            plan = self._read(path)
            if plan is not None and plan.expires <= self._clock():
                path.unlink(missing_ok=True)

    def _path(self, plan_id: str) -> Path:
        if not _NAME.fullmatch(plan_id):
            raise NotFound(f"{clean(plan_id, 40)!r} is not the id of a plan.", "See: pilothouse approve")
        return self._folder / f"{plan_id}.json"

    def _files(self) -> Iterator[Path]:
        if self._folder.is_dir():
            yield from (path for path in self._folder.glob("*.json") if _NAME.fullmatch(path.stem))

    def _read(self, path: Path) -> WaitingPlan | None:
        try:
            record = json.loads(read_private(path))
            if record["version"] != VERSION or record["plan_id"] != path.stem:
                return None
            intent = INTENTS[record["verb"]].model_validate(record["intent"])
            if not intent.by_agent:  # only agents leave plans here; a file that says otherwise gains nothing by it
                intent = intent.model_copy(update={"origin": "mcp"})
            at = datetime.fromisoformat(record["at"])
            at + LIFE  # raises OverflowError for a time without an end
            return WaitingPlan(
                path.stem, intent, str(record["digest"]), clean(str(record["summary"]), 200),
                clean(str(record["said"]), 2000), at if at.tzinfo else at.replace(tzinfo=UTC),
            )  # fmt: skip
        except (OSError, AuditError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None


def _as_record(plan: WaitingPlan) -> dict[str, Any]:
    return {
        "version": VERSION, "plan_id": plan.plan_id, "verb": plan.intent.verb,
        "intent": plan.intent.model_dump(mode="json"), "digest": plan.digest, "summary": plan.summary,
        "said": plan.said, "at": plan.at.isoformat(),
    }  # fmt: skip
