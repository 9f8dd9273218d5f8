"""The planner without a model: the grammar makes calls of a sentence, and what they give is told in fixed words."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from console.agent_answers import Proposed
from console.chat import fixes
from console.chat.calls import Calls, Outcome
from console.chat.events import Call, Ended, Event, Reply
from console.chat.follow import Fired, Follow
from console.chat.grammar import understand
from console.chat.planner import Turn
from console.chat.said import Ask, Chain, Heard, Meaning, NotUnderstood, Said
from console.chat.saying import Language, language, say, state
from console.chat.selecting import select
from console.chat.spelling import with_node_as_named
from console.chat.telling import told
from console.chat.transcript import add_answer, last_said
from console.chat.words import EXAMPLES
from console.tools import TOOLS
from console.tools.reads import JobAnswer

_LONG, _KEPT = 400, 40  # messages; nothing reads the transcript here, so that old ones are let go
# an answer such as "mine" is a list of jobs too, when it stands alone
_BARE = re.compile(r"^(?:all )?(?:my|mine|me|[\w.-]+'s)\b|^(?:我|用户)", re.IGNORECASE)


_YES = re.compile(
    r"(?:yes|y|ok|okay|approved?|confirm(?:ed)?|do it|go ahead|是的?|好的?|确认|同意|批准|可以)", re.IGNORECASE
)
_HELP = re.compile(r"(?:help|\?|what can (?:you|i) (?:do|say)|帮助|你能做什么|你会什么)", re.IGNORECASE)


class Offline:
    """Deterministic: the same sentences on the same state are the same calls and the same words.

    It keeps the question it has asked, for the next sentence, and the job that was last spoken of.
    """

    name = "offline"

    def __init__(self) -> None:
        self._asked: tuple[Ask, Language] | None = None
        self._last: tuple[str, str] | None = None  # cluster and id

    async def answer(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Carry the turn out."""
        made = _Made(turn, self)
        if turn.fired:
            steps = made.fired(turn.fired)
        else:
            meant, made.lang = self._meant(turn.text)
            steps = made.carried_out(meant)
        async with aclosing(steps) as events:
            async for event in events:
                yield event
        if len(turn.messages) > _LONG:
            turn.messages[:] = await self.shorten(turn.messages)
        yield Ended("done")

    async def shorten(self, messages: list[dict[str, Any]], focus: str = "") -> list[dict[str, Any]]:
        """The last messages, beginning with something the person said."""
        kept = messages[-_KEPT:]
        while kept and not _is_said(kept[0]):
            kept = kept[1:]
        return kept

    def _meant(self, text: str) -> tuple[Meaning, Language]:
        """The sentence, or the one that it completes by answering what was asked before."""
        fresh, lang = understand(text), language(text)
        asked, self._asked = self._asked, None
        if asked is None:
            return self._completed(fresh), lang
        question, before = asked
        if isinstance(fresh, Said | Chain) and not _BARE.match(text):
            return fresh, lang
        for head, tail in question.answers:
            meant = understand(f"{head}{text.strip()}{tail}")
            if isinstance(meant, Said | Chain):
                return meant, before if before == "zh" else lang
        return self._completed(fresh), lang

    def _completed(self, meant: Meaning) -> Meaning:
        """A question that the job last spoken of answers, where nothing is changed by it."""
        if isinstance(meant, Ask) and meant.last and self._last is not None:
            cluster, id = self._last
            for head, tail in meant.answers:
                again = understand(f"{head}{id}{tail}")
                if isinstance(again, Said) and TOOLS[again.tool].kind == "read":
                    return replace(again, args={"cluster": cluster, **again.args})
        return meant

    def ask(self, question: Ask, lang: Language) -> None:
        """The next sentence may answer this."""
        self._asked = (question, lang)

    def spoke_of(self, cluster: str, id: str) -> None:
        self._last = (cluster, id)


