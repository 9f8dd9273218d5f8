"""One kind of object, in the whole cluster or in one namespace, kept up to date for ever.

The rules, each for a failure that was seen (docs/kubernetes.md tells them at length):

- Begin with a streaming list; where the server refuses it (422), with pages. Bookmarks always.
- Go on only from the list's version, or from an event or bookmark after the list's end: the events of a streaming
  list come in the order of names, so the last one's version is not the latest.
- A clean end is a reconnection. A 410, which comes as an event inside a 200, is a new list. A cut in mid-line is a
  reconnection from the last whole event. Silence beyond the time between bookmarks is a dead link; silence twice in a
  row is a new list, as the version itself may be one that the server has never heard of.
- Failures back off with jitter, and Retry-After is obeyed.
- Whoever may list but not watch gets a list every half minute, and the pane says that it polls.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from random import uniform
from typing import Any, Protocol

import httpx

from adapters.base import AdapterError, FeedLabel, Forbidden, ProtocolError, Unavailable
from adapters.kubernetes.client import Api
from adapters.kubernetes.errors import Expired, MissingGroup, Throttled, error_of
from adapters.kubernetes.lists import ListPosition, Turn, listed
from adapters.kubernetes.records import Key, Raw
from adapters.kubernetes.resources import Resource
from adapters.kubernetes.slim import key_of, part, text

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
LONGEST_LINE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. `silence` is above the minute between two bookmarks; `watch` is what the server is asked to end a
    watch after, so that load balancers and new credentials get their turn; `doubt` is between two looks for a kind
    that is missing all at once."""

    silence: float = 90.0
    watch: float = 300.0
    first_delay: float = 0.5
    longest_delay: float = 30.0
    refused: float = 60.0
    poll: float = 30.0
    doubt: float = 5.0


class Sink(Protocol):
    """Where a reflector puts what it hears. `namespace` None is the whole cluster."""

    def put(self, resource: Resource, raw: Raw) -> None: ...

    def drop(self, resource: Resource, key: Key) -> None: ...

    def sweep(self, resource: Resource, namespace: str | None, seen: set[Key]) -> None:
        """A complete list has been told: what is not in `seen` is gone."""
        ...

    def fares(
        self, resource: Resource, namespace: str | None, label: FeedLabel, error: AdapterError | None, wait: float
    ) -> None:
        """How it goes; `wait` is in how many seconds the next attempt comes after a failure."""
        ...


class _Silent(Unavailable):
    """The link said nothing for longer than a bookmark takes."""


