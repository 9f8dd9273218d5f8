"""The Textual application: themes, the engine under it, and what must hold for every screen."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.filter import Monochrome, NoColor

from console.config_problems import ConfigError, Problem
from console.driver import ConsoleDriver
from console.keymap import KeymapError, rebound
from console.link import Link
from console.screens.main import MainScreen
from console.themes import DEFAULTS, THEMES, ThemeError, default_theme, made
from widgets.columns import Role

if TYPE_CHECKING:
    from adapters.intents import Intent
    from console.commands import Command
    from console.config import Config
    from console.engine import Engine
    from console.gate import Operation

Say = Callable[[str, Role], None]
TTY_CHECK = 5.0  # seconds between looks whether the terminal is still there


class ConsoleApp(App[int]):
    """The console on an engine. It returns the exit code."""

    CSS_PATH = Path(__file__).parent / "console.tcss"
    TITLE = "Pilothouse"
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "leave", "Quit", show=False)]

    def __init__(self, engine: Engine, driver_class: type[Driver] | None = None) -> None:
        super().__init__(driver_class=driver_class)
        self.engine = engine
        self.link = Link()
        self.commands = {command.id: command for command in rebound(engine.config.keys)}
        self.set_keymap({id: ",".join(self.commands[id].keys) for id in engine.config.keys})
        self._warned = False
        self._writing = False
        for theme in (*THEMES, *(made(name, colours) for name, colours in engine.config.themes.items())):
            self.register_theme(theme)
        configured = engine.config.theme
        truecolor = os.environ.get("COLORTERM", "") in ("truecolor", "24bit")
        fallback = default_theme(no_color=self.no_color, truecolor=truecolor)
        self.theme = configured if configured in self.available_themes else fallback
        if self.no_color:  # Textual chose grey before it knew our theme; of the terminal's own colours that makes black
            self._filters = [NoColor() if isinstance(filter, Monochrome) else filter for filter in self._filters]

    @property
    def themes(self) -> list[str]:
        """Names of the themes, ours first."""
        ours = [theme.name for theme in THEMES] + list(self.engine.config.themes)
        return ours + sorted(name for name in self.available_themes if name not in ours and not name.startswith("ansi"))

    def choose_theme(self, name: str) -> None:
        """Change the colours, for as long as the console runs."""
        if name in self.available_themes:
            self.theme = name

    def bound(self, command: Command) -> Command:
        """The command with the keys it has here."""
        return self.commands.get(command.id, command)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(DEFAULTS)

    def wrote(self, seconds: float) -> None:
        """The driver wrote to the terminal, and it took so long."""
        self.link.wrote(seconds)

    # -- from start to end ------------------------------------------------------------------------------------------

    async def on_mount(self) -> None:
        self.push_screen(MainScreen(self))
        self.call_after_refresh(self._start)
        for number in (signal.SIGHUP, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread: tests
                asyncio.get_running_loop().add_signal_handler(number, self.exit, 128 + number)
        if isinstance(self._driver, ConsoleDriver):
            self.set_interval(TTY_CHECK, self._check_terminal)

    async def _start(self) -> None:
        """Start the engine once the empty screen is painted; learn what each cluster can do as it answers."""
        await self.engine.start()
        for name in self.engine.clusters:
            self.run_worker(self._learn(name), group=f"learn {name}", exclusive=True, exit_on_error=False)

    async def _learn(self, name: str) -> None:
        """Ask until the cluster has answered who we are and what it can do."""
        from adapters.base import AdapterError

        pause = 1.0
        while True:
            try:
                await self.engine.clusters[name].learn()
                return
            except AdapterError:
                await asyncio.sleep(pause)
                pause = min(30.0, pause * 2)

    def _check_terminal(self) -> None:
        """A terminal that has gone without a hang-up (nohup) must not leave us running."""
        if isinstance(self._driver, ConsoleDriver) and self._driver.terminal_gone:
            self.exit(129)

    def leave(self, say: Say) -> None:
        """Quit; with writes in flight the first time only says so."""
        sending = sum(not operation.done for operation in self.engine.gate.operations)
        if sending and not self._warned:
            self._warned = True
            say(f"{sending} being sent. q again leaves once that has its answer.", "warn")
            return
        self.exit(0)

    def action_leave(self) -> None:
        self.exit(0)

    # -- keys -------------------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        """Keys that come before a question listens never reach it, nor do those that come when we are leaving."""
        if isinstance(event, events.Key) and not self.screen_stack:
            return  # we are leaving: there is nothing left to press it on
        if isinstance(event, events.Key) and not event.is_forwarded:
            from console.screens.confirm import ConfirmScreen

            if isinstance(self.screen, ConfirmScreen) and not self.screen.admits(event):
                return
        await super().on_event(event)

    # -- writes -----------------------------------------------------------------------------------------------------

    def why_not(self, cluster: str, verb: str) -> str | None:
        """Why a cluster cannot do that; None where it can, or has not answered yet."""
        known = self.engine.clusters.get(cluster)
        if known is None or known.capabilities is None:
            return None
        return known.capabilities.why_not(verb)

    def write(self, intent: Intent, say: Say, sent: Callable[[Operation], None] | None = None) -> None:
        """Have the gate plan an intent and ask. One question at a time: a key held down opens no second one."""
        from console.screens.confirm import ConfirmScreen
        from console.screens.writes import confirm_and_send

        if any(isinstance(screen, ConfirmScreen) for screen in self.screen_stack) or self._writing:
            return
        self._writing = True

        async def flow() -> None:
            try:
                operation = await confirm_and_send(self.engine.gate, self.push_screen_wait, intent, say)
                if operation is not None and sent is not None:
                    sent(operation)
            finally:
                self._writing = False

        self.run_worker(flow(), group="write", exit_on_error=False)


def run_app(config: Config, *, cluster: str | None = None, record: Path | None = None, anonymous: bool = False) -> int:
    """Run the console until the person leaves; returns the exit code. Raises ConfigError for an unknown cluster, and
    RecordingFailed where `record`, the file to write what is shown to, cannot be made.

    The terminal is given back before writes in flight are waited for.
    """
    from console.engine import Engine

    if cluster is not None:
        Engine(config).cluster(cluster)
        config = config.model_copy(update={"clusters": {cluster: config.clusters[cluster]}, "default_cluster": cluster})
    check(config)
    through = None
    if record is not None:
        from console.recording import Recorder

        through = Recorder(record, anonymous=anonymous).through
    engine = Engine(config, read_through=through)

    async def main() -> int:
        app = ConsoleApp(engine, ConsoleDriver)
        try:
            left_with = await app.run_async(mouse=config.mouse)
            return left_with if left_with is not None else (app.return_code or 0)  # 1 after a crash
        finally:
            await engine.stop()

    return asyncio.run(main())


def check(config: Config) -> None:
    """What only the console uses: keys and themes. Raises ConfigError."""
    from console.config import user_file

    file = config.sources[-1] if config.sources else user_file()
    problems = []
    try:
        rebound(config.keys)
    except KeymapError as error:
        problems += [Problem(file, None, f"keys.{id}", text) for id, text in error.problems]
    for name, colours in config.themes.items():
        try:
            made(name, colours)
        except ThemeError as error:
            problems.append(Problem(file, None, f"themes.{name}", str(error)))
    if problems:
        raise ConfigError(problems)
