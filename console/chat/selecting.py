"""Writes on "all my pending jobs": first the list, then a proposal that names each job; the person types how many."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

from console.chat.events import Event
from console.chat.said import Said
from console.chat.saying import say
from console.chat.telling import told
from console.tools.reads import JobList

if TYPE_CHECKING:
    from console.chat.offline import _Made

MOST = 1000  # jobs that one call may name
_PAGE = 200
_OPEN = ["pending", "running", "suspended", "unknown"]
_STATES: Mapping[str, list[str]] = {
    "scheduler_cancel": _OPEN, "scheduler_hold": ["pending"], "scheduler_release": ["pending"],
    "scheduler_suspend": ["running"], "scheduler_resume": ["suspended"],
}  # fmt: skip


async def select(made: _Made, meant: Said, chosen: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
    """List what the filter means, page by page, and propose the write with the ids; nothing where it means nothing."""
    wanted = dict(chosen)
    if "statuses" not in wanted and meant.tool in _STATES:
        wanted["statuses"] = _STATES[meant.tool]
    ids: list[str] = []
    following: int | None = 0
    while following is not None:
        arguments = {**meant.args, "filter": wanted, "limit": _PAGE, "continuation": following}
        async for event in made.call("scheduler_list_jobs", arguments):
            yield event
        outcome = made.outcomes[0]
        found = outcome.result
        if not isinstance(found, JobList):
            yield made.reply(told(outcome, made.lang))
            return
        if found.total > MOST:
            yield made.reply(say("too_many", made.lang, total=found.total, most=MOST))
            return
        if following == 0:
            yield made.reply(told(outcome, made.lang))
        ids += [job.id for job in found.jobs]
        following = found.continuation
    ids = list(dict.fromkeys(ids))
    if not ids:
        yield made.reply(say("none_selected", made.lang))
        return
    async for event in made.call(meant.tool, {**meant.args, "ids": ids}):
        yield event
    yield made.reply(told(made.outcomes[0], made.lang))
