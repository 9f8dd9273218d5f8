"""Watches of the double: streaming lists, bookmarks, the 410 inside a 200, time-outs; and faults in the stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tests.doubles.kube_api.answers import Refusal, invalid
from tests.doubles.kube_api.kinds import Served
from tests.doubles.kube_api.selecting import matches
from tests.doubles.kube_api.store import Event

if TYPE_CHECKING:
    from tests.doubles.kube_api.server import KubeDouble, Link

Obj = dict[str, Any]


def line(kind: str, obj: Obj) -> bytes:
    content = json.dumps({"type": kind, "object": obj}, separators=(",", ":"), ensure_ascii=False)
    return content.encode("utf-8", "surrogatepass") + b"\n"


def check(double: KubeDouble, query: dict[str, str]) -> None:
    """Refuses a streaming list that is asked for wrongly, or that this server does not know."""
    if query.get("sendInitialEvents") != "true":
        return
    options = Served("meta.k8s.io", "v1", "listoptions", "ListOptions")
    if not double.streaming_lists:
        text = "Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        raise invalid(options, "", [("sendInitialEvents", "FieldValueForbidden", text)]) from None
    if query.get("resourceVersionMatch") != "NotOlderThan":
        text = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise invalid(options, "", [("resourceVersionMatch", "FieldValueForbidden", text)])


def bookmark(served: Served, version: int, *, ends: bool = False) -> bytes:
    metadata: Obj = {"resourceVersion": str(version)}
    if ends:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    obj: Obj = {"kind": served.kind, "apiVersion": served.api_version, "metadata": metadata}
    if served.kind == "Pod":
        obj |= {"spec": {"containers": None}, "status": {}}
    return line("BOOKMARK", obj)


async def stream(
    double: KubeDouble, served: Served, namespace: str | None, query: dict[str, str], link: Link
) -> AsyncIterator[bytes]:
    """The lines of one watch. `link` breaks it in mid-line, as a cut does."""
    store = double.store
    loop = asyncio.get_running_loop()
    unsubscribe = store.subscribe(served, lambda: loop.call_soon_threadsafe(link.wake.set))
    try:
        with store.lock:
            version = store.version
            rows = store.listed(served, namespace)
        start = query.get("resourceVersion", "")
        if query.get("sendInitialEvents") == "true" or start in ("", "0"):
            for _, obj in rows:
                if matches(served, obj, query.get("labelSelector", ""), query.get("fieldSelector", "")):
                    yield line("ADDED", obj)
            if query.get("sendInitialEvents") == "true" and double.knows_streaming_lists:
                yield bookmark(served, version, ends=True)
        else:
            version = int(start)
            if version < store.floor:
                gone = f"too old resource version: {version} ({store.floor})"
                yield line("ERROR", Refusal(410, "Expired", gone).body)
                return
        async for part in _live(double, served, namespace, query, version, link):
            yield part
    finally:
        unsubscribe()


async def _live(
    double: KubeDouble,
    served: Served,
    namespace: str | None,
    query: dict[str, str],
    version: int,
    link: Link,
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    ends = loop.time() + float(query.get("timeoutSeconds", "1800"))
    marks = query.get("allowWatchBookmarks") == "true"
    next_mark = loop.time() + double.bookmark_period
    while not link.broken:
        link.wake.clear()
        for event in double.store.since(version, served):
            version = event.version
            told = _told(event, served, namespace, query)
            if told is not None and not double.silent.is_set():
                yield told
        now = loop.time()
        if now >= ends:
            return
        if marks and now >= next_mark and not double.silent.is_set():
            next_mark = now + double.bookmark_period
            version = max(version, double.store.version)
            yield bookmark(served, version)
        with suppress(TimeoutError):
            await asyncio.wait_for(link.wake.wait(), min(ends, next_mark) - now)
    if double.cut_in_mid_line:
        yield b'{"type":"MODIFIED","object":{"kind":"'
    raise ConnectionResetError("cut")


def _told(event: Event, served: Served, namespace: str | None, query: dict[str, str]) -> bytes | None:
    """The line for a change, seen through the selectors: what leaves the selection is DELETED."""
    if namespace is not None and event.obj["metadata"].get("namespace") != namespace:
        return None
    selectors = (query.get("labelSelector", ""), query.get("fieldSelector", ""))
    now = event.type != "DELETED" and matches(served, event.obj, *selectors)
    before = event.old is not None and matches(served, event.old, *selectors)
    if now:
        return line("MODIFIED" if before else "ADDED", event.obj)
    return line("DELETED", event.obj) if before else None
