"""What a sentence means to the offline grammar: tool calls, a question back, or nothing it knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Heard: TypeAlias = Literal["", "started", "finished", "failed"]


@dataclass(frozen=True, slots=True)
class Said:
    """One tool call, as a model would make it.

    Args:
        tool: a name of the table of tools, such as ``scheduler_cancel``.
        args: its arguments.
        select: for a write on "all my pending jobs": the filter that must first be turned into ids; the person then
            confirms by typing how many they are.
        follow: what of the job the person wants to hear of afterwards; of a failure only with ``failed``.
    """

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    select: Mapping[str, Any] | None = None
    follow: Heard = ""


@dataclass(frozen=True, slots=True)
class Chain:
    """Submissions of which each waits for the one before it; `kind` is how (afterok, afterany)."""

    steps: tuple[Said, ...]
    kind: Literal["afterok", "afterany"] = "afterok"
    follow: Heard = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """The sentence is not clear enough to be carried out: what to ask the person.

    Args:
        zh: the question in Chinese.
        answers: what stands before and after an answer in the sentence that it completes.
        last: the job that was last spoken of may be the answer: only where nothing is changed by it.
    """

    question: str
    zh: str = field(default="", compare=False)
    answers: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    last: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Not a sentence of the grammar. Never a guess at a write."""

    text: str


Meaning: TypeAlias = Said | Chain | Ask | NotUnderstood
