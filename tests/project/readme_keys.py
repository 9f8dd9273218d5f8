"""Writes the table of keys in the README anew from the table of commands: ``python -m tests.project.readme_keys``."""

from __future__ import annotations

from console.commands import COMMANDS, TITLES, commands_in
from tests.project.tree import ROOT

README = ROOT / "README.md"
BEGIN, END = "<!-- keys: from console/commands.py -->", "<!-- end of keys -->"


def keys_table() -> str:
    """Markdown: one table a place, in the order of the table of commands; what writes is marked."""
    parts = []
    for context, title in TITLES.items():
        rows = commands_in(context)
        if rows:
            parts += [f"**{title}**", "", "| Key | What it does |", "|---|---|"]
            parts += [f"| {_cell(row.shown)} | {row.help}{' *(asks first)*' if row.writes else ''} |" for row in rows]
            parts.append("")
    assert {row for context in TITLES for row in commands_in(context)} == set(COMMANDS)
    return "\n".join(parts)


def _cell(keys: str) -> str:
    return ", ".join(f"`{key}`" for key in keys.split(", ")).replace("|", "\\|")


def table_in(text: str) -> str:
    """What stands between the marks. Raises ValueError where they are not there."""
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip("\n") + "\n"


def with_table(text: str) -> str:
    return f"{text[: text.index(BEGIN)]}{BEGIN}\n{keys_table()}{text[text.index(END) :]}"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