class Reflector:
    """Follows one kind until it is cancelled."""

    def __init__(
        self,
        api: Api,
        resource: Resource,
        namespace: str | None,
        sink: Sink,
        timing: Timing | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        streams: bool = True,
    ) -> None:
        self._api = api
        self.resource = resource
        self.namespace = namespace
        self._sink = sink
        self._timing = timing or Timing()
        self._sleep = sleep
        self._version = ""
        self._failures = 0
        self._silences = 0
        self._streaming = streams
        self._polling = False

    async def run(self) -> None:
        """Follow for ever. Raises Forbidden where the whole cluster may not be listed (the caller narrows), and
        MissingGroup where the kind does not exist."""
        self._tell("connecting")
        while True:
            began = time.monotonic()
            try:
                await self._follow()
            except (Forbidden, MissingGroup) as error:
                if not self._polling and " cannot watch " in error.message:
                    self._polling, self._version = True, ""
                    continue
                if self.namespace is None:
                    raise
                await self._pause(error, self._timing.refused)
            except Expired:
                # A server that has only just forgotten is asked at once, one that forgets again and again is not.
                self._version = ""
                if self._failures:
                    await self._sleep(self._delay())
                self._failures += 1
            except _Silent as error:
                self._silences += 1
                if not self._version:
                    self._streaming = False
                if self._silences >= 2:
                    self._version, self._silences = "", 0
                await self._pause(error, 0.0)
            except AdapterError as error:
                await self._pause(error, self._delay(error))
            else:
                # The server closes every watch sooner or later; one that ends at once again and again is not healthy.
                if not self._polling and time.monotonic() - began < 1.0:
                    self._failures += 1
                    await self._sleep(self._delay() if self._failures > 1 else 0.0)

    def _tell(self, label: FeedLabel, error: AdapterError | None = None, wait: float = 0.0) -> None:
        self._sink.fares(self.resource, self.namespace, label, error, wait)

    async def _pause(self, error: AdapterError, delay: float) -> None:
        self._failures += 1
        self._tell("stale", error, delay)
        await self._sleep(delay)

    def _delay(self, error: AdapterError | None = None) -> float:
        if isinstance(error, Throttled):
            return float(error.details.get("retry_after", 1.0)) * uniform(1.0, 1.25)
        longest = min(self._timing.longest_delay, self._timing.first_delay * 2.0 ** min(self._failures, 16))
        return longest * uniform(0.5, 1.0)

    async def _follow(self) -> None:
        """One list, if there is no version to go on from, and one watch."""
        if self._polling:
            await self._list()
            await self._sleep(self._timing.poll)
            return
        if not self._version and not self._streaming:
            await self._list()
        if self._version:
            await self._watch({"resourceVersion": self._version}, None)
            return
        try:
            await self._watch({"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}, set())
        except AdapterError as error:
            if not _refuses_streaming(error):
                raise
            self._streaming = False

    async def _list(self) -> None:
        position = ListPosition()
        seen: set[Key] = set()
        async for item in listed(self._api, self.resource, self.namespace, position):
            self._sink.put(self.resource, item)
            seen.add(key_of(item))
        self._version = position.version
        self._complete(seen)

    def _complete(self, seen: set[Key]) -> None:
        self._sink.sweep(self.resource, self.namespace, seen)
        self._live()

    def _live(self) -> None:
        self._failures = 0 if self._polling else self._failures
        self._tell("polling" if self._polling else "live")

    async def _watch(self, start: Mapping[str, str], initial: set[Key] | None) -> None:
        """One stream. `initial` collects the names of a streaming list until its end is told."""
        limit = str(int(self._timing.watch * uniform(0.9, 1.1)) or 1)
        params = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": limit, **start}
        if self.resource.selector is not None:
            params["fieldSelector"] = self.resource.selector
        turn = Turn()
        async with self._api.stream(self.resource.path(self.namespace), params, self._timing.silence) as response:
            if initial is None:
                self._live()
            async for line in lines(response):
                initial = self._event(line, initial)
                self._silences = 0
                await turn()
        if initial is not None:
            # A cut is an error of its own: whoever ends it properly without telling its end knows no streaming lists.
            self._streaming = False
            raise Unavailable("The list of the watch ended early.", "It is listed again.")

    def _event(self, line: bytes, initial: set[Key] | None) -> set[Key] | None:
        """Apply one line of a stream; returns what is left of `initial`. Raises Expired and other AdapterErrors."""
        try:
            event = json.loads(line)
            kind, raw = event["type"], event["object"]
        except (ValueError, KeyError, TypeError, RecursionError):
            self._version = ""
            raise ProtocolError("A line of the watch is not readable JSON.", "It is listed again.") from None
        if kind == "ERROR" or not isinstance(raw, dict):
            raise self._error(raw)
        metadata = part(raw, "metadata")
        if kind == "BOOKMARK":
            return self._bookmark(metadata, initial)
        key = key_of(raw)
        if kind == "DELETED":
            self._sink.drop(self.resource, key)
            if initial is not None:
                initial.discard(key)
        else:
            self._sink.put(self.resource, raw)
            if initial is not None:
                initial.add(key)
        if initial is None:
            self._advance(metadata)
        return initial

    def _bookmark(self, metadata: Mapping[str, Any], initial: set[Key] | None) -> set[Key] | None:
        ends = text(part(metadata, "annotations"), INITIAL_EVENTS_END) == "true"
        if initial is not None and not ends:
            # Whoever knows streaming lists tells their end before any other bookmark.
            self._streaming = False
            raise Unavailable("The list of the watch does not end.", "It is listed again.")
        self._advance(metadata)
        if initial is not None:
            self._complete(initial)
        return None

    def _advance(self, metadata: Mapping[str, Any]) -> None:
        self._version = text(metadata, "resourceVersion") or self._version
        self._failures = 0

    def _error(self, raw: object) -> AdapterError:
        status = raw if isinstance(raw, dict) else {}
        code = status.get("code")
        body = json.dumps({"kind": "Status", **status}).encode()
        return error_of(code if isinstance(code, int) else 500, {}, body)


def _refuses_streaming(error: AdapterError) -> bool:
    """422 of a server without WatchList (1.33 and before 1.32); "sendInitialEvents" is in its sentence."""
    return error.code == "invalid" and "sendInitialEvents" in error.message


async def lines(response: httpx.Response) -> AsyncIterator[bytes]:
    """The whole lines of a stream; what is cut in mid-line is no line. Raises _Silent, Unavailable, ProtocolError."""
    rest: list[bytes] = []
    size = 0
    try:
        async for chunk in response.aiter_bytes():
            *whole, last = chunk.split(b"\n")
            if whole:
                whole[0] = b"".join((*rest, whole[0]))
                rest, size = [], 0
            for line in whole:
                if line:
                    yield line
            rest.append(last)
            size += len(last)
            if size > LONGEST_LINE:
                raise ProtocolError("A line of the watch is longer than 64 MiB.", "It is listed again.")
    except httpx.ReadTimeout:
        raise _Silent(
            "The API server has said nothing for longer than it ever should.", "It is connected anew."
        ) from None
    except httpx.HTTPError as error:
        raise Unavailable(f"The watch was cut ({type(error).__name__}).", "It is connected anew.") from None
