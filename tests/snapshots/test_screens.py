"""What each screen looks like, in three sizes and two themes, on a fixed cluster and a clock that stands still.

After a wanted change: `pytest tests/snapshots --snapshot-update`, look at the pictures, and commit them by themselves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from textual.pilot import Pilot

from adapters.intents import Change, HttpRequest, Plan, SetNodeQuota, Step, Target
from console.app import ConsoleApp
from console.gate import Confirm, Prepared
from console.screens.confirm import ConfirmScreen
from console.screens.keyguard import KeyGuard
from console.screens.main import MainScreen
from tests.doubles.memory_backend import MemoryBackend
from tests.doubles.settle import settle, until
from tests.ui.scene import make_app, nodes, rows
from tests.ui.test_lists import lists_backend

SIZES = [(80, 24), (120, 40), (200, 60)]
THEMES = ["pilothouse-ansi", "pilothouse-dusk"]
Compare = Callable[..., bool]
Look = Callable[[ConsoleApp, Pilot[Any]], Awaitable[None]]

every_size = pytest.mark.parametrize("size", SIZES, ids=[f"{w}x{h}" for w, h in SIZES])
every_theme = pytest.mark.parametrize("theme", THEMES)


def _compare(
    snap_compare: Compare, folder: Path, theme: str, size: tuple[int, int], look: Look,
    backend: MemoryBackend | None = None,
) -> bool:  # fmt: skip
    app = make_app(folder, backend or MemoryBackend(rows=rows()), theme=theme)

    async def before(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.engine.store.state("demo", "job").loaded)
        await until(pilot, lambda: app.engine.clusters["demo"].capabilities is not None)
        await until(pilot, lambda: isinstance(app.screen, MainScreen) and app.screen.up_to_date)
        await settle(pilot)
        await look(app, pilot)
        await settle(pilot)

    return snap_compare(app, terminal_size=size, run_before=before)


def _press(*keys: str) -> Look:
    async def look(app: ConsoleApp, pilot: Pilot[Any]) -> None:
        for key in keys:
            await pilot.press(key)
            await settle(pilot)

    return look


@every_theme
@every_size
def test_main(snap_compare: Compare, tmp_path: Path, theme: str, size: tuple[int, int]) -> None:
    """Jobs, queues and nodes."""
    assert _compare(snap_compare, tmp_path, theme, size, _press())


@every_theme
@pytest.mark.parametrize("key", ["2", "3"], ids=["queues", "nodes"])
def test_one_pane(snap_compare: Compare, tmp_path: Path, theme: str, key: str) -> None:
    """In a small terminal one pane is shown at a time."""
    assert _compare(snap_compare, tmp_path, theme, (80, 24), _press(key))


@every_theme
@every_size
def test_node(snap_compare: Compare, tmp_path: Path, theme: str, size: tuple[int, int]) -> None:
    """The node dialog, with a quota being typed."""
    assert _compare(snap_compare, tmp_path, theme, size, _press("3", "j", "j", "e", "2"))


@every_theme
@every_size
def test_help(snap_compare: Compare, tmp_path: Path, theme: str, size: tuple[int, int]) -> None:
    """The keys, those that work here first."""
    assert _compare(snap_compare, tmp_path, theme, size, _press("question_mark"))


@every_theme
@every_size
def test_job(snap_compare: Compare, tmp_path: Path, theme: str, size: tuple[int, int]) -> None:
    """A failed job's detail."""
    assert _compare(snap_compare, tmp_path, theme, size, _press(*"jjjjjjj", "enter"))


@every_theme
def test_filter(snap_compare: Compare, tmp_path: Path, theme: str) -> None:
    """A filter being typed: n of m."""
    assert _compare(snap_compare, tmp_path, theme, (80, 24), _press("slash", *"grace"))


