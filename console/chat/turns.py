"""How one turn runs: the planner's events passed on within limits, a transcript that is whole at every end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING

from adapters.base import AdapterError
from adapters.text import clean
from console.chat.briefing import briefing, learn
from console.chat.calls import answered
from console.chat.events import Called, Ended, Event, Failure, Piece, Reply
from console.chat.follow import Fired
from console.chat.planner import Planner, Turn
from console.chat.summary import summary
from console.chat.transcript import add_text, mend

if TYPE_CHECKING:
    from console.chat.session import Chat

_log = logging.getLogger(__name__)
MOST_CALLS = 40  # in one turn
MOST_SAID = 200_000  # characters of a planner's text in one turn
SECOND_FAILURE = "This line of work has failed twice: nothing more is proposed for it by itself."


async def run_turn(
    chat: Chat,
    text: str,
    tell: Callable[[Event], None],
    planner: Planner | None = None,
    fired: Sequence[Fired] = (),
) -> Ended:
    """One turn, whatever happens; the caller holds the lock and tells what is returned. Cancelling it takes back what
    the turn proposed, and raises on."""
    work = fired[0].watch.work if fired else None
    turn = Turn(
        chat.next_turn(), text, chat.agent, chat.messages, follow=partial(chat.follow, work=work), fired=tuple(fired),
        no_writes=SECOND_FAILURE if any(one.watch.work.failures > 1 for one in fired) else "",
    )  # fmt: skip
    chat.spoken = turn.spoken
    ended = Ended("stopped")
    try:
        await _prepare(chat, turn)
        await chat.keep(tell)
        if chat.others_wait:
            turn.spoken.set()
        ended = await _events(planner or chat.planner, turn, tell)
    except Exception as error:
        _log.exception("a turn of the chat failed")
        tell(Failure("The turn failed", clean(f"{type(error).__name__}: {error}", 300), "See the log."))
        ended = Ended("failed")
    finally:
        chat.spoken = None
        mend(chat.messages)
        if ended.how == "done":
            chat.left += [proposal for proposal in chat.waiting if proposal.turn == turn.id]
        else:
            with suppress(AdapterError):
                await chat.engine.gate.withdraw(turn.id)
        await chat.keep(tell)
    return ended


async def _prepare(chat: Chat, turn: Turn) -> None:
    """What was said, and what the planner is told beside it."""
    for note in _answered_since(chat):
        add_text(chat.messages, note)
    add_text(chat.messages, turn.text)
    await learn(chat.engine)
    turn.system = briefing(chat.engine, chat.watches.all, chat.waiting)


def _answered_since(chat: Chat) -> list[str]:
    """What the person answered in the inbox after the turn that proposed it had ended."""
    done = [proposal for proposal in chat.left if proposal.answer is not None]
    chat.left = [proposal for proposal in chat.left if proposal.answer is None]
    told = []
    for proposal in done:
        result, error = answered(proposal)
        told.append(f"[inbox] Pilothouse reports: {summary(error or result)}")
    return told


async def _events(planner: Planner, turn: Turn, tell: Callable[[Event], None]) -> Ended:
    """Pass on what the planner tells, within the limits of one turn."""
    calls = said = 0
    async with aclosing(planner.answer(turn)) as events:
        async for event in events:
            if isinstance(event, Ended):
                return event
            calls += isinstance(event, Called)
            said += len(event.text) if isinstance(event, Piece | Reply) else 0
            if calls > MOST_CALLS or said > MOST_SAID:
                return Ended("limit")
            tell(event)
            await asyncio.sleep(0)
    return Ended("done")
