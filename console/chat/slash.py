"""The one table of ``/`` commands. They work without a model; what needs a dialog of one's own becomes a `Wants`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from adapters.model import JOB_STATUSES
from adapters.text import clean
from console.chat import clauses, grammar_acts, phrases
from console.chat.calls import Calls
from console.chat.events import Call, Ended, Event, Failure, Notice, Reply, Wants
from console.chat.narrowing import scope_words
from console.chat.phrases import Rest
from console.chat.planner import Turn
from console.chat.saying import language
from console.chat.scoping import narrow
from console.chat.sessions import ids as session_ids
from console.chat.telling import told

if TYPE_CHECKING:
    from console.chat.session import Chat

Tell: TypeAlias = Callable[[Event], None]
Run: TypeAlias = Callable[["Chat", str, Tell], Awaitable[Ended | None]]
_DONE = Ended("done")
_FILE = re.compile(r"[\w][\w .-]{0,199}")


@dataclass(frozen=True, slots=True)
class Slash:
    """One command: its name, how it is written, and what it does in a line."""

    name: str
    usage: str
    meaning: str
    run: Run


def is_command(text: str) -> bool:
    """Whether a sentence is meant as a command: ``/jobs``, never a path such as ``/home/alice``."""
    return re.match(r"/[a-z]*(?:\s|$)", text) is not None


def is_turn(text: str) -> bool:
    """Whether the command is answered as a turn, which Esc stops: a submission waits for the person."""
    name, words = _split(text)
    return name == "submit" and bool(words)


async def run(chat: Chat, text: str, tell: Tell) -> Ended:
    """Carry a command out. Raises AdapterError."""
    name, words = _split(text)
    command = COMMANDS.get(name)
    if command is None:
        tell(Failure("Not a command", f"There is no /{clean(name, 40)}.", f"There are: {', '.join(COMMANDS)}."))
        return Ended("failed")
    return await command.run(chat, words, tell) or _DONE


def complete(text: str, chat: Chat | None = None) -> list[str]:
    """What the beginning of a command may become, whole lines; nothing for a sentence."""
    if not text.startswith("/") or "\n" in text:
        return []
    name, space, words = text[1:].partition(" ")
    if not space:
        return [f"/{known}" for known in COMMANDS if known.startswith(name)]
    head, _, last = words.rpartition(" ")
    before = f"/{name} {head} " if head else f"/{name} "
    return [f"{before}{word}" for word in _arguments(name, chat) if word.startswith(last) and word != last]


def _arguments(name: str, chat: Chat | None) -> list[str]:
    match name:
        case "jobs":
            return ["my", *JOB_STATUSES, "queue"]
        case "scope":
            return ["my jobs", "queue", "cluster"]
        case "autopilot":
            return ["off"]
        case "why" | "watches" if chat is not None:
            return [watch.id for watch in chat.watches.all]
        case "resume" if chat is not None and chat.folder is not None:
            return session_ids(chat.folder)[:20]
    return []


def _split(text: str) -> tuple[str, str]:
    name, _, words = text[1:].partition(" ")
    return name.strip(), words.strip()


async def _help(chat: Chat, words: str, tell: Tell) -> None:
    lines = ["| command | |", "|---|---|"]
    lines += [f"| `{command.usage}` | {command.meaning} |" for command in COMMANDS.values()]
    tell(Reply("\n".join(lines)))


async def _read(chat: Chat, tool: str, arguments: Mapping[str, Any], tell: Tell) -> None:
    """A read outside of the transcript."""
    calls = Calls(Turn(f"{chat.id}.command", "", chat.agent))
    async for event in calls.run([Call("command", tool, arguments)]):
        tell(event)
    tell(Reply(told(calls.outcomes[0], "en")))


async def _jobs(chat: Chat, words: str, tell: Tell) -> None:
    where = clauses.cluster(phrases.normal(words))
    rest = Rest(where.rest if where is not None else phrases.normal(words))
    chosen = grammar_acts.filter(rest)
    if ids := phrases.job_ids(rest):
        chosen["ids"] = ids
    if name := rest.left(grammar_acts.POLITE):
        chosen["name"] = name
    found: dict[str, Any] = {"filter": chosen} if chosen else {}
    await _read(chat, "scheduler_list_jobs", found | ({"cluster": where.name} if where is not None else {}), tell)


async def _why(chat: Chat, words: str, tell: Tell) -> None:
    cluster, _, id = words.rpartition(" ")
    arguments = {"id": id, "cluster": cluster.strip()} if cluster else {"id": words} if words else {}
    await _read(chat, "scheduler_why", arguments, tell)


async def _submit(chat: Chat, words: str, tell: Tell) -> Ended | None:
    if not words:
        tell(Wants("submit"))
        return None
    return await chat.submit(f"run {words}", tell)


async def _scope(chat: Chat, words: str, tell: Tell) -> None:
    said = scope_words(words) if words else None
    if said is not None:
        await narrow(chat.engine, said, language(words), tell)
        return
    if words:
        told_ = f"{clean(words, 80)!r} names no scope: say, for example, /scope my jobs queue gpu."
        tell(Notice(told_, "warning"))
    tell(Notice(f"The scope is: {chat.engine.gate.agents.scope.words()}."))
    tell(Wants("scope"))


async def _autopilot(chat: Chat, words: str, tell: Tell) -> None:
    if words.casefold() not in ("off", "stop"):
        tell(Wants("autopilot", {"words": words} if words else {}))
        return
    was = chat.engine.gate.agents.autopilot is not None
    try:
        await chat.engine.gate.agents.disengage("by /autopilot off")
    finally:
        tell(Notice("Autopilot is off." if was else "Autopilot was off already."))


async def _compact(chat: Chat, words: str, tell: Tell) -> None:
    if chat.busy:
        tell(Notice("A turn goes on; stop it first: /stop.", "warning"))
        return
    async with chat.lock:
        before = len(chat.messages)
        chat.messages[:] = await chat.planner.shorten(list(chat.messages), words)
        await chat.keep(tell)
    tell(Notice(f"The conversation was made shorter: {before} messages, now {len(chat.messages)}."))


async def _model(chat: Chat, words: str, tell: Tell) -> None:
    if not words:
        tell(Notice(f"What answers is: {chat.planner.name}."))
        return
    if chat.busy:
        tell(Notice("A turn goes on; stop it first: /stop.", "warning"))
        return
    planner = chat.models(words) if chat.models is not None else None
    if planner is None:
        tell(Failure("No such model", f"{clean(words, 80)!r} cannot be used here.", "See [chat] in the configuration."))
        return
    chat.planner = planner
    tell(Notice(f"What answers from now on is: {planner.name}."))


async def _export(chat: Chat, words: str, tell: Tell) -> None:
    name = words or f"chat-{chat.id}.md"
    if not _FILE.fullmatch(name):
        told_ = f"{clean(words, 80)!r} is no name of a file in the working folder."
        tell(Failure("Not exported", told_, "Give a name without folders: /export notes.md"))
        return
    tell(Wants("export", {"name": name, "text": chat.export()}))


async def _sessions(chat: Chat, words: str, tell: Tell) -> None:
    found = await chat.sessions()
    if not found:
        tell(Reply("No sessions are kept." if chat.folder is None else "There is no session yet."))
        return
    lines = ["| session | turns | watches | begins with |", "|---|---|---|---|"]
    for one in found[:30]:
        title = one.title.replace("\\", "\\\\").replace("|", "\\|").replace("`", "'")
        lines.append(
            f"| {one.id}{' (this one)' if one.id == chat.id else ''} | {one.turns} | {one.watches} | {title} |"
        )
    more = [f"\nand {len(found) - 30} older ones"] if len(found) > 30 else []
    tell(Reply("\n".join(lines + more)))


async def _resume(chat: Chat, words: str, tell: Tell) -> None:
    if not words:
        await _sessions(chat, words, tell)
        return
    if words == chat.id:
        tell(Notice("That is the session you are in."))
        return
    await chat.resume(words)
    watched = len(chat.watches)
    tell(Notice(f"Session {chat.id} goes on: {len(chat.messages)} messages, {watched} watches."))


async def _new(chat: Chat, words: str, tell: Tell) -> None:
    await chat.new()
    tell(Notice(f"A new session begins: {chat.id}."))


async def _watches(chat: Chat, words: str, tell: Tell) -> None:
    verb, _, id = words.partition(" ")
    if verb in ("drop", "off") and id:
        gone = [watch for watch in chat.watches.all if watch.id == id.strip()]
        for watch in gone:
            chat.watches.remove(watch.cluster, watch.id)
        tell(Notice(f"{len(gone)} watches dropped." if gone else f"Job {clean(id, 80)} is not watched."))
        return
    listed = [f"- {watch.words()}" for watch in chat.watches.all]
    tell(Reply("\n".join(listed) if listed else "Nothing is watched."))


async def _stop(chat: Chat, words: str, tell: Tell) -> None:
    was = chat.busy
    await chat.stop()
    tell(Notice("Stopped." if was else "Nothing goes on."))


COMMANDS: Mapping[str, Slash] = {
    command.name: command
    for command in (
        Slash("help", "/help", "these commands", _help),
        Slash("jobs", "/jobs [filter]", "list jobs: `/jobs my running`, `/jobs queue gpu`, or a part of a name", _jobs),
        Slash("why", "/why [ID]", "why a job waits or failed; without an id why nothing starts", _why),
        Slash("submit", "/submit [job]", "the form; or a job in words: `/submit sleep 30 on 2 cores`", _submit),
        Slash("scope", "/scope [words]", "show the scope, or narrow it: `/scope my jobs queue gpu`", _scope),
        Slash("autopilot", "/autopilot [off]", "the form; `off` ends it at once", _autopilot),
        Slash("watches", "/watches [drop ID]", "the jobs that are watched; drop one", _watches),
        Slash("compact", "/compact [focus]", "make the conversation short, so that it can go on", _compact),
        Slash("model", "/model [name]", "what answers; or have another model answer", _model),
        Slash(
            "export", "/export [file]", "the conversation as Markdown, without secrets, in the working folder", _export
        ),
        Slash("sessions", "/sessions", "the sessions that are kept", _sessions),
        Slash("resume", "/resume ID", "go on with a session, and with its watches", _resume),
        Slash("new", "/new", "begin a new session", _new),
        Slash("stop", "/stop", "stop the turn and take back what it proposed", _stop),
    )
}
