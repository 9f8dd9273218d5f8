"""Copies by the terminal's clipboard: OSC 52, through tmux and screen as well.

Sources: xterm's ctlseqs (OSC 52); tmux(1), `allow-passthrough`: DCS ``tmux;`` with every ESC doubled; screen(1): a DCS
is handed to the terminal as it is, up to 768 bytes of it at once.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

MOST = 74_994
"""Bytes of text: with 100,000 bytes of base64 and more, terminals drop the sequence whole."""
_SCREEN = 700  # bytes of one DCS to screen


def sequence(text: str, environ: Mapping[str, str]) -> str:
    """What to write for `text` to land in the clipboard. Raises ValueError where it is longer than terminals take.

    In tmux it goes twice: as tmux itself takes it (`set-clipboard on`), and through to the terminal around it
    (`allow-passthrough on`), since by default either may be off.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > MOST:
        raise ValueError(f"{len(data)} bytes are more than terminals take.")
    plain = f"\x1b]52;c;{base64.b64encode(data).decode()}\a"
    if environ.get("TMUX"):
        return plain + f"\x1bPtmux;{plain.replace(chr(27), chr(27) * 2)}\x1b\\"
    if environ.get("STY"):
        parts = [plain[at : at + _SCREEN] for at in range(0, len(plain), _SCREEN)]
        return "".join(f"\x1bP{part}\x1b\\" for part in parts)
    return plain
