"""The menu of actions, the palette and the command line: three ways to the same commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from adapters.model import Kind, Ref
from adapters.text import clean
from console.commands import Command, Context, commands_in
from console.lines import VERBS, Line, LineError, find, intent_of, parse
from console.screens.board import Board
from console.screens.choose import ChooseScreen
from console.screens.writes import problem
from console.sorting import Sort, sort_of
from widgets.chooser import Choice
from widgets.columns import Role

if TYPE_CHECKING:
    from adapters.intents import Intent
    from console.app import ConsoleApp

PANE_OF: dict[Kind, str] = {"job": "jobs", "queue": "queues", "node": "nodes"}
MORE = frozenset({"drain", "quota", "close"})
"""Verbs whose line goes on after the name."""
LEFT_OUT = ("move.", "mark.down", "mark.up", "menu", "palette", "back", "confirm.")


class MenuKeys:
    """For the main screen."""

    _host: ConsoleApp
    boards: dict[str, Board]

    if TYPE_CHECKING:

        @property
        def contexts(self) -> frozenset[Context]: ...
        @property
        def board(self) -> Board: ...
        @property
        def targets(self) -> tuple[Ref, ...]: ...
        def say(self, text: str, role: Role = "plain") -> None: ...
        def write(self, intent: Intent) -> None: ...
        def go(self, id: str) -> None: ...
        def set_filter(self, text: str) -> None: ...
        def sort(self, sorts: Sequence[Sort]) -> None: ...
        def export(self, path: str) -> None: ...
        def show_clusters(self, name: str) -> None: ...
        def choose_columns(self, ids: Sequence[str]) -> None: ...
        def save_screen(self, path: str) -> None: ...
        def cluster_here(self, name: str = "") -> str | None: ...
        def do_map(self) -> None: ...
        def do_record(self) -> None: ...
        def do_keys(self, cluster: str = "") -> None: ...
        def do_reservations(self, cluster: str = "") -> None: ...
        async def action_run(self, id: str) -> None: ...

    def _choice(self, command: Command) -> Choice:
        targets = self.targets
        off = self._host.off(targets[0].cluster, command.verb) if command.verb and targets else None
        key = self._host.bound(command).shown.split(", ")[0]
        return Choice(command.id, command.title, key, command.help, off or "", command.writes)

    def _commands(self) -> list[Choice]:
        """What can be done here, what writes first; not the movements."""
        here = [c for c in commands_in(*self.contexts) if not self._host.hidden(c)]
        commands = [c for c in here if not c.id.startswith(LEFT_OUT)]
        return [self._choice(c) for c in sorted(commands, key=lambda c: not c.writes)]

    def do_menu(self) -> None:
        """What can be done to the row or the marks."""
        commands = [c for c in commands_in(*(self.contexts - {"main"})) if not self._host.hidden(c)]
        choices = [self._choice(c) for c in commands]
        keys = {
            key: c.id
            for c in map(self._host.bound, commands)
            for key in c.keys
            if len(key) == 1 and not c_off(choices, c.id)
        }
        targets = self.targets
        of = clean(targets[0].id, 40) if len(targets) == 1 else f"{len(targets)} marked"
        title = f"Actions on {of}" if targets else "Actions"
        self._host.push_screen(ChooseScreen(title, lambda text: choices, keys=keys), self._run)

    def do_palette(self) -> None:
        """Everything there is, by name; and lines such as ``cancel 4101``."""
        self._ask_line("")

    def _ask_line(self, text: str) -> None:
        hint = "a command, or: cancel ID, quota NODE N, job ID …"
        history = self._host.remembered.history("line")
        screen = ChooseScreen(
            "Commands", self._offer, typing=True, lines=True, placeholder=hint, text=text, history=history
        )
        self._host.push_screen(screen, self._run)

    def _offer(self, text: str) -> list[Choice]:
        """For the words typed so far: completions of a line, else the commands that hold them all."""
        first, space, rest = text.lstrip().partition(" ")
        if space and (verb := VERBS.get(first.lower())) is not None:
            return self._complete(verb.name, verb.kind, rest)
        words = text.casefold().split()
        lines = [
            Choice(f"verb:{v.name}", v.name, "", f"{v.usage}   {v.help}", writes=v.intent is not None)
            for v in VERBS.values()
            if v.intent is None or v.intent.verb not in self._host.engine.config.hidden_actions
        ]
        themes = [Choice(f"theme:{name}", f"theme {name}", "", "Change the colours.") for name in self._host.themes]
        saved = [
            Choice(f"line:filter {text}", f"filter {name}", "", text)
            for name, text in self._host.engine.config.filters.items()
        ]
        names = list(self._host.engine.clusters)
        clusters = [Choice(f"line:cluster {n}", f"cluster {n}", "", "Show it alone.") for n in names if len(names) > 1]
        past = [Choice(f"line:{line}", line, "", "typed before") for line in self._typed_before(words)]
        offered = [*self._commands(), *saved, *lines, *clusters, *themes, *past]
        found = [c for c in offered if all(w in f"{c.label} {c.help} {c.id}".casefold() for w in words)]
        return sorted(found, key=lambda c: not c.label.casefold().startswith(tuple(words[:1]) or ("",)))

    def _typed_before(self, words: Sequence[str]) -> list[str]:
        """Lines of before that hold what is typed now, newest first."""
        lines = reversed(self._host.remembered.history("line")) if words else ()
        return [line for line in lines if all(word in line.casefold() for word in words)][:5]

    def _complete(self, verb: str, kind: Kind | None, rest: str) -> list[Choice]:
        """Ids and names that go on from what is typed; none once the line can stand by itself."""
        if verb == "theme":
            return [
                Choice(f"theme:{n}", f"theme {n}", "", "Change the colours.") for n in self._host.themes if rest in n
            ]
        if verb == "columns":
            return self._complete_columns(rest)
        if kind is None:
            return []
        words = rest.split()
        last = words[-1] if words and not rest.endswith(" ") else ""
        before = " ".join(words[: len(words) - bool(last)])
        if verb in (*MORE, "job", "node", "queue") and before:
            return []
        found: list[Choice] = []
        for ref, row in self._host.engine.store.items(kind):
            name = str(getattr(row, "name", ""))
            if ref.id == last:
                return []
            if ref.id.startswith(last) or (last and last in name):
                line = " ".join(part for part in (verb, before, ref.id) if part)
                found.append(Choice(f"fill:{line}", line, "", clean(name, 60) if name != ref.id else ""))
        return sorted(found, key=lambda choice: choice.label)[:20]

    def _complete_columns(self, rest: str) -> list[Choice]:
        words = rest.split()
        last = words.pop() if words and not rest.endswith(" ") else ""
        titles = self.board.pane.column_titles
        if last in titles:
            return []
        lines = [(" ".join(["columns", *words, id]), title) for id, title in titles.items() if id.startswith(last)]
        return [Choice(f"verb:{line}", line, "", title) for line, title in lines if line.split()[-1] not in words]

    async def _run(self, chosen: str | None) -> None:
        """Do what was chosen in a menu, the palette or the command line."""
        if chosen is None:
            return
        kind, _, rest = chosen.partition(":")
        if kind == "theme":
            self._host.choose_theme(rest)
        elif kind == "verb" or (kind == "fill" and rest.split()[0] in MORE):
            self._ask_line(f"{rest} ")
        elif kind in ("line", "fill"):
            self.line(rest)
        else:
            await self.action_run(chosen)

    def line(self, text: str) -> None:
        """Run a line of the command line; what is wrong with it is said."""
        self._host.remembered.typed("line", text)
        try:
            self._do_line(parse(text))
        except LineError as error:
            self.say(clean(str(error)), "warn")
        except ValidationError as error:
            self.say(problem(error), "bad")

    def _do_line(self, line: Line) -> None:
        store, clusters = self._host.engine.store, list(self._host.engine.clusters)
        if line.verb.intent is not None:
            self.write(intent_of(line, store, clusters, self.targets, self.cluster_here() or ""))
            return
        actions: dict[str, Any] = {
            "filter": lambda: self.set_filter(line.rest),
            "sort": lambda: self.sort([sort_of(word) for word in line.words]),
            "theme": lambda: self._host.choose_theme(line.rest),
            "cluster": lambda: self.show_clusters(line.rest),
            "export": lambda: self.export(line.rest),
            "columns": lambda: self.choose_columns(line.words),
            "screen": lambda: self.save_screen(line.rest),
            "map": self.do_map,
            "record": self.do_record,
            "keys": lambda: self.do_keys(line.rest),
            "reservations": lambda: self.do_reservations(line.rest),
        }
        if line.verb.name in actions:
            actions[line.verb.name]()
        elif line.verb.kind is not None:
            self.show_row(find(store, clusters, line.verb.kind, line.rest))

    def show_row(self, ref: Ref) -> None:
        """Go to a row: its pane, and the cursor on it; a filter that hides it is cleared."""
        pane = PANE_OF[ref.kind]
        self.go(pane)
        if not self.boards[pane].pane.table.move_to(ref):
            self.set_filter("")
            self.boards[pane].pane.table.move_to(ref)


def c_off(choices: Sequence[Choice], id: str) -> bool:
    return any(choice.id == id and choice.off for choice in choices)
