"""What became of jobs: those that are watched, and the person's own. Said in the status line, by bell, to a hook."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from adapters.model import Ref
from console.notices import Notice, Watched
from console.profiles import ReplayProfile
from widgets.columns import Role

if TYPE_CHECKING:
    from console.app import ConsoleApp


STAYS = 15.0  # seconds that a notice nobody asked for, and before it the outcome of a write, is left to be read


class NoticeKeys:
    """For the main screen. A notice of jobs that were not asked for never takes the place of an answer to a key."""

    _host: ConsoleApp
    _watched: Watched
    _said: tuple[str, Role]
    _last_notice: tuple[str, Role] | None = None

    if TYPE_CHECKING:
        app: Any
        set_timer: Any

        @property
        def targets(self) -> tuple[Ref, ...]: ...
        def say(self, text: str, role: Role = "plain") -> None: ...
        def show_status(self) -> None: ...

    def do_watch(self) -> None:
        """Watch the marked jobs, or this one; again, and they are not watched any more."""
        watched = self._watched.toggle(self.targets)
        self.say(f"{len(self._watched.refs)} jobs watched: their changes are said here with a bell." if watched
                 else f"{len(self._watched.refs)} jobs watched.", "info")  # fmt: skip

    def tell_news(self) -> None:
        """Say what became of jobs: also under a dialog, where only the line waits."""
        news = self._watched.news()
        for notice in news:
            self._to_hook(notice)
        if said := sorted((n for n in news if n.said), key=lambda n: n.watched):
            more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
            role: Role = "bad" if any(n.failed for n in said) else "info"
            self._tell(said[-1].text + more, role, always=said[-1].watched)
            if self._host.engine.config.notices.bell:
                self.app.bell()

    def notice(self, text: str, role: Role) -> None:
        """Something that no key asked for."""
        self._tell(text, role, always=False)
        self.show_status()

    def _tell(self, text: str, role: Role, *, always: bool) -> None:
        """What was not asked for waits until an answer has been read, and goes by itself."""
        if always:
            self._said = (text, role)
        elif (not self._said[0] or self._said == self._last_notice) and not self._just_sent():
            self._said = self._last_notice = (text, role)
            self.set_timer(STAYS, partial(self._forget, self._said))

    def _just_sent(self) -> bool:
        """What came of a write stands in the status line, and is to be read."""
        operations = self._host.engine.gate.operations
        if not operations:
            return False
        return (self._host.engine.store.now() - operations[-1].started).total_seconds() < STAYS

    def _forget(self, said: tuple[str, Role]) -> None:
        if self._said == said:
            self._said = ("", "plain")
            self.show_status()

    def _to_hook(self, notice: Notice) -> None:
        """A recording is no news: hooks never run for one."""
        cluster = self._host.engine.clusters.get(notice.ref.cluster)
        if notice.change is not None and cluster is not None and not isinstance(cluster.profile, ReplayProfile):
            self._host.hooks.run(notice.change)
