"""A session on record: what the watches tell is written to a file while the console shows it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from adapters.base import AdapterError, InterestCell, Reader, WatchItem
from adapters.replay.recording import RecordingWriter


class RecordingFailed(AdapterError):
    """The file of the recording cannot be written."""

    title = "Not recorded"
    code = "recording"


class RecordedReader:
    """A Reader whose watch is written down as it is told; everything else goes straight through."""

    def __init__(self, reader: Reader, path: Path, *, anonymous: bool) -> None:
        self._reader = reader
        self._path = path
        self._anonymous = anonymous
        self._file: RecordingWriter | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    async def watch(self, interest: InterestCell) -> AsyncIterator[WatchItem]:
        """What the cluster tells, once it has said who we are and what it can do: a recording begins with that."""
        if self._file is None:
            self._file = RecordingWriter(
                self._path, self._reader.cluster, await self._reader.capabilities(), await self._reader.whoami(),
                recorded=datetime.now(UTC), clock=time.monotonic, anonymous=self._anonymous,
            )  # fmt: skip
        async with aclosing(cast("Any", self._reader.watch(interest))) as items:
            async for item in items:
                self._file.write(item)
                yield item

    async def close(self) -> None:
        if self._file is not None:
            self._file.close()
        await self._reader.close()


class Recorder:
    """Puts what clusters tell on record. The first goes to `path`, others beside it by name.

    Raises RecordingFailed where the file is there already or its folder cannot be written.
    """

    def __init__(self, path: Path, *, anonymous: bool = False) -> None:
        self._path = path.expanduser()
        self._anonymous = anonymous
        self._first: str | None = None
        try:
            self._path.open("x").close()
        except OSError as error:
            raise RecordingFailed(f"{self._path} cannot be written: {error.strerror}.", "Name a new file.") from error

    def through(self, name: str, reader: Reader) -> Reader:
        """The Reader of that cluster, on record: for `Engine(read_through=…)`."""
        self._first = self._first or name
        path = self._path if name == self._first else self._path.with_name(f"{self._path.stem}-{name}.jsonl")
        return cast("Reader", RecordedReader(reader, path, anonymous=self._anonymous))
