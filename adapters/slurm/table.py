"""Tables of text as Slurm's commands print them, with a random token after each field.

A job name may hold newlines, ``|``, escapes, or anything but NUL; no fixed separator is safe. Each call draws two fresh
tokens: one ends a field, the other a record. `squeue -O`, `sinfo -O` take them as suffix of a field (which also
lifts the width limit), `sacct -P` takes one as delimiter. Sources: squeue(1), sinfo(1), sacct(1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex

from adapters.base import ProtocolError


@dataclass(frozen=True, slots=True)
class Tokens:
    """The separators of one call: what ends a field and what ends a record."""

    field: str
    record: str

    @classmethod
    def fresh(cls) -> Tokens:
        """Two tokens that nobody can have put into a job name; neither begins with a digit, a dot or a comma."""
        return cls(f"~{token_hex(8)}~", f"^{token_hex(8)}^")

    def long_format(self, fields: Sequence[str]) -> str:
        """The argument of `-O` for these fields."""
        last = len(fields) - 1
        return ",".join(f"{name}:{self.record if i == last else self.field}" for i, name in enumerate(fields))

    def records(self, answer: bytes, program: str) -> list[bytes]:
        """The records of an answer, fields ended by NUL (which no name can hold). Raises ProtocolError for an
        answer that does not end where a record does: it was cut."""
        pieces = answer.split(self.record.encode() + b"\n")
        rest = pieces.pop()
        if rest.strip():
            raise ProtocolError(
                f"The answer of {program} was cut after {len(answer):,} bytes.",
                "It is asked again; nothing is taken over.",
            )
        field = self.field.encode()
        return [piece.replace(field, b"\0") for piece in pieces]


def fields_of(record: bytes, count: int, program: str) -> list[str]:
    """The fields of one record as text; bytes that are no UTF-8 are kept as lone surrogates for `clean`.

    Raises ProtocolError where their number is not `count`.
    """
    fields = record.decode("utf-8", "surrogateescape").split("\0")
    if len(fields) != count:
        raise ProtocolError(f"A record of {program} has {len(fields)} fields and not {count}.")
    return fields


def delimited(answer: bytes, token: str, count: int, program: str) -> list[list[str]]:
    """The rows of `sacct -P --delimiter=TOKEN`, `count` fields each.

    The last field of a row runs into the first of the next with a newline between them, so neither of the two may
    itself hold one: callers put an id first and a number last. Raises ProtocolError for a cut answer.
    """
    if not answer.strip():
        return []
    parts = answer.decode("utf-8", "surrogateescape").split(token)
    rows: list[list[str]] = []
    row: list[str] = []
    for index, part in enumerate(parts):
        row.append(part)
        if len(row) == count:
            last, newline, first = part.rpartition("\n")
            if not newline or (index == len(parts) - 1 and first):
                raise ProtocolError(f"The answer of {program} was cut after {len(answer):,} bytes.")
            row[-1] = last
            rows.append(row)
            row = [first]
    if row != [""]:
        raise ProtocolError(f"The answer of {program} was cut after {len(answer):,} bytes.")
    return rows
