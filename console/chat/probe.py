"""What an endpoint can do, tried out: text, one call of a tool, several, the whole table, being stopped, and more.

Nothing of a cluster is sent: questions, calls and results are made up here.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from adapters.text import clean
from console.chat.endpoint import Endpoint
from console.chat.events import Piece
from console.chat.prompt import PROMPT, tools
from console.chat.shim import written_calls
from console.chat.stream import Message, streamed
from console.chat.trouble import Trouble, trouble_of
from console.chat.wire import CACHED, tokens

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

State: TypeAlias = Literal["ok", "note", "bad"]
ANSWER_TOKENS = 400
JOB = "scheduler_get_job"


@dataclass(frozen=True, slots=True)
class Probed:
    """What one trial came to. `set` is a line for the table ``[chat]``, where one would help."""

    name: str
    state: State
    message: str
    hint: str = ""
    code: str = ""
    set: str = ""


async def probe(endpoint: Endpoint) -> AsyncGenerator[Probed, None]:
    """Try everything, one after another; what the endpoint cannot do at all ends it. Raises nothing that an endpoint
    could cause."""
    try:
        async with endpoint.client() as client:
            trial = _Trial(endpoint, client)
            for number, (name, attempt) in enumerate(trial.all()):
                found = await _tried(name, attempt, endpoint.host)
                yield found
                if found.state == "bad" and number == 0:
                    return
    except Trouble as trouble:
        yield Probed("endpoint", "bad", f"{trouble.title}: {trouble.message}", trouble.hint, trouble.code)


async def _tried(name: str, attempt: Callable[[], Awaitable[Probed]], host: str) -> Probed:
    try:
        return await attempt()
    except Trouble as trouble:
        return Probed(name, "bad", f"{trouble.title}: {trouble.message}", trouble.hint, trouble.code)
    except Exception as error:
        known = trouble_of(error, host)
        if known is None:
            raise
        return Probed(name, "bad", f"{known.title}: {known.message}", known.hint, known.code)


class _Trial:
    def __init__(self, endpoint: Endpoint, client: AsyncAnthropic) -> None:
        self._endpoint = endpoint
        self._client = client

    def all(self) -> tuple[tuple[str, Callable[[], Awaitable[Probed]]], ...]:
        return (
            ("text", self._text), ("one tool", self._one_tool), ("parallel tools", self._parallel),
            ("all tools", self._all_tools), ("tool_choice", self._choice), ("stop in mid-stream", self._stop),
            ("count_tokens", self._count), ("caching", self._caching),
        )  # fmt: skip

    async def _asked(self, question: str, **more: Any) -> Message:
        body = self._body(question, **more)
        async with aclosing(streamed(self._client, body, self._endpoint.host)) as events:
            async for event in events:
                if isinstance(event, Message):
                    return event
        raise AssertionError("a stream ends with its message or an error")

    def _body(self, question: str, **more: Any) -> dict[str, Any]:
        settings = self._endpoint.settings
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "max_tokens": min(ANSWER_TOKENS, settings.max_tokens),
            "messages": [{"role": "user", "content": question}],
        }
        if settings.temperature is not None:
            body["extra_body"] = {"temperature": settings.temperature}
        return {**body, **more}

    async def _text(self) -> Probed:
        begun = time.monotonic()
        message = await self._asked("Answer with the one word: ready")
        took = time.monotonic() - begun
        if not message.text.strip():
            return Probed("text", "bad", f"an answer without text (it ended with {clean(message.stop, 60)!r})")
        counted = f", {message.input_tokens} tokens in, {message.output_tokens} out" if message.input_tokens else ""
        return Probed("text", "ok", f"{clean(message.text.strip(), 60)!r} after {took:.1f} s{counted}")

    async def _one_tool(self) -> Probed:
        name, question = "one tool", f"Call the tool {JOB} for the job with the id 12."
        message = await self._asked(question, tools=_table(JOB))
        calls = [(use.name, use.arguments) for use in message.uses if not use.problem]
        if not message.uses:
            written = written_calls(message.text, [])
            if written is not None:
                told = "it writes calls as JSON text"
                state: State = "ok" if self._endpoint.settings.json_tools else "bad"
                return Probed(name, state, told, set="" if state == "ok" else "json_tools = true")
            told = f"no call, but: {clean(message.text.strip(), 80)!r}"
            return Probed(name, "bad", told, "Take a model (and a server option) with tool calling.")
        if message.stop != "tool_use":
            told = f"its call ends with {clean(message.stop, 60)!r} and not with 'tool_use', so it is never run"
            return Probed(name, "bad", told, "The server does not follow the Messages API.")
        if [(tool, str(given.get("id"))) for tool, given in calls] != [(JOB, "12")]:
            return Probed(name, "bad", f"a wrong call: {clean(_shown(message), 120)}", "Take a stronger model.")
        return await self._result_taken(question, message)

    async def _result_taken(self, question: str, message: Message) -> Probed:
        """Whether a result that is sent back is understood."""
        use = message.uses[0]
        id = use.id or "call_1"
        told = json.dumps({"job": {"id": "12", "status": "running", "queue": "quokka"}})
        again = await self._asked(question, tools=_table(JOB), messages=[
            {"role": "user", "content": question},
            {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": JOB, "input": {"id": "12"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": told},
                                         {"type": "text", "text": "In which queue is it?"}]},
        ])  # fmt: skip
        if "quokka" not in again.text.casefold():
            answer = clean(again.text.strip(), 60)
            return Probed(
                "one tool", "note", f"called, but the result was not used: {answer!r}", "Take a stronger model."
            )
        return Probed("one tool", "ok", "called, and its result used")

    async def _parallel(self) -> Probed:
        question = f"Call the tool {JOB} twice in one message: for the ids 12 and 13."
        message = await self._asked(question, tools=_table(JOB))
        given = sorted(str(use.arguments.get("id")) for use in message.uses if use.name == JOB and not use.problem)
        if message.stop == "tool_use" and given == ["12", "13"]:
            return Probed("parallel tools", "ok", "two calls in one message")
        return Probed("parallel tools", "note", f"{len(message.uses)} calls in one message; writes come one by one")

    async def _all_tools(self) -> Probed:
        table = list(tools())
        size = tokens([PROMPT, table])
        try:
            message = await self._asked("List the queues.", tools=table, system=PROMPT)
        except Trouble as trouble:
            hint = f"The chat begins with about {size} tokens: take a model, or a server option, with a longer context."
            return Probed("all tools", "bad", f"{trouble.title}: {trouble.message}", hint, trouble.code)
        named = [use.name for use in message.uses if not use.problem]
        if (
            not named
            and (written := written_calls(message.text, [])) is not None
            and self._endpoint.settings.json_tools
        ):
            named = [name for name, _ in written.calls]
        if named == ["scheduler_list_queues"]:
            used = message.input_tokens or size
            return Probed("all tools", "ok", f"the right one of {len(table)}; the chat begins with {used} tokens")
        return Probed("all tools", "note", f"not the one that was asked for: {clean(_shown(message), 120)}",
                      "The model may be too weak for the chat; the gate holds whatever it does.")  # fmt: skip

    async def _choice(self) -> Probed:
        try:
            message = await self._asked("Good morning.", tools=_table(JOB), tool_choice={"type": "tool", "name": JOB})
        except Trouble as trouble:
            return Probed("tool_choice", "note", f"not taken ({trouble.message}); the chat does without")
        if any(use.name == JOB for use in message.uses):
            return Probed("tool_choice", "ok", "obeyed")
        return Probed("tool_choice", "note", "taken and not obeyed; the chat does without")

    async def _stop(self) -> Probed:
        """Leave a long answer after its first words; then the endpoint must serve the next request."""
        body = self._body("Count from 1 to 300, in words.")
        async with aclosing(streamed(self._client, body, self._endpoint.host)) as events:
            async for event in events:
                if isinstance(event, Piece):
                    break
        begun = time.monotonic()
        await self._asked("Answer with the one word: ready")
        return Probed(
            "stop in mid-stream", "ok", f"stopped; the next answer came after {time.monotonic() - begun:.1f} s"
        )

    async def _count(self) -> Probed:
        body = {name: value for name, value in self._body("hello").items() if name in ("model", "messages")}
        try:
            counted = await self._client.messages.count_tokens(**body)
            number = int(counted.input_tokens)
        except Exception as error:
            if trouble_of(error, self._endpoint.host) is None and not isinstance(
                error, AttributeError | TypeError | ValueError
            ):
                raise
            return Probed("count_tokens", "note", "not there; lengths are estimated")
        return Probed("count_tokens", "ok", f"{number} for one word")

    async def _caching(self) -> Probed:
        """Whether the fields for caching are taken; whether anything is cached, only the endpoint knows."""
        block = {"type": "text", "text": "You are being tried out.", "cache_control": CACHED}
        try:
            await self._asked("Answer with the one word: ready", system=[block])
        except Trouble as trouble:
            used = self._endpoint.caches
            told = f"its fields are not taken ({trouble.message})"
            return Probed("caching", "bad" if used else "ok", told, set="caching = false" if used else "")
        if self._endpoint.caches:
            return Probed("caching", "ok", "its fields are taken, and used")
        return Probed("caching", "note", "its fields are taken, and not used", set="caching = true")


def _table(*names: str) -> list[dict[str, Any]]:
    return [tool for tool in tools() if tool["name"] in names]


def _shown(message: Message) -> str:
    calls = [f"{use.name} {use.raw}" for use in message.uses]
    return ", ".join(calls) or message.text.strip() or f"nothing, ended with {message.stop!r}"
