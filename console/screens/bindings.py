"""From the table of commands to a screen's bindings, and from a key to the screen's method."""

from __future__ import annotations

from typing import Any, Protocol, cast

from textual.binding import Binding, BindingType

from console.commands import Command, Context, command, commands_in, hints


def bindings_for(*contexts: Context) -> list[BindingType]:
    """Bindings of everything that is understood in these contexts. None has priority: a dialog above blocks them."""
    return [Binding(",".join(c.keys), f"run('{c.id}')", c.title, show=False, id=c.id) for c in commands_in(*contexts)]


class Movable(Protocol):
    """What can be moved in: a table or a text that scrolls."""

    @property
    def page(self) -> int: ...
    def move(self, by: int) -> None: ...


class CommandScreen:
    """For screens: runs the command `a.b` by the method `do_a_b`. `contexts` says where the person is right now."""

    @property
    def contexts(self) -> frozenset[Context]:
        raise NotImplementedError

    @property
    def movable(self) -> Movable | None:
        """What the movement keys move in."""
        return None

    def understands(self, command: Command) -> bool:
        return not self.contexts.isdisjoint(command.contexts)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A command that is not understood here leaves its key to others."""
        if action == "run" and parameters:
            return self.understands(command(str(parameters[0])))
        return True

    async def action_run(self, id: str) -> None:
        result = getattr(self, f"do_{id.replace('.', '_')}")()
        if result is not None:
            await cast("Any", result)

    def hints(self) -> list[tuple[str, str, str, str]]:
        """For the line of keys: id, key, words, look."""
        shown = [self.bound(c) for c in hints(c for c in commands_in(*self.contexts) if not self.hidden(c))]
        return [(c.id, c.shown.split(", ")[0], c.title, self.look(c)) for c in shown if c.keys]

    def bound(self, command: Command) -> Command:
        """The command with the keys that the configuration gives it."""
        return cast("Command", cast("Any", self).app.bound(command))

    def hidden(self, command: Command) -> bool:
        """Whether the configuration leaves the command out of everything that is shown."""
        return bool(cast("Any", self).app.hidden(command))

    def look(self, command: Command) -> str:
        return "write" if command.writes else "key"

    def _move(self, by: int) -> None:
        if (target := self.movable) is not None:
            target.move(by)

    def _compositor_refresh(self) -> None:
        """Paint, but not under a dialog: the toolkit then repaints everything, and marks the covered screen to be
        painted with its next message again (textual.screen, 8.x). What changed is painted when the dialog is gone."""
        screen = cast("Any", self)
        if screen.is_active:
            cast("Any", super())._compositor_refresh()
        else:
            screen._compositor._dirty_regions.clear()
            screen._dirty_widgets.clear()

    def do_screen(self) -> None:
        """Write what is on the screen to a new SVG file in the working folder."""
        screen = cast("Any", self)
        told, role = screen.app.save_screen(None)
        if hasattr(screen, "say"):
            screen.say(told, role)
        else:
            screen.app.notify(told, markup=False)

    def do_move_down(self) -> None:
        self._move(1)

    def do_move_up(self) -> None:
        self._move(-1)

    def do_move_page_down(self) -> None:
        if (target := self.movable) is not None:
            target.move(target.page)

    def do_move_page_up(self) -> None:
        if (target := self.movable) is not None:
            target.move(-target.page)

    def do_move_top(self) -> None:
        self._move(-(10**9))

    def do_move_bottom(self) -> None:
        self._move(10**9)
