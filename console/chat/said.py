"""What a sentence means to the offline grammar: a tool call, a question back, or nothing it knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Said:
    """One tool call, as a model would make it.

    Args:
        tool: a name of the table of tools, such as ``scheduler_cancel``.
        args: its arguments.
        select: for a write on "all my pending jobs": the filter that must first be turned into ids; the person then
            confirms by typing how many they are.
    """

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    select: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """The sentence is a write that is not clear enough to be proposed: what to ask the person."""

    question: str


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Not a sentence of the grammar. Never a guess at a write."""

    text: str


Meaning: TypeAlias = Said | Ask | NotUnderstood
