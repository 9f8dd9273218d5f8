"""The Textual application: themes, the engine under it, and what must hold for every screen."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.filter import Monochrome, NoColor
from textual.screen import Screen

from console.audit import state_folder
from console.clipboard import sequence
from console.config_problems import ConfigError, Problem
from console.driver import ConsoleDriver
from console.export import ExportError, form_of, named_by_time, write_new
from console.gate import ruled_out
from console.hooks import HookRunner
from console.keymap import KeymapError, rebound
from console.profiles import Hooks
from console.remembered import Remembered
from console.screens.attending import Attending
from console.screens.main import MainScreen
from console.terminal_app import Say, TerminalApp
from console.themes import DEFAULTS, THEMES, ThemeError, default_theme, made
from widgets.columns import Role

if TYPE_CHECKING:
    from adapters.intents import Intent
    from adapters.model import Job
    from console.commands import Command
    from console.config import Config
    from console.engine import Engine
    from console.gate import Operation
    from console.grants import Wish

SCREEN_FORMATS = ("svg", "txt")
TTY_CHECK = 5.0  # seconds between looks whether the terminal is still there


class ConsoleApp(Attending, TerminalApp):
    """The console on an engine. It returns the exit code."""

    CSS_PATH = Path(__file__).parent / "console.tcss"
    TITLE = "Pilothouse"
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    main: MainScreen
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q", "leave", "Quit", show=False)]

    def __init__(
        self, engine: Engine, driver_class: type[Driver] | None = None, remembered: Remembered | None = None,
        autopilot: Wish | None = None,
    ) -> None:  # fmt: skip
        super().__init__(driver_class=driver_class)
        self.engine = engine
        self.attend(autopilot)
        self.remembered = remembered or Remembered()
        self.hooks = HookRunner(Hooks() if engine.config.forbid_hooks else engine.config.hooks, self._hook_said)
        self.commands = {command.id: command for command in rebound(engine.config.keys)}
        self.set_keymap({id: ",".join(self.commands[id].keys) for id in engine.config.keys})
        self._warned = False
        self._writing = False
        for theme in (*THEMES, *(made(name, colours) for name, colours in engine.config.themes.items())):
            self.register_theme(theme)
        wanted = self._chosen_theme() or engine.config.theme
        truecolor = os.environ.get("COLORTERM", "") in ("truecolor", "24bit")
        fallback = default_theme(no_color=self.no_color, truecolor=truecolor)
        self.theme = wanted if wanted in self.available_themes else fallback
        if self.no_color:  # Textual chose grey before it knew our theme; of the terminal's own colours that makes black
            self._filters = [NoColor() if isinstance(filter, Monochrome) else filter for filter in self._filters]

    @property
    def themes(self) -> list[str]:
        """Names of the themes, ours first."""
        ours = [theme.name for theme in THEMES] + list(self.engine.config.themes)
        return ours + sorted(name for name in self.available_themes if name not in ours and not name.startswith("ansi"))

    def _chosen_theme(self) -> str | None:
        """The theme that was chosen in an earlier run, unless the site's is to hold."""
        config = self.engine.config
        return None if config.theme_fixed else self.remembered.theme(config.theme)

    def choose_theme(self, name: str) -> None:
        """Change the colours, and remember them; where the site's are to hold, for as long as the console runs."""
        if name in self.available_themes:
            self.theme = name
            if not self.engine.config.theme_fixed:
                self.remembered.choose_theme(name, self.engine.config.theme)

    def bound(self, command: Command) -> Command:
        """The command with the keys it has here."""
        return self.commands.get(command.id, command)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(DEFAULTS)

    # -- what leaves the screen ------------------------------------------------------------------------------------

    def save_screen(self, path: str | None) -> tuple[str, Role]:
        """Write what is on the screen to a new file: SVG or, by the end of its name, text. Says what came of it."""
        try:
            form = form_of(path, SCREEN_FORMATS) if path else "svg"
            file = Path(path) if path else named_by_time("pilothouse", form, self.engine.store.now())
            text = self.export_screenshot(title=self.TITLE) if form == "svg" else screen_text(self.screen)
            self.screen.refresh()  # taking the picture forgets what was still to be painted
            return f"The screen was written to {write_new(file, text)}", "ok"
        except ExportError as error:
            return str(error), "warn"

    def copy_to_clipboard(self, text: str) -> None:
        """By OSC 52, through tmux and screen as well. Raises ValueError for more than terminals take."""
        told = sequence(text, os.environ)
        self._clipboard = text
        if self._driver is not None:
            self._driver.write(told)

    # -- from start to end ------------------------------------------------------------------------------------------

    async def on_mount(self) -> None:
        self.main = MainScreen(self)
        self.push_screen(self.main)
        self.call_after_refresh(self._start)
        for number in (signal.SIGHUP, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError, ValueError):  # not in the main thread: tests
                asyncio.get_running_loop().add_signal_handler(number, self.exit, 128 + number)
        if isinstance(self._driver, ConsoleDriver):
            self._driver.listen()
            self.set_interval(TTY_CHECK, self._check_terminal)

    async def on_unmount(self) -> None:
        await self.hooks.stop()
        await self.main.close_chat()

    def _hook_said(self, text: str) -> None:
        self.main.notice(text, "warn")

    async def _start(self) -> None:
        """Start the engine once the empty screen is painted; learn what each cluster can do as it answers."""
        await self.engine.start()
        await self.begin_attending()
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
        """Quit; with writes in flight, or a turn of the chat, the first time only says so."""
        sending = sum(not operation.done for operation in self.engine.gate.operations)
        if (sending or self.main.talking) and not self._warned:
            self._warned = True
            told = f"{sending} being sent. q again leaves once that has its answer."
            say(told if sending else "The chat is at work. q again stops it and leaves.", "warn")
            return
        self.exit(0)

    def action_leave(self) -> None:
        self.exit(0)

    # -- keys -------------------------------------------------------------------------------------------------------

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not self.screen_stack:
            return  # we are leaving: there is nothing left to press it on
        if isinstance(event, events.Paste) and not event.is_forwarded and not self.may_paste(event):
            return
        await super().on_event(event)

    def admits(self, key: events.Key) -> bool:
        """Keys that come before a question listens never reach it."""
        admits = getattr(self.screen, "admits", None)
        return admits is None or bool(admits(key))

    # -- writes -----------------------------------------------------------------------------------------------------

    def why_not(self, cluster: str, verb: str) -> str | None:
        """Why a cluster cannot do that; None where it can, or has not answered yet."""
        known = self.engine.clusters.get(cluster)
        if known is None or known.capabilities is None:
            return None
        return known.capabilities.why_not(verb)

    def off(self, cluster: str, verb: str) -> str | None:
        """Why a verb is shown as off: the cluster cannot do it, or settings or role rule it out."""
        known = self.engine.clusters.get(cluster)
        if known is None:
            return None
        return self.why_not(cluster, verb) or ruled_out(self.engine.config, known.profile, known.identity, verb)

    def hidden(self, command: Command) -> bool:
        """Whether the configuration leaves it out of everything that is shown."""
        return command.verb is not None and command.verb in self.engine.config.hidden_actions

    def is_mine(self, job: Job) -> bool:
        """Whether the job is the person's own, as far as that is known."""
        cluster = self.engine.clusters.get(job.cluster)
        if cluster is None or job.owner is None:
            return False
        return job.owner == (cluster.profile.owner or (cluster.identity.name if cluster.identity else None))

    def write(self, intent: Intent, say: Say, sent: Callable[[Operation], None] | None = None) -> None:
        """Have the gate plan an intent and ask. One question at a time: a key held down opens no second one."""
        from console.screens.writes import confirm_and_send

        async def flow() -> None:
            operation = await confirm_and_send(self.engine.gate, self.push_screen_wait, intent, say)
            if operation is not None and sent is not None:
                sent(operation)

        self.ask_once(flow)


def screen_text(screen: Screen[Any]) -> str:
    """What is on the screen, a dialog with what shows beside it, as lines of text."""
    strips = screen._compositor.render_strips()
    return "".join(f"{strip.text.rstrip()}\n" for strip in strips)


def run_app(
    config: Config, *, cluster: str | None = None, record: Path | None = None, anonymous: bool = False,
    autopilot: Wish | None = None,
) -> int:  # fmt: skip
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
        app = ConsoleApp(engine, ConsoleDriver, Remembered(state_folder()), autopilot)
        try:
            left_with = await app.run_async(mouse=config.mouse)
            return left_with if left_with is not None else (app.return_code or 0)  # 1 after a crash
        finally:
            await app.hooks.stop()
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
