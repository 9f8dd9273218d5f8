"""Whatever waits can be cancelled: a forgotten cancellation leaves a console that does not end."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_nothing_waits_with_wait_for() -> None:
    """Before Python 3.12 it returns, and forgets a cancellation that comes together with what was waited for. Use
    `asyncio.timeout`."""
    files = [file for top in ("adapters", "console", "widgets") for file in (ROOT / top).rglob("*.py")]
    assert len(files) > 300
    assert [str(file.relative_to(ROOT)) for file in files if "asyncio.wait_for(" in file.read_text("utf-8")] == []
