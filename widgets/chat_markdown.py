"""Markdown to blocks, for what a planner says: no link, no image, no HTML; every text passes `clean` once more.

A link shows its address as text and leads nowhere; an image is its description. An entity may stand for a control
character, so that what comes out of the parser is cleaned and not only what goes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token
from textual.content import Content

from adapters.text import clean, clean_lines
from widgets.chat_blocks import Block, Paragraph, Table, plain

LONGEST = 40_000  # characters that are read as Markdown; longer text stays plain
_STYLES = {"strong_open": "bold", "em_open": "italic", "s_open": "strike"}
_ENDS = {"strong_close", "em_close", "s_close"}


def blocks(text: str) -> list[Block]:
    """The blocks of a message. Whatever the text is, this gives something to show."""
    lines = clean_lines(text)
    if len(text) > LONGEST:
        return plain(lines)
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 16}).enable(["table", "strikethrough"])
    return _Reader(parser.parse("\n".join(lines))).blocks or plain(lines)


@dataclass
class _Reader:
    """Walks the tokens of a message."""

    tokens: Sequence[Token]
    blocks: list[Block] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._quotes = 0
        self._lists: list[int | None] = []  # of each open list: its next number, or None for bullets
        self._mark = ""  # of the item that has begun and has no text yet
        self._heading = False
        self._table: list[list[Content]] | None = None
        self._right: list[bool] = []
        for token in self.tokens:
            self._token(token)

    def _token(self, token: Token) -> None:
        kind = token.type
        if kind == "inline":
            self._inline(token)
        elif kind in ("fence", "code_block"):
            self._code(token.content)
        elif kind == "hr":
            self._add(Content.styled("-" * 20, "dim"))
        elif kind in ("bullet_list_open", "ordered_list_open"):
            self._lists.append(int(token.attrs.get("start", 1)) if kind[0] == "o" else None)
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self._lists.pop()
        elif kind == "list_item_open":
            self._item()
        elif kind in ("blockquote_open", "blockquote_close"):
            self._quotes += 1 if kind.endswith("open") else -1
        elif kind in ("heading_open", "heading_close"):
            self._heading = kind.endswith("open")
        else:
            self._of_table(token)

    def _of_table(self, token: Token) -> None:
        if token.type == "table_open":
            self._table, self._right = [], []
        elif token.type == "tr_open" and self._table is not None:
            self._table.append([])
        elif token.type == "th_open":
            self._right.append("right" in str(token.attrs.get("style", "")))
        elif token.type == "table_close" and self._table:
            head, *body = self._table
            self._gap()
            self.blocks.append(Table(head, body, self._right, self._margin()))
            self._table = None

    def _item(self) -> None:
        number = self._lists[-1]
        if number is None:
            self._mark = "- "
        else:
            self._mark = f"{number}. "
            self._lists[-1] = number + 1

    def _inline(self, token: Token) -> None:
        lines = list(_lines(token.children or []))
        if self._table is not None:
            self._table[-1].append(Content(" ").join(lines))
            return
        if not self._lists:
            self._gap()
        for line in lines:
            self._add(line.stylize("bold $accent") if self._heading else line)

    def _code(self, text: str) -> None:
        self._gap()
        for line in clean_lines(text.rstrip("\n")):
            self._add(Content.styled(line, "$accent"), "  ")

    def _add(self, content: Content, more: str = "") -> None:
        self.blocks.append(Paragraph(content, self._margin() + Content(more)))

    def _margin(self) -> Content:
        """What stands before a row: bars of quotes, the depth of lists, the mark of an item once."""
        mark, self._mark = self._mark, ""
        depth = max(0, len(self._lists) - 1)
        inside = "  " if self._lists and not mark else mark
        return Content.styled("| " * self._quotes, "dim") + Content("  " * depth + inside)

    def _gap(self) -> None:
        """A blank row between two pieces of a message."""
        if self.blocks and not self._mark:
            self.blocks.append(Paragraph(Content("")))


def _lines(children: Sequence[Token]) -> Iterator[Content]:
    """The text of a paragraph, a new line at each break that the writer made."""
    parts: list[tuple[str, str]] = []
    styles: list[str] = []
    links: list[tuple[str, str]] = []  # of each open link: its address, and its text so far
    for token in children:
        if token.type in ("softbreak", "hardbreak"):
            yield Content.assemble(*parts)
            parts = []
        elif token.type in _STYLES:
            styles.append(_STYLES[token.type])
        elif token.type in _ENDS:
            styles.pop()
        elif token.type == "link_open":
            links.append((str(token.attrs.get("href", "")), ""))
        elif token.type == "link_close":
            address, text = links.pop()
            if address and address != text:
                parts.append((f" ({clean(address, 200)})", "dim"))
        else:
            text = _text(token)
            links = [(address, before + text) for address, before in links]
            style = "$accent" if token.type == "code_inline" else " ".join(styles)
            parts.append((text, style))
    yield Content.assemble(*parts)


def _text(token: Token) -> str:
    if token.type == "image":
        return f"[image: {clean(token.content, 200)}]"
    return clean(token.content)