class _Made:
    """What one turn makes: calls, their answers in the transcript, and what is said."""

    def __init__(self, turn: Turn, planner: Offline) -> None:
        self._turn = turn
        self._planner = planner
        self._number = 0
        self.lang: Language = "en"
        self.outcomes: list[Outcome] = []

    # -- a sentence

    async def carried_out(self, meant: Meaning) -> AsyncGenerator[Event, None]:
        match meant:
            case Ask():
                self._planner.ask(meant, self.lang)
                yield self._reply(meant.zh if self.lang == "zh" and meant.zh else meant.question)
            case NotUnderstood():
                yield self._reply(_not_understood(meant.text, self.lang))
            case Chain():
                async for event in self._chain(meant):
                    yield event
            case Said() if meant.select is not None:
                async for event in select(self, meant, meant.select):
                    yield event
            case Said():
                arguments = with_node_as_named(self._turn.agent.box, meant.args)
                async for event in self.call(meant.tool, arguments):
                    yield event
                yield self._reply(self._told_and_followed(meant))

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> AsyncGenerator[Event, None]:
        """One call as a message of its own; `outcomes` then holds what came of it."""
        self._number += 1
        call = Call(f"{self._turn.id}.{self._number}", tool, dict(arguments))
        calls = Calls(self._turn)
        async with aclosing(calls.run([call])) as events:
            async for event in events:
                yield event
        self.outcomes = calls.outcomes
        use = {"type": "tool_use", "id": call.id, "name": tool, "input": dict(arguments)}
        add_answer(self._turn.messages, use)
        self._turn.messages.append({"role": "user", "content": calls.results})
        self._remember()

    def reply(self, text: str) -> Reply:
        return self._reply(text)

    def _reply(self, text: str) -> Reply:
        add_answer(self._turn.messages, {"type": "text", "text": text})
        return Reply(text)

    def _remember(self) -> None:
        """The job that was spoken of."""
        result = self.outcomes[0].result
        if isinstance(result, JobAnswer):
            self._planner.spoke_of(result.cluster, result.job.id)
        elif isinstance(result, Proposed) and len(result.created) == 1:
            self._planner.spoke_of(result.cluster, result.created[0])
        elif result is not None and isinstance(id := self.outcomes[0].call.arguments.get("id"), str):
            self._planner.spoke_of(result.cluster, id)

    def _told_and_followed(self, meant: Said) -> str:
        outcome = self.outcomes[0]
        parts = [told(outcome, self.lang)]
        if meant.follow and outcome.ok:
            parts.append(self.follow(outcome, meant.follow, meant.args))
        return "\n\n".join(part for part in parts if part)

    def follow(self, outcome: Outcome, heard: Heard, arguments: Mapping[str, Any]) -> str:
        """Begin to watch what a call was about; what to say of it."""
        result, follow = outcome.result, self._turn.follow
        if follow is None:
            return ""
        until: Any = "started" if heard == "started" else "finished"
        only_failed = heard == "failed"
        if isinstance(result, JobAnswer):
            if result.job.status in ("succeeded", "failed", "cancelled"):
                return say("over_already", self.lang)
            watched = follow(Follow(result.cluster, result.job.id, until, only_failed))
            return say("watched" if watched else "not_watched", self.lang, id=result.job.id)
        if not isinstance(result, Proposed):
            return ""
        submitted = dict(arguments) if result.action == "submit" else None
        if result.state == "sent":
            ids = result.created or [target.id for target in result.targets if target.kind == "job"]
            all_watched = [follow(Follow(result.cluster, id, until, only_failed, submitted)) for id in ids]
            return say("watched" if all(all_watched) else "not_watched", self.lang, id=", ".join(ids)) if ids else ""
        if outcome.proposal is not None and outcome.proposal.answer is None and submitted is not None:
            follow(Follow(result.cluster, "", until, only_failed, submitted, outcome.proposal))
            return say("watched_later", self.lang)
        return ""

    # -- one after another

    async def _chain(self, chain: Chain) -> AsyncGenerator[Event, None]:
        """Each is proposed once the one before has its id; where one does not come about, nothing follows."""
        before = ""
        for index, step in enumerate(chain.steps):
            arguments = dict(step.args)
            if before:
                arguments |= {"template": "chain", "dependencies": [{"id": before, "kind": chain.kind}]}
            async for event in self.call("scheduler_submit", arguments):
                yield event
            outcome = self.outcomes[0]
            result = outcome.result
            text = told(outcome, self.lang)
            created = result.created if isinstance(result, Proposed) else []
            left = [" ".join(step.args.get("command", ())) for step in chain.steps[index + 1 :]]
            if not created:
                stopped = f"\n\n{say('chain_stopped', self.lang, commands='; '.join(left))}" if left else ""
                yield self._reply(text + stopped)
                return
            before = created[0]
            if not left and chain.follow:
                text = "\n\n".join((text, self.follow(outcome, chain.follow, arguments)))
            yield self._reply(text)

    # -- what a watch has seen

    async def fired(self, fired: Sequence[Fired]) -> AsyncGenerator[Event, None]:
        """Tell it; after a failure say why, and propose a fix where there is one: once."""
        self.lang = language(last_said(self._turn.messages))
        for one in fired:
            key = {"running": "fired_started", "gone": "fired_gone"}.get(one.status, "fired")
            yield self._reply(say(key, self.lang, id=one.watch.id, status=state(one.status, self.lang)))
        failed = next((one for one in fired if one.failed), None)
        if failed is None:
            return
        where = {"id": failed.watch.id, "cluster": failed.watch.cluster}
        async for event in self.call("scheduler_analyze_failure", where):
            yield event
        outcome = self.outcomes[0]
        yield self._reply(told(outcome, self.lang))
        if failed.watch.work.failures > 1:
            yield self._reply(say("second", self.lang))
            return
        fix = fixes.fix(outcome.result, failed.watch.work.arguments)
        if fix is None:
            yield self._reply(say("no_fix", self.lang))
            return
        yield self._reply(fix.words(self.lang))
        async for event in self.call("scheduler_submit", fix.arguments):
            yield event
        outcome = self.outcomes[0]
        followed = self.follow(outcome, "finished", fix.arguments) if outcome.ok else ""
        yield self._reply("\n\n".join(part for part in (told(outcome, self.lang), followed) if part))


def _not_understood(text: str, lang: Language) -> str:
    """What to say of a sentence that means nothing: how to answer, or what can be said."""
    sentence = text.strip().rstrip("。.!！?？").strip() or text.strip()
    if _YES.fullmatch(sentence):
        return say("inbox_alone", lang)
    examples = "\n".join(f"- {example}" for example in EXAMPLES[lang])
    return f"{say('help' if _HELP.fullmatch(sentence) else 'not_understood', lang)}\n\n{examples}"


def _is_said(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return message["role"] == "user" and (isinstance(content, str) or all(b.get("type") == "text" for b in content))
