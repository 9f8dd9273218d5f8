"""A double of a terminal: a Textual driver that keeps what would be written, so that tests can count and search it."""

from __future__ import annotations

from typing import ClassVar

from textual.drivers.headless_driver import HeadlessDriver


class CountingDriver(HeadlessDriver):
    """Takes everything the application writes. Use with ``run_test(headless=False)``."""

    written: ClassVar[list[str]] = []

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        self.written.append(data)

    @classmethod
    def reset(cls) -> None:
        cls.written.clear()

    @classmethod
    def text(cls) -> str:
        """Everything written since the last reset."""
        return "".join(cls.written)

    @classmethod
    def count(cls) -> int:
        """Bytes written since the last reset."""
        return len(cls.text().encode())
