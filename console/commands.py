"""The one table of what the console can be told to do.

Bindings, the line of hints, the help screen and the table of keys in the README all come from `COMMANDS`; a test holds
them together. No command that writes is on a lower-case letter, a control key, Enter, Backspace or Delete.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Context: TypeAlias = Literal[
    "main", "jobs", "queues", "nodes", "node", "job", "log", "sent", "map", "record", "keys", "reservations",
    "chat", "say", "inbox", "confirm", "help",
]  # fmt: skip
"""Where a command is understood: on the main screen, in one of its panes, or in a dialog."""

TITLES: dict[Context, str] = {
    "main": "Everywhere on the main screen",
    "jobs": "On a job",
    "queues": "On a queue",
    "nodes": "On a node",
    "node": "In the node dialog",
    "job": "In the job detail",
    "log": "In a log",
    "sent": "In the list of what was sent",
    "chat": "In the chat, over its transcript",
    "say": "In the chat, while writing",
    "inbox": "In the inbox",
    "map": "On the map of nodes",
    "record": "In the audit log",
    "keys": "In the list of API keys",
    "reservations": "In the list of reservations",
    "confirm": "In a question before a write",
    "help": "In the help",
}
PANES: frozenset[Context] = frozenset({"jobs", "queues", "nodes"})

_SHOWN = {
    "slash": "/", "question_mark": "?", "escape": "Esc", "enter": "Enter", "tab": "Tab", "shift+tab": "Shift+Tab",
    "down": "Down", "up": "Up", "pagedown": "PgDn", "pageup": "PgUp", "home": "Home", "end": "End", "space": "Space",
    "asterisk": "*", "shift+down": "Shift+Down", "shift+up": "Shift+Up", "colon": ":", "left": "Left", "right": "Right",
    "ctrl+@": "Ctrl+Space", "ctrl+space": "Ctrl+Space",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Command:
    """One thing to tell the console.

    Args:
        id: its name in the configuration and the command line of the console.
        keys: as the toolkit names them; the first is the one that is shown.
        title: a word or two for the line of hints.
        help: one sentence.
        contexts: where it is understood.
        verb: the intent's verb, for what writes.
        rank: place in the line of hints, lowest first; None leaves it out.
    """

    id: str
    keys: tuple[str, ...]
    title: str
    help: str
    contexts: tuple[Context, ...]
    verb: str | None = None
    rank: int | None = None

    @property
    def writes(self) -> bool:
        return self.verb is not None

    @property
    def shown(self) -> str:
        """Its keys for people: ``j, Down``."""
        return ", ".join(dict.fromkeys(show_key(key) for key in self.keys))


def show_key(key: str) -> str:
    """A key as people write it: ``slash`` is ``/``, ``ctrl+d`` is ``Ctrl+D``."""
    if key.startswith("ctrl+") and key not in _SHOWN:
        return f"Ctrl+{key[5:].upper()}"
    if len(key) > 1 and key[0] == "f" and key[1:].isdigit():
        return key.upper()
    return _SHOWN.get(key, key)


_LISTINGS: tuple[Context, ...] = ("record", "keys", "reservations")
_LISTS: tuple[Context, ...] = ("main", "node", "job", "log", "sent", "map", *_LISTINGS, "help")
_MOVES: tuple[Context, ...] = (*_LISTS, "confirm", "chat", "inbox")
_AGENTS: tuple[Context, ...] = ("main", "chat", "inbox")

COMMANDS: tuple[Command, ...] = (
    Command("move.down", ("j", "down"), "down", "Move one row or line down.", _MOVES),
    Command("move.up", ("k", "up"), "up", "Move one row or line up.", _MOVES),
    Command("move.page_down", ("pagedown", "ctrl+d"), "page down", "Move one page down.", _MOVES),
    Command("move.page_up", ("pageup", "ctrl+u"), "page up", "Move one page up.", _MOVES),
    Command("move.top", ("g", "home"), "top", "Go to the first row or line.", _MOVES),
    Command("move.bottom", ("G", "end"), "bottom", "Go to the last row or line.", _MOVES),
    Command("map.left", ("left", "h"), "left", "Move one node to the left.", ("map",)),
    Command("map.right", ("right", "l"), "right", "Move one node to the right.", ("map",)),
    Command("pane.jobs", ("1",), "jobs", "Go to the jobs.", ("main",)),
    Command("pane.queues", ("2",), "queues", "Go to the queues.", ("main",)),
    Command("pane.nodes", ("3",), "nodes", "Go to the nodes.", ("main",)),
    Command("pane.next", ("tab",), "next pane", "Go to the next pane.", ("main", "chat"), rank=90),
    Command("pane.previous", ("shift+tab",), "previous pane", "Go to the previous pane.", ("main", "chat")),
    Command("menu", ("x",), "actions", "List what can be done to the row or the marks.", ("main",), rank=18),
    Command(
        "palette", ("colon", "ctrl+p"), "commands", "Find and run any command, or type a line.", ("main",), rank=22
    ),
    Command("copy", ("y",), "copy", "Copy the ids of the marked rows, or of this one.", ("main",)),
    Command("mark.toggle", ("space",), "mark", "Mark the row, or take the mark off; moves on.", ("main",), rank=40),
    Command("mark.down", ("shift+down",), "mark down", "Mark the row and move down.", ("main",)),
    Command("mark.up", ("shift+up",), "mark up", "Mark the row and move up.", ("main",)),
    Command(
        "mark.range", ("ctrl+@", "ctrl+space"), "mark range", "Mark all rows from the last mark to this one.", ("main",)
    ),
    Command("mark.all", ("asterisk",), "mark all", "Mark all rows shown, or take all marks off.", ("main",)),
    Command(
        "operations",
        ("o",),
        "sent",
        "Show what was sent: each request, its answer, and what is on its way.",
        ("main", "node", "job"),
        rank=58,
    ),
    Command(
        "operation.stop", ("S",), "stop", "Stop the newest operation between two of its steps.", ("sent",), rank=10
    ),
    Command("chat", ("c",), "chat", "Open the chat, or go to where one writes.", ("main", "chat"), rank=19),
    Command("inbox", ("a",), "answer", "Show what agents propose; looking sends nothing.", ("main",), rank=42),
    Command(
        "chat.inbox", ("ctrl+o", "a"), "answer", "Show what agents propose, from the chat.", ("chat", "say"), rank=10
    ),
    Command(
        "chat.fold",
        ("ctrl+t", "t"),
        "results",
        "Unfold the results of the tool calls on screen, or fold them.",
        ("chat", "say"),
        rank=12,
    ),
    Command(
        "inbox.approve",
        ("A",),
        "approve",
        "Open the question of the proposal; on the head of a group, of each of its proposals.",
        ("inbox",),
        rank=10,
    ),
    Command(
        "inbox.deny", ("D",), "deny", "Deny the proposal, or its whole group; asks for a reason.", ("inbox",), rank=12
    ),
    Command("inbox.deny_all", ("X",), "deny all", "Deny all that waits; asks for a reason.", ("inbox",), rank=14),
    Command("scope", ("S",), "scope", "Set how far agents may reach: whose jobs, which queues, clusters.", _AGENTS),
    Command("autopilot", ("B",), "autopilot", "Answer agents beforehand, within limits; asks first.", _AGENTS),
    Command("autopilot.off", ("b",), "brake", "End autopilot at once.", _AGENTS),
    Command(
        "filter",
        ("slash",),
        "filter",
        "Show only the rows that match; Enter keeps it, Esc clears it.",
        ("main",),
        rank=20,
    ),
    Command("sort", ("s",), "sort", "Sort by the next column; again for the other direction.", ("main",), rank=30),
    Command("job.open", ("enter",), "detail", "Open the job's detail.", ("jobs",), rank=10),
    Command(
        "queue.jobs", ("enter", "i"), "its jobs", "Show the jobs of the queue; Esc leads back.", ("queues",), rank=10
    ),
    Command("job.node", ("n",), "its node", "Go to the node the job is on; Esc leads back.", ("jobs",)),
    Command("job.queue", ("u",), "its queue", "Go to the queue of the job; Esc leads back.", ("jobs",)),
    Command(
        "node.open", ("e", "enter"), "node", "Open the node: quota, drain, token, jobs on it.", ("nodes",), rank=10
    ),
    Command("node.jobs", ("i",), "its jobs", "Show the jobs on the node; Esc leads back.", ("nodes",), rank=12),
    Command("job.log", ("l",), "log", "Show the job's output, and follow it.", ("jobs", "job"), rank=12),
    Command("job.why", ("w",), "why", "Say why the job waits or failed, and on what facts.", ("jobs", "job"), rank=13),
    Command("watch", ("t",), "watch", "Watch the job: its changes are said with a bell; again ends that.", ("jobs",)),
    Command(
        "log.stream",
        ("e",),
        "stdout/stderr",
        "Go from stdout to stderr, to both beside each other, to both as one, and back.",
        ("log",),
        rank=10,
    ),
    Command("log.other", ("tab",), "other log", "With two logs on screen, go to the other one.", ("log",), rank=18),
    Command("log.search", ("slash",), "search", "Search the log for a text.", ("log",), rank=14),
    Command("log.next", ("n",), "next", "Go to the next line that was searched for.", ("log",), rank=16),
    Command("log.previous", ("b",), "previous", "Go to the one before.", ("log",)),
    Command(
        "log.error",
        ("x",),
        "error",
        "Go to the first line that speaks of an error, then to the next.",
        ("log",),
        rank=15,
    ),
    Command("log.wrap", ("w",), "wrap", "Wrap long lines, or cut them.", ("log",), rank=20),
    Command("log.pager", ("v",), "pager", "Open what was read in the pager (PAGER, or less).", ("log",), rank=22),
    Command(
        "log.editor",
        ("E",),
        "editor",
        "Open the log's file, or a copy of it, in the editor (VISUAL, EDITOR, or vi).",
        ("log",),
        rank=24,
    ),
    Command("log.follow", ("f",), "follow", "Follow the end of the log, or stop following.", ("log",), rank=12),
    Command("job.new", ("N",), "new job", "Fill in a form for a new job.", ("main",), verb="submit", rank=52),
    Command(
        "job.again",
        ("A",),
        "again",
        "Submit the job again, changed if you like.",
        ("jobs", "job"),
        verb="submit",
        rank=53,
    ),
    Command("job.modify", ("M",), "modify", "Change what the job asks for.", ("jobs", "job"), verb="modify", rank=57),
    Command("job.cancel", ("K",), "cancel", "Cancel the job.", ("jobs", "job"), verb="cancel", rank=14),
    Command("job.hold", ("H",), "hold", "Hold a pending job.", ("jobs", "job"), verb="hold", rank=50),
    Command("job.release", ("L",), "release", "Release a held job.", ("jobs", "job"), verb="release", rank=52),
    Command(
        "job.suspend",
        ("Z",),
        "suspend",
        "Suspend a running job, or resume a suspended one.",
        ("jobs", "job"),
        verb="suspend",
        rank=54,
    ),
    Command(
        "job.requeue",
        ("R",),
        "requeue",
        "Put the job back into its queue to run again.",
        ("jobs", "job"),
        verb="requeue",
        rank=56,
    ),
    Command(
        "job.checkpoint", ("P",), "checkpoint", "Have the job write a checkpoint.", ("jobs", "job"), verb="checkpoint"
    ),
    Command(
        "queue.open", ("O",), "open", "Let the queue take and start jobs.", ("queues",), verb="open_queue", rank=14
    ),
    Command(
        "queue.close",
        ("C",),
        "close",
        "Close the queue for new jobs; asks for a reason.",
        ("queues",),
        verb="close_queue",
        rank=16,
    ),
    Command(
        "queue.quota", ("Q",), "quota", "Limit what the queue may use.", ("queues",), verb="set_queue_quota", rank=18
    ),
    Command(
        "reserve",
        ("V",),
        "reserve",
        "Set nodes or cores apart for a time.",
        ("nodes", "reservations"),
        verb="create_reservation",
        rank=20,
    ),
    Command(
        "node.drain",
        ("D",),
        "drain",
        "Let nothing new start on the node; asks for a reason.",
        ("nodes", "node"),
        verb="drain",
        rank=14,
    ),
    Command(
        "node.undrain",
        ("U",),
        "undrain",
        "Let jobs start on the node again.",
        ("nodes", "node"),
        verb="undrain",
        rank=16,
    ),
    Command(
        "node.clear_quota", ("C",), "clear quota", "Lift the node's quota.", ("node",), verb="set_node_quota", rank=12
    ),
    Command(
        "node.token",
        ("T",),
        "token",
        "Give the node a new token; the old one is dead at once.",
        ("node",),
        verb="reissue_token",
        rank=18,
    ),
    Command(
        "map",
        ("m",),
        "node map",
        "Show every node by its queue, with its state and how much of it is used.",
        ("main",),
        rank=56,
    ),
    Command("map.open", ("enter",), "go to it", "Go to the node under the cursor.", ("map",), rank=10),
    Command("record", ("v",), "audit log", "Show the last lines of the audit log.", ("main",)),
    Command("record.open", ("enter",), "line", "Show everything that the line holds.", ("record",), rank=10),
    Command("record.filter", ("slash",), "filter", "Show only the lines that match.", ("record",), rank=12),
    Command("record.verify", ("v",), "verify", "Check that no line was changed or removed.", ("record",), rank=14),
    Command("record.export", ("e",), "export", "Write the lines shown to a new file.", ("record",), rank=16),
    Command("reservations", ("d",), "reservations", "Show the reservations of the cluster.", ("main",)),
    Command(
        "reservation.delete",
        ("X",),
        "delete",
        "End the reservation.",
        ("reservations",),
        verb="delete_reservation",
        rank=14,
    ),
    Command("keys", ("f",), "API keys", "Show the API keys of the cluster, without their secrets.", ("main",)),
    Command(
        "key.create",
        ("N",),
        "new key",
        "Make a key for a user; it is shown once.",
        ("keys",),
        verb="create_key",
        rank=12,
    ),
    Command("key.revoke", ("X",), "revoke", "Make the key invalid for ever.", ("keys",), verb="revoke_key", rank=14),
    Command(
        "screen",
        ("ctrl+e",),
        "save screen",
        "Write what the screen shows to a new SVG file, or to a text file by :screen FILE.txt.",
        _LISTS,
    ),
    Command("suspend", ("ctrl+z",), "to the shell", "Leave for the shell; fg comes back.", ("main",)),
    Command("refresh", ("r",), "refresh", "Ask for fresh data now.", ("main", *_LISTINGS), rank=60),
    Command("pause", ("p",), "pause", "Stop painting changes, or go on; data still comes in.", ("main",), rank=70),
    Command(
        "help",
        ("question_mark",),
        "help",
        "Show the keys that work here.",
        ("main", "chat", "inbox", "node", "job", "log", "map", *_LISTINGS),
        rank=0,
    ),
    Command("back", ("escape",), "back", "Go one level back; never quits, never acts.", (*_MOVES, "say"), rank=80),
    Command("confirm.yes", ("y",), "confirm", "Send what is shown, where one key is enough.", ("confirm",)),
    Command("quit", ("q",), "quit", "Leave; in a dialog, close it.", (*_LISTS, "inbox"), rank=95),
)

_BY_ID = {command.id: command for command in COMMANDS}


def command(id: str) -> Command:
    """The command of that id. Raises KeyError."""
    return _BY_ID[id]


def commands_in(*contexts: Context) -> list[Command]:
    """What is understood in any of these contexts, in the order of the table."""
    return [c for c in COMMANDS if any(context in c.contexts for context in contexts)]


def hints(commands: Iterable[Command]) -> list[Command]:
    """Those for the line of hints, most useful first."""
    return sorted((c for c in commands if c.rank is not None), key=lambda c: c.rank or 0)
