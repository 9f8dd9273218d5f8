"""Where a terminal knows no more than ASCII: what stands for lines, blocks and everything else, cell for cell."""

from __future__ import annotations

import os
from collections.abc import Mapping

from rich.cells import get_character_cell_size

_LINES = "─-━-│|┃|╭+╮+╰+╯+┌+┐+└+┘+├+┤+┬+┴+┼+╔+╗+╚+╝+║|═=╴-╶-╵|╷|▏|▎|▍|▌|▐|▕|╱/╲\\"
_BLOCKS = "█#▉#▊#▋#▓#▒=░.▁_▂_▃.▄-▅=▆+▇*▀^■#□.▪#▫."
_SIGNS = "…~·.•*●*○o◉*◦o▶>▸>►>◀<◂<◄<▲^▴^▼v▾v→>←<↑^↓v↩<⏎<✓v✔v✗x✘x×x–-—-‘'’'“\"”\"≤<≥>≈~␛^␉>␊|␍<␡^␀0"
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")  # what Python puts into LC_CTYPE by itself where the locale is C (PEP 538)


class _Substitutes(dict[int, str]):
    """For `str.translate`: a sign for each character, made when it is first met."""

    def __missing__(self, code: int) -> str:
        cells = get_character_cell_size(chr(code))
        self[code] = sign = chr(code) if code < 128 else "?" * cells
        return sign


def _table() -> _Substitutes:
    pairs = _LINES + _BLOCKS + _SIGNS
    return _Substitutes({ord(pairs[n]): pairs[n + 1] for n in range(0, len(pairs), 2)})


_TABLE = _table()


def ascii_only(text: str) -> str:
    """The text in ASCII, in as many cells: ``╭─`` is ``+-``, a wide character ``??``, a combining one nothing."""
    return text if text.isascii() else text.translate(_TABLE)


def knows_ascii_only(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the locale says that the terminal has no UTF-8. Where nothing is said it is taken to have it.

    The first of LC_ALL, LC_CTYPE and LANG that is set counts (POSIX), but not an LC_CTYPE that Python itself has set
    because LANG is C: that says what Python writes, not what the terminal shows.
    """
    set_by_python = environ.get("LC_CTYPE") in (None, "", *_COERCED)
    if not environ.get("LC_ALL") and environ.get("LANG") in ("C", "POSIX") and set_by_python:
        return True
    said = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "UTF-8")
    return "UTF8" not in said.upper().replace("-", "")
