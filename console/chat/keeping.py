"""What of a session is on disk already, and what must still go there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from console.chat.sessions import SessionError, SessionFile, Stored, prune


class Keeping:
    """The file of one session, made with its first message. Without a folder nothing is kept."""

    def __init__(self, folder: Path | None, id: str) -> None:
        self._folder = folder
        self._file = SessionFile(folder, id) if folder is not None else None
        self._messages: list[str] = []
        self._watches = "[]"
        self._failed = False
        self._lock = asyncio.Lock()

    def open(self) -> Stored:
        """Read the session and go on with it. Raises SessionError."""
        if self._file is None:
            raise SessionError("No sessions are kept here.")
        stored = self._file.open()
        self._messages = [_dumped(message) for message in stored.messages]
        self._watches = _dumped(stored.watches)
        return stored

    async def keep(
        self, at: datetime, messages: Sequence[dict[str, Any]], watches: Sequence[dict[str, Any]]
    ) -> str | None:
        """Write what differs from what was written. Returns why that failed, the first time that it does."""
        async with self._lock:
            if self._file is None or self._failed:
                return None
            now, watched = [_dumped(message) for message in messages], _dumped(watches)
            records = self._records(now, messages)
            short = bool(records) and records[0]["kind"] == "compacted"
            if watched != self._watches or short:
                records.append({"kind": "watches", "watches": list(watches)})
            if not records or not (now or self._file.opened):
                return None
            try:
                await asyncio.to_thread(self._write, self._file, at, records)
            except SessionError as error:
                self._failed = True
                return f"{error.message} What is said from now on is not kept. {error.hint}".strip()
            self._messages, self._watches = now, watched
            return None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self, file: SessionFile, at: datetime, records: Sequence[dict[str, Any]]) -> None:
        if not file.opened:
            file.begin(at)
            assert self._folder is not None
            prune(self._folder)
        if records[0]["kind"] == "compacted":
            file.rewrite(at, records)
        else:
            file.add(records)

    def _records(self, now: list[str], messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The messages that are new; the last one again where something was added to it; all of them after they were
        made short."""
        known = len(self._messages)
        if now[:known] == self._messages:
            return [{"kind": "message", "message": message} for message in messages[known:]]
        if len(now) >= known and now[: known - 1] == self._messages[: known - 1]:
            again = {"kind": "message", "message": messages[known - 1], "instead": True}
            return [again, *({"kind": "message", "message": message} for message in messages[known:])]
        return [{"kind": "compacted", "messages": list(messages)}]


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, default=str)
