"""One turn with a model: request, answer, calls, results, and again, until the model has nothing more to call."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from adapters.text import clean
from console.chat.calls import Calls
from console.chat.events import Call, Ended, Event, Failure, Notice, Reply, Retrying
from console.chat.planner import Turn
from console.chat.shim import written_calls
from console.chat.stream import Message, Use, shown, streamed
from console.chat.transcript import add_text, mend
from console.chat.trouble import TooLong, Trouble, trouble_of
from console.chat.wire import request, tokens

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

    from console.chat.model import ModelPlanner

MOST_PAUSES = 5
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_SHORTENED = (
    "The conversation had grown too long for the model and was shortened; approvals and scope are not part of it."
)
_CUT_CALL = (
    "[Pilothouse] Your answer was cut off at {limit} tokens in the middle of a call, so nothing of it was run. Make "
    "the call again with less text, or in smaller steps."
)


class Rounds:
    """The rounds of one turn. `signed` is thinking of this turn, which goes back to the endpoint that signed it."""

    def __init__(self, planner: ModelPlanner, client: AsyncAnthropic, turn: Turn) -> None:
        self._planner = planner
        self._client = client
        self._turn = turn
        self._endpoint = planner.endpoint
        self._signed: dict[str, list[dict[str, Any]]] = {}
        self._shortened = False
        self._ratio = 1.0  # tokens as the endpoint counts them, to tokens as we do
        self._fed_back = 0
        self._pauses = 0
        self._ended: Ended | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        """Everything that happens, `Ended` last. Raises Trouble."""
        for _ in range(self._planner.rounds):
            message: Message | None = None
            async with aclosing(self._asked()) as events:
                async for event in events:
                    if isinstance(event, Message):
                        message = event
                    else:
                        yield event
            assert message is not None
            async with aclosing(self._acted(message)) as events:
                async for event in events:
                    yield event
            if self._ended is not None:
                yield self._ended
                return
        yield Notice(f"The turn was ended after {self._planner.rounds} requests to the model.", "warning")
        yield Ended("limit")

    # -- asking

    async def _asked(self) -> AsyncGenerator[Event | Message, None]:
        """One answer, after as many attempts as it takes: pieces of text, and the message. Raises Trouble."""
        attempt = 0
        while True:
            if not self._shortened and await self._too_long():
                yield await self._shorten()
            body = self._request()
            trouble: Trouble
            try:
                async with aclosing(streamed(self._client, body, self._endpoint.host)) as events:
                    async for event in events:
                        if isinstance(event, Message):
                            self._heard(body, event)
                        yield event
                return
            except Trouble as met:
                trouble = met
            if isinstance(trouble, TooLong) and not self._shortened:
                yield await self._shorten()
                continue
            attempt += 1
            wait = self._planner.patience.wait(trouble, attempt)
            if wait is None:
                raise trouble
            yield Retrying(trouble.message, wait, attempt)
            await self._planner.sleep(wait)

    def _request(self) -> dict[str, Any]:
        return request(self._endpoint, self._turn.messages, self._turn.system, self._signed)

    def _heard(self, body: dict[str, Any], message: Message) -> None:
        """Raises TooLong for a message that says nothing but that."""
        if message.stop == "model_context_window_exceeded":
            told = f"{self._endpoint.host} says: the conversation fills the model's context window."
            raise TooLong(told, "`/compact` shortens it; a new one begins with `/new`.")
        self._shortened = False
        if message.input_tokens:
            ours = tokens([body["system"], body["messages"], body["tools"]])
            self._ratio = min(4.0, max(0.7, message.input_tokens / max(1, ours)))

    async def _too_long(self) -> bool:
        """Whether the next request would be longer than it may be, by our estimate and then by the endpoint's own
        count where it has one."""
        limit = self._endpoint.settings.context_tokens - self._endpoint.settings.max_tokens
        body = self._request()
        if tokens([body["system"], body["messages"], body["tools"]]) * self._ratio < limit:
            return False
        counted = {name: body[name] for name in ("model", "system", "messages", "tools")}
        try:
            return (await self._client.messages.count_tokens(**counted)).input_tokens >= limit
        except Exception as error:
            if trouble_of(error, self._endpoint.host) is None and not isinstance(error, ValueError | AttributeError):
                raise
            return True

    async def _shorten(self) -> Notice:
        self._shortened = True
        self._turn.messages[:] = await self._planner.shorter(self._client, self._turn.messages)
        return Notice(_SHORTENED)

    # -- acting

    async def _acted(self, message: Message) -> AsyncGenerator[Event, None]:
        """Carry out what the message calls for, and tell what it says."""
        text, uses = message.text, message.uses
        written = None
        if self._endpoint.settings.json_tools and not uses and message.stop in ("end_turn", "stop_sequence"):
            written = written_calls(text, self._turn.messages)
        if written is not None:
            text = written.said
            uses = [Use("", name, arguments, "") for name, arguments in written.calls]
        if text.strip():
            yield Reply(shown(text))
        if uses and (written is not None or message.stop == "tool_use"):
            async with aclosing(self._called(message, text, uses)) as events:
                async for event in events:
                    yield event
            return
        if text.strip():
            self._append([{"type": "text", "text": text}])
        for event in self._without_calls(message, text, uses):
            yield event

    def _without_calls(self, message: Message, text: str, uses: Sequence[Use]) -> list[Event]:
        """What a message that runs nothing means for the turn."""
        if uses and message.stop == "max_tokens" and not self._fed_back:
            self._fed_back += 1
            add_text(self._turn.messages, _CUT_CALL.format(limit=self._endpoint.settings.max_tokens))
            return [Notice("The model's answer was cut off in the middle of a call; it is asked for a shorter one.")]
        if message.stop == "pause_turn" and self._pauses < MOST_PAUSES:
            self._pauses += 1
            return []
        self._ended = Ended("limit" if message.stop in ("max_tokens", "pause_turn") else "done")
        return _told(message, text, uses, self._endpoint.settings.max_tokens)

    async def _called(self, message: Message, text: str, uses: Sequence[Use]) -> AsyncGenerator[Event, None]:
        ids = self._new_ids([use.id for use in uses])
        calls = [Call(id, clean(use.name, 128), use.arguments) for id, use in zip(ids, uses, strict=True)]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
        blocks += [_replayed(call) for call in calls]
        if message.signed:
            self._signed[calls[0].id] = message.signed
        self._append(blocks)
        if any(use.problem for use in uses):
            for event in self._unreadable(calls, uses):
                yield event
            return
        self._fed_back = 0
        run = Calls(self._turn)
        try:
            async with aclosing(run.run(calls, shown(text))) as events:
                async for event in events:
                    yield event
        finally:  # also when the turn is stopped: what was done already is told the next time
            if run.results:
                self._turn.messages.append({"role": "user", "content": run.results})
            mend(self._turn.messages)
        if run.interrupted:
            self._ended = Ended("done")

    def _unreadable(self, calls: Sequence[Call], uses: Sequence[Use]) -> list[Event]:
        """Feed back, once, that arguments were no JSON object; no call of the message is run."""
        results: list[dict[str, Any]] = []
        for call, use in zip(calls, uses, strict=True):
            why = (
                f"The arguments are not one JSON object ({use.problem})"
                if use.problem
                else "Another call of the message"
            )
            told = f"{why}{'' if use.problem else ' could not be read'}, so nothing of this message was run."
            results.append({"type": "tool_result", "tool_use_id": call.id, "content": told, "is_error": True})
        self._turn.messages.append({"role": "user", "content": results})
        self._fed_back += 1
        bad = next(use for use in uses if use.problem)
        told = f"The arguments of {clean(bad.name, 80)} are not one JSON object: {bad.problem}."
        if self._fed_back == 1:
            return [Notice(f"{told} Nothing was run; the model is told.", "warning")]
        self._ended = Ended("failed")
        hint = "`pilothouse doctor llm` tries what the model can do; [chat] json_tools may help a small one."
        return [Failure("The model's calls cannot be read", told, hint)]

    def _append(self, blocks: list[dict[str, Any]]) -> None:
        """Append what the model said; after its own words it is one message."""
        messages = self._turn.messages
        if messages and messages[-1]["role"] == "assistant" and isinstance(messages[-1]["content"], list):
            messages[-1] = {"role": "assistant", "content": [*messages[-1]["content"], *blocks]}
        else:
            messages.append({"role": "assistant", "content": blocks})

    def _new_ids(self, given: Sequence[str]) -> list[str]:
        """The endpoint's ids where they are some and new to the conversation; else ours. (Local servers begin to count
        anew with each answer.)"""
        taken = {
            block.get("id") for message in self._turn.messages if isinstance(message["content"], list)
            for block in message["content"] if block.get("type") == "tool_use"
        }  # fmt: skip
        ids: list[str] = []
        for id in given:
            usable = 0 < len(id) <= 128 and _NAME.issuperset(id) and id not in taken
            ids.append(id if usable else f"call_{uuid4().hex}")
            taken.add(ids[-1])
        return ids


def _replayed(call: Call) -> dict[str, Any]:
    """The call as it goes back to the endpoint, which takes no odd name."""
    named = len(call.tool) > 0 and _NAME.issuperset(call.tool)
    name = call.tool if named else "unknown_tool"
    return {"type": "tool_use", "id": call.id, "name": name, "input": dict(call.arguments)}


def _told(message: Message, text: str, uses: Sequence[Use], limit: int) -> list[Event]:
    """What the person is told of an answer that was not simply an answer."""
    if uses:
        named = ", ".join(clean(use.name, 80) for use in uses)
        told = f"The model called {named}, but its answer ended with {clean(message.stop, 60) or 'no reason'!r}: "
        return [Notice(f"{told}nothing was run.", "warning")]
    if message.stop == "refusal":
        return [Notice(f"The model refuses to answer{': ' + message.said if message.said else '.'}", "warning")]
    if message.stop == "max_tokens":
        return [Notice(f"The answer was cut off at {limit} tokens ([chat] max_tokens).", "warning")]
    return [] if text.strip() else [Notice("The model ended its answer without a word.", "warning")]
