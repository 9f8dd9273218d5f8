"""The command line of the console: ``:cancel 4101``, ``:quota node-1 2``, ``:theme pilothouse-dusk``.

Parsing has no effect. A line that writes becomes an intent and takes the same way through the gate as a key.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adapters.intents import (
    CancelJob,
    CheckpointJob,
    CloseQueue,
    DeleteReservation,
    DrainNode,
    HoldJob,
    Intent,
    OpenQueue,
    ReissueNodeToken,
    ReleaseJob,
    RequeueJob,
    ResumeJob,
    RevokeKey,
    SetNodeQuota,
    SuspendJob,
    TargetedIntent,
    UndrainNode,
)
from adapters.model import Kind, Ref
from console.store import Store


class LineError(Exception):
    """The line means nothing; the message says why, in a sentence."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A word that begins a line. `kind` is what its arguments name; `intent` is set where it writes."""

    name: str
    usage: str
    help: str
    kind: Kind | None = None
    intent: type[Intent] | None = None


VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("cancel", "cancel [ID …]", "Cancel jobs.", "job", CancelJob),
        Verb("hold", "hold [ID …]", "Hold pending jobs.", "job", HoldJob),
        Verb("release", "release [ID …]", "Release held jobs.", "job", ReleaseJob),
        Verb("suspend", "suspend [ID …]", "Suspend running jobs.", "job", SuspendJob),
        Verb("resume", "resume [ID …]", "Resume suspended jobs.", "job", ResumeJob),
        Verb("requeue", "requeue [ID …]", "Requeue jobs.", "job", RequeueJob),
        Verb("undrain", "undrain [NODE …]", "Undrain nodes.", "node", UndrainNode),
        Verb("drain", "drain NODE REASON …", "Drain a node.", "node", DrainNode),
        Verb("quota", "quota NODE N|none", "Set a node's quota.", "node", SetNodeQuota),
        Verb("job", "job ID", "Go to a job.", "job"),
        Verb("node", "node NAME", "Go to a node.", "node"),
        Verb("queue", "queue NAME", "Go to a queue.", "queue"),
        Verb("filter", "filter TEXT", "Filter the pane."),
        Verb("sort", "sort FIELD[-] …", "Sort the pane; a dash sorts downwards."),
        Verb("cluster", "cluster NAME|all", "Show one cluster alone, or all."),
        Verb("theme", "theme NAME", "Change the colours."),
        Verb("columns", "columns [ID …]", "Choose the pane's columns, in this order; without any, as built."),
        Verb("screen", "screen [FILE.svg|.txt]", "Write what the screen shows to a new file."),
        Verb("map", "map", "Show every node by its queue."),
        Verb("record", "record", "Show the last lines of the audit log."),
        Verb("keys", "keys [CLUSTER]", "Show the API keys of a cluster."),
        Verb("reservations", "reservations [CLUSTER]", "Show the reservations of a cluster."),
        Verb("unreserve", "unreserve NAME …", "End reservations.", "reservation", DeleteReservation),
        Verb("revoke", "revoke KEY_ID", "Make an API key invalid for ever.", None, RevokeKey),
        Verb("checkpoint", "checkpoint [ID …]", "Have jobs write a checkpoint.", "job", CheckpointJob),
        Verb("token", "token [NODE …]", "Give a node a new token; the old one is dead.", "node", ReissueNodeToken),
        Verb("open", "open [QUEUE …]", "Let queues take and start jobs.", "queue", OpenQueue),
        Verb("close", "close QUEUE REASON …", "Close a queue for new jobs.", "queue", CloseQueue),
        Verb("export", "export FILE.csv|.json|.md", "Write the rows shown to a file."),
    )
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line understood: its verb and the rest as words; `rest` is the text after the verb as it was typed."""

    verb: Verb
    words: tuple[str, ...]
    rest: str


def parse(text: str) -> Line:
    """Raises LineError."""
    name, _, rest = text.strip().partition(" ")
    verb = VERBS.get(name.lower())
    if verb is None:
        raise LineError(f"{name!r} is no command of the console.")
    try:
        words = tuple(shlex.split(rest))
    except ValueError as error:
        raise LineError(f"A quote is not closed: {error}.") from error
    return Line(verb, words, rest.strip())


def find(store: Store, clusters: Sequence[str], kind: Kind, name: str) -> Ref:
    """The object a person means by `name` or ``cluster/name``. Raises LineError where none or several are."""
    cluster, slash, id = name.partition("/")
    if slash and cluster in clusters:
        found = [ref for ref in [store.find(cluster, kind, id)] if ref is not None]
    else:
        found = [ref for c in clusters if (ref := store.find(c, kind, name)) is not None]
    if not found:
        raise LineError(f"There is no {kind} {name} here.")
    if len(found) > 1:
        named = ", ".join(str(ref) for ref in found)
        raise LineError(f"There are several: {named}. Name the cluster too.")
    return found[0]


def intent_of(line: Line, store: Store, clusters: Sequence[str], targets: Sequence[Ref], here: str = "") -> Intent:
    """The intent of a line that writes; without names it is aimed at `targets`. `here` is the cluster that is meant
    for what the store does not hold.

    Raises LineError, or pydantic.ValidationError for a value that cannot be.
    """
    verb = line.verb
    special = _SPECIAL.get(verb.name)
    if special is not None:
        return special(line, store, clusters, here)
    assert verb.intent is not None and issubclass(verb.intent, TargetedIntent) and verb.kind is not None
    refs = tuple(find(store, clusters, verb.kind, name) for name in line.words) or tuple(
        ref for ref in targets if ref.kind == verb.kind
    )
    if not refs:
        raise LineError(f"Name a {verb.kind}, or go to one: {verb.usage}")
    if len({ref.cluster for ref in refs}) > 1:
        raise LineError("They are of several clusters: a write goes to one cluster at a time.")
    return verb.intent(cluster=refs[0].cluster, refs=refs, origin="palette")


def _reasoned(line: Line, store: Store, clusters: Sequence[str], here: str) -> Intent:
    """A drain or a close: one object, and why."""
    kind, noun = line.verb.kind, line.verb.name
    assert kind is not None
    if len(line.words) < 2:
        raise LineError(f"A {noun} needs a {kind} and a reason: {line.verb.usage}")
    ref = find(store, clusters, kind, line.words[0])
    made = DrainNode if kind == "node" else CloseQueue
    return made(cluster=ref.cluster, refs=(ref,), reason=" ".join(line.words[1:]), origin="palette")


def _unreserve(line: Line, store: Store, clusters: Sequence[str], here: str) -> Intent:
    """Reservations are in no pane: the names are taken as they are, and the backend knows them or not."""
    if not line.words:
        raise LineError("Name the reservation: unreserve NAME …")
    refs = [_named(word, clusters, here) for word in line.words]
    if len({ref.cluster for ref in refs}) > 1:
        raise LineError("They are of several clusters: a write goes to one cluster at a time.")
    return DeleteReservation(cluster=refs[0].cluster, refs=tuple(refs), origin="palette")


def _revoke(line: Line, store: Store, clusters: Sequence[str], here: str) -> Intent:
    if len(line.words) != 1:
        raise LineError("Name one key by its id: revoke KEY_ID")
    ref = _named(line.words[0], clusters, here)
    return RevokeKey(cluster=ref.cluster, key_id=ref.id, origin="palette")


def _named(word: str, clusters: Sequence[str], here: str) -> Ref:
    cluster, slash, id = word.partition("/")
    return Ref(cluster, "reservation", id) if slash and cluster in clusters else Ref(here, "reservation", word)


def _quota(line: Line, store: Store, clusters: Sequence[str], here: str) -> Intent:
    if len(line.words) != 2:
        raise LineError("A quota needs a node and a number, or none: quota NODE N|none")
    name, value = line.words
    if value != "none" and not (value.isascii() and value.isdigit()):
        raise LineError(f"{value!r} is no number of slots, nor none.")
    ref = find(store, clusters, "node", name)
    slots = None if value == "none" else int(value)
    return SetNodeQuota(cluster=ref.cluster, refs=(ref,), slots=slots, origin="palette")


_SPECIAL: dict[str, Callable[[Line, Store, Sequence[str], str], Intent]] = {
    "drain": _reasoned, "close": _reasoned, "quota": _quota, "unreserve": _unreserve, "revoke": _revoke,
}  # fmt: skip
