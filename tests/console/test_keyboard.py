"""What the terminal sends in pieces, late, unasked for or pasted never turns into letters that are commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

from console.keyboard import BURST, ESC_DELAY, LATE, MOST_PASTED, PASTING, Keyboard


class Desk:
    """A Keyboard with the toolkit's parser behind it, and a clock that a test moves."""

    def __init__(self) -> None:
        self.keyboard = Keyboard()
        self._parser = XTermParser()
        self.now = 100.0
        self.messages: list[Message] = []

    def read(self, *pieces: str, apart: float = 0.0) -> list[str]:
        """Let pieces arrive so many seconds apart, then time pass; returns the keys that this came to."""
        self.messages.clear()
        for piece in pieces:
            self._take(self.keyboard.feed(piece, self.now))
            self.wait(apart)
        self.wait(2 * ESC_DELAY)
        return self.keys

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + 0.02)
            self._take(self.keyboard.tick(self.now))

    def _take(self, items: list[str | Message]) -> None:
        for item in items:
            self.messages += self._parser.feed(item) if isinstance(item, str) else [item]

    @property
    def keys(self) -> list[str]:
        return [message.key for message in self.messages if isinstance(message, events.Key)]

    @property
    def pasted(self) -> list[str]:
        return [message.text for message in self.messages if isinstance(message, events.Paste)]


SEQUENCES = {
    "\x1b[A": "up", "\x1b[B": "down", "\x1b[5~": "pageup", "\x1b[1;2B": "shift+down", "\x1b[Z": "shift+tab",
    "\x1bOP": "f1", "\x1b[15~": "f5", "\x1b[27u": "escape",
}  # fmt: skip


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_sequence_in_one_piece_and_byte_by_byte(sequence: str) -> None:
    assert Desk().read(sequence) == [SEQUENCES[sequence]]
    assert Desk().read(*sequence, apart=ESC_DELAY / 3) == [SEQUENCES[sequence]]


@pytest.mark.parametrize("sequence", [s for s in SEQUENCES if s.startswith("\x1b[")])
@pytest.mark.parametrize("apart", [0.06, 0.3, 0.9])
def test_a_sequence_whose_pieces_come_late(sequence: str, apart: float) -> None:
    """ESC by itself is the Escape key by then, which only goes back; the rest is still the key it was meant to be."""
    assert Desk().read("\x1b", sequence[1:], apart=apart) == ["escape", SEQUENCES[sequence]]
    assert Desk().read(sequence[:2], sequence[2:], apart=apart) == [SEQUENCES[sequence]]
    assert Desk().read(*sequence, apart=apart) == ["escape", SEQUENCES[sequence]]


def test_the_rest_of_a_mouse_report_never_becomes_commands() -> None:
    desk = Desk()
    assert desk.read("\x1b", "[<35;80;24M", apart=0.3) == ["escape"]
    assert desk.read("\x1b[<0;80", ";24M", apart=0.3) == []
    assert desk.read("\x1b[<0;80", apart=2 * LATE) == []  # and the rest of it never comes
    assert desk.read("j") == ["j"]


def test_answers_nobody_asked_for_are_dropped() -> None:
    desk = Desk()
    for answer in (
        "\x1b[?62;22c",
        "\x1b[>41;354;0c",
        "\x1b[0n",
        "\x1b]11;rgb:1e1e/1e1e/1e1e\x07",
        "\x1bP>|tmux 3.3\x1b\\",
    ):
        assert desk.read(f"j{answer}k") == ["j", "k"], answer


def test_escape_and_what_is_typed_after_it() -> None:
    desk = Desk()
    assert desk.read("\x1b") == ["escape"]
    assert desk.read("\x1b", "q", apart=0.2) == ["escape", "q"]
    assert desk.read("\x1b", "O", apart=0.2) == ["escape", "O"]
    desk.wait(LATE)
    assert desk.read(*"c-[0-9]/", apart=0.1) == [
        "c", "minus", "left_square_bracket", "0", "minus", "9", "right_square_bracket", "slash",
    ]  # fmt: skip


def test_the_toolkits_own_reports_still_come_through() -> None:
    desk = Desk()
    desk.read("\x1b[I\x1b[<0;5;6M\x1b[<0;5;6m\x1b[?2026;1$y\x1b[48;40;120;800;1200t")
    kinds = [type(message).__name__ for message in desk.messages]
    assert kinds == ["AppFocus", "MouseDown", "MouseUp", "TerminalSupportsSynchronizedOutput", "Resize"]


def test_a_marked_paste_is_one_message_however_it_is_cut() -> None:
    whole = "\x1b[200~line 1\rK\x1b[Ay\x1b[201~j"
    for cut in range(1, len(whole)):
        desk = Desk()
        keys = desk.read(whole[:cut], whole[cut:], apart=0.01)
        assert desk.pasted == ["line 1\rK\x1b[Ay"], cut
        assert keys == ["j"], cut


def test_a_megabyte_is_kept_no_longer_than_anybody_takes_it() -> None:
    desk = Desk()
    text = "\x1b[200~" + "Kyq\n" * 262_144 + "\x1b[201~"
    assert desk.read(*(text[at : at + 4096] for at in range(0, len(text), 4096))) == []
    (pasted,) = desk.pasted
    assert len(pasted) == MOST_PASTED + 1  # whoever gets it sees that it is too long


def test_a_paste_without_marks_is_no_typing() -> None:
    desk = Desk()
    text = "Kyq\r" * 10_000 + "K"
    assert desk.read(*(text[at : at + 4095] for at in range(0, len(text), 4095)), apart=0.01) == []
    assert "".join(desk.pasted) == text.replace("\r", "\n")
    desk.wait(PASTING)
    assert desk.read("j") == ["j"]


def test_typing_ahead_and_a_key_held_down_are_no_paste() -> None:
    desk = Desk()
    assert desk.read("cancel 4101 4102\r")[-1] == "enter"
    assert desk.read("j" * 500) == ["j"] * 500
    assert desk.read("jk" * 50) == ["j", "k"] * 50
    assert desk.read("\x1b[B" * 100) == ["down"] * 100
    assert BURST > 40


@given(st.lists(st.sampled_from(["\x1b[A", "\x1b[B", "\x1b[5~", "j", "k"]), min_size=1, max_size=12), st.data())
def test_keys_are_the_same_however_they_are_cut(keys: list[str], data: st.DataObject) -> None:
    text = "".join(keys)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert Desk().read(*filter(None, pieces), apart=0.01) == Desk().read(text)
