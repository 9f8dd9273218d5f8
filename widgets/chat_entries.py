"""The messages of a transcript: what the person said, what the planner says, a tool call and its result, a note."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, Protocol

from textual.content import Content

from adapters.text import clean, clean_lines
from widgets.chat_blocks import Block, Paragraph, plain
from widgets.columns import Role
from widgets.node_facts import COLOURS

MOST_SHOWN = 40_000  # characters of one message
MOST_DETAIL = 20_000  # characters of one result that are kept to be unfolded
MOST_ARGUMENTS = 400
FOLDED, UNFOLDED = "[+] ", "[-] "

State = Literal["running", "ok", "failed", "stopped"]
_STATES: dict[str, tuple[str, str]] = {
    "running": ("…", "$accent"), "ok": ("", "$text-muted"), "failed": ("failed: ", "$error"),
    "stopped": ("", "$warning"),
}  # fmt: skip


class Entry(Protocol):
    """One message. `joined` leaves out the blank row before it."""

    joined: bool

    def blocks(self) -> Sequence[Block]: ...


class Said:
    """What the person said."""

    joined = False

    def __init__(self, text: str) -> None:
        self._blocks = plain(clean_lines(_cut(text)), "> ", "bold", "bold $accent")

    def blocks(self) -> Sequence[Block]:
        return self._blocks


class Words:
    """What the planner says: plain text while it comes, Markdown once it is whole."""

    joined = False

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._line = ""
        self._length = 0

    @property
    def empty(self) -> bool:
        return not self._blocks and not self._line

    def add(self, text: str) -> None:
        """A piece more. Lines that are whole keep the rows they were laid out in."""
        room = MOST_SHOWN - self._length
        if room <= 0:
            return
        self._length += len(text)
        *whole, self._line = (self._line + text[:room]).replace("\r\n", "\n").split("\n")
        self._blocks += plain(["".join(clean_lines(line)) for line in whole])

    def blocks(self) -> Sequence[Block]:
        return [*self._blocks, *plain(clean_lines(self._line))] if self._line else self._blocks

    def finish(self, text: str) -> None:
        """The whole text has come: show it as Markdown in place of the pieces."""
        from widgets.chat_markdown import blocks

        self._blocks, self._line = blocks(_cut(text)), ""
        self._length = MOST_SHOWN

    def cut_off(self) -> None:
        """The turn ended before the text was whole: what came stays as it is."""
        self._blocks, self._line = list(self.blocks()), ""
        self._length = MOST_SHOWN


class ToolCall:
    """A call of a tool with its arguments, and its result, folded at first."""

    joined = True

    def __init__(self, id: str, tool: str, arguments: str) -> None:
        self.id = id
        self._tool = clean(tool, 80)
        self._arguments = clean(arguments, MOST_ARGUMENTS)
        self._state: State = "running"
        self._summary = ""
        self._detail: list[str] = []
        self.unfolded = False

    @property
    def running(self) -> bool:
        return self._state == "running"

    def answer(self, state: State, summary: str, detail: str = "") -> None:
        self._state = state
        self._summary = clean(summary, 400)
        self._detail = _detail(detail)

    def blocks(self) -> Sequence[Block]:
        mark = (UNFOLDED if self.unfolded else FOLDED) if self._detail else "  . "
        head = Content.assemble((self._tool, "bold"), " ", (self._arguments, "$text-muted"))
        made: list[Block] = [Paragraph(head, Content.styled(mark, "$accent"))]
        word, style = _STATES[self._state]
        if word or self._summary:
            made.append(Paragraph(Content.styled(word + self._summary, style), Content("    ")))
        if self.unfolded:
            made += [Paragraph(Content.styled(line, "$text-muted"), Content("    | ")) for line in self._detail]
        return made


class Note:
    """Something said by Pilothouse itself."""

    def __init__(self, text: str, role: Role = "dim", *, joined: bool = False) -> None:
        self.joined = joined
        self._blocks = plain(clean_lines(_cut(text)), "* ", COLOURS[role], COLOURS[role])

    def blocks(self) -> Sequence[Block]:
        return self._blocks


def _cut(text: str) -> str:
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]}\n… and {len(text) - MOST_SHOWN} more characters"


def _detail(text: str) -> list[str]:
    """A result in lines: JSON set out where it is whole."""
    shown = text
    if len(text) <= MOST_DETAIL:
        try:
            shown = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
        except ValueError:
            shown = text
    lines = clean_lines(shown[:MOST_DETAIL]) if shown else []
    return [*lines, f"… and {len(shown) - MOST_DETAIL} more characters"] if len(shown) > MOST_DETAIL else lines
