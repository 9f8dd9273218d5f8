"""Fixed words with values from outside, in the person's language; nothing in a value is markup."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from adapters.text import clean
from console.chat.words import STATES_ZH, WORDS

Language: TypeAlias = Literal["en", "zh"]


def language(text: str) -> Language:
    """Chinese where the sentence holds a Chinese character, else English."""
    return "zh" if re.search(r"[\u3400-\u9fff]", text) else "en"


def say(key: str, lang: Language, **values: object) -> str:
    """A fixed sentence with its values, which are shown literally."""
    return WORDS[key][lang].format(**{name: literal(str(value)) for name, value in values.items()})


def literal(text: str, limit: int = 200) -> str:
    """Text from outside, so that nothing in it is markup."""
    return re.sub(r"([\\`*_\[\]<>|~#&!])", r"\\\1", clean(text, limit))


def state(status: str, lang: Language) -> str:
    return STATES_ZH.get(status, status) if lang == "zh" else status