def _prepared(confirm: Confirm) -> Prepared:
    """A plan with everything in it, the same each time."""
    node = nodes()[0]._replace(cluster="demo")
    uuid = UUID(int=0x5EB946C3084E0F9E52783E6D5DF56A)
    intent = SetNodeQuota(cluster="demo", refs=(node.ref,), slots=2, if_version="3", intent_id=uuid)
    request = HttpRequest(
        "POST", "/api/admin/nodes/1/quota",
        (("Content-Type", "application/json"), ("Idempotency-Key", str(uuid)), ("If-Match", "3")),
        b'{"admin_max_slots":2}',
    )  # fmt: skip
    target = Target(node.ref, None, "busy", node.name)
    change = Change(node.ref, "slots_quota", "no limit", "2")
    warning = "12 jobs run there: none is ended, the node takes no new one until 2 are left."
    plan = Plan(intent, (Step(request, (target,)),), (change,), (warning,), "Set the quota of node-1 to no limit.")
    return Prepared(plan, confirm)


@every_theme
@pytest.mark.parametrize("size", SIZES[:2], ids=["80x24", "120x40"])
@pytest.mark.parametrize(
    "keys",
    [("x",), ("colon", *"drain"), ("N",), ("1", "l"), ("3", "D"), ("space", "space", "M"), ("2", "Q")],
    ids=["menu", "palette", "new-job", "log", "drain-reason", "modify", "queue-quota"],
)
def test_dialog(
    snap_compare: Compare, tmp_path: Path, theme: str, size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    """Every other dialog and screen."""
    assert _compare(snap_compare, tmp_path, theme, size, _press(*keys))


def _ask(confirm: Confirm) -> Look:
    async def look(app: ConsoleApp, pilot: Pilot[Any]) -> None:
        clock = iter([0.0, 0.0, 10.0])  # made, on the screen, looked at
        guard = KeyGuard(lambda: next(clock, 10.0))
        app.push_screen(ConfirmScreen(_prepared(confirm), guard))
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen) and app.screen.panel._armed)

    return look


@every_theme
@every_size
def test_confirm(snap_compare: Compare, tmp_path: Path, theme: str, size: tuple[int, int]) -> None:
    """The question before a write, where one key is enough."""
    assert _compare(snap_compare, tmp_path, theme, size, _ask(Confirm("key")))


@every_theme
def test_confirm_typed(snap_compare: Compare, tmp_path: Path, theme: str) -> None:
    """The question before a write that asks for the name."""
    confirm = Confirm("type", "node-1", "this cannot be undone", "the name")
    assert _compare(snap_compare, tmp_path, theme, (80, 24), _ask(confirm))


def _wait_for(text: str, *keys: str) -> Look:
    """Press keys, and wait for what is asked for only then."""

    async def look(app: ConsoleApp, pilot: Pilot[Any]) -> None:
        await _press(*keys)(app, pilot)
        await until(pilot, lambda: any(text in strip.text for strip in app.screen._compositor.render_strips()))

    return look


@every_theme
@pytest.mark.parametrize("size", SIZES[:2], ids=["80x24", "120x40"])
@pytest.mark.parametrize(
    ("text", "keys"), [("all nodes", ("m",)), ("upgrade", ("d",)), ("bob", ("f",))], ids=["map", "reservations", "keys"]
)
def test_lists(
    snap_compare: Compare, tmp_path: Path, theme: str, size: tuple[int, int], text: str, keys: tuple[str, ...]
) -> None:
    """Nodes by queue, reservations, API keys."""
    assert _compare(snap_compare, tmp_path, theme, size, _wait_for(text, *keys), lists_backend())


@every_theme
@pytest.mark.parametrize("size", SIZES[:2], ids=["80x24", "120x40"])
def test_record(
    snap_compare: Compare, tmp_path: Path, theme: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The audit log."""
    monkeypatch.setattr("console.audit.log.person", lambda: "alice")
    asked = {"action": "cancel", "cluster": "demo", "origin": "key", "targets": ["demo/4103"]}

    async def look(app: ConsoleApp, pilot: Pilot[Any]) -> None:
        app.engine.audit.host = "login1"
        app.engine.audit.append("intent", **asked, decision="confirmed by dialog")
        app.engine.audit.append("result", **asked, decision="confirmed by dialog", outcome="accepted", seconds=0.1)
        app.engine.audit.append("refused", **asked | {"action": "drain", "origin": "chat"}, rule="scope")
        await _wait_for("refused", "v")(app, pilot)

    assert _compare(snap_compare, tmp_path, theme, size, look)
