"""Finding lines in a log: text that is looked for, and the first line that speaks of an error. No widget here."""

from __future__ import annotations

import re
from itertools import chain

from widgets.log_text import LogText

# Words with which programs begin to speak of what went wrong; whole words, so that "0 errors" in a path does not count.
ERROR = re.compile(
    r"\b(error|exception|traceback|fatal|panic(ked)?|segmentation fault|killed|abort(ed)?|core dumped|out of memory|oom"
    r"|no space left|permission denied|command not found|cannot open|failed)\b",
    re.IGNORECASE,
)


def find(text: LogText, wanted: str, start: int, step: int) -> int | None:
    """The next line after `start` (before it with `step` -1) that holds `wanted`, in any case; goes round once."""
    count, low = len(text), wanted.casefold()
    if not low:
        return None
    for offset in range(1, count + 1):
        index = (start + step * offset) % count
        if low in text.line(index).casefold():
            return index
    return None


def first_error(text: LogText, start: int = -1) -> int | None:
    """The first line after `start` that speaks of an error; from the beginning where there is none after it."""
    count = len(text)
    for index in chain(range(start + 1, count), range(min(start + 1, count))):
        if ERROR.search(text.line(index)):
            return index
    return None
