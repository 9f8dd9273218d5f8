"""The output of jobs: of one pod, or of several merged.

Kubernetes keeps one log a container (standard output and standard error together) and forgets it with the pod. With
several pods each line begins with its pod's name; what is there already comes in the order of time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

import httpx

from adapters.base import AdapterError, Invalid, LogChunk, NotFound, Unavailable
from adapters.kubernetes.client import Api
from adapters.kubernetes.resources import RESOURCES
from adapters.kubernetes.slim import items, part, text
from adapters.text import clean

MOST_PODS = 20
"""Pods whose logs are merged; a note says how many there are."""
SILENCE = 3600.0
"""Seconds a followed log may say nothing: a quiet program is no dead link."""
RETRY = 1.0
"""Seconds between two looks at a container that has not begun."""


@dataclass(frozen=True, slots=True)
class LogRequest:
    """What is asked for. `container` None is the first one; `previous` is the run before the last restart."""

    tail: int | None = None
    since: int | None = None
    follow: bool = False
    container: str | None = None
    previous: bool = False

    def params(self, *, merged: bool, follow: bool) -> dict[str, str]:
        wanted = {
            "container": self.container,
            "previous": "true" if self.previous else None,
            "tailLines": str(self.tail) if self.tail is not None else None,
            "timestamps": "true" if merged else None,
            "follow": "true" if follow else None,
        }
        return {name: value for name, value in wanted.items() if value is not None}


async def job_log(api: Api, pods: Sequence[Mapping[str, object]], request: LogRequest) -> AsyncIterator[LogChunk]:
    """The merged output of these pods (raw objects, oldest first). Raises AdapterError."""
    if not pods:
        yield LogChunk("stdout", at_end=not request.follow, note="It has no pods, so there is no output.")
        return
    if len(pods) == 1:
        async for chunk in _single(api, pods[0], request):
            yield chunk
        return
    shown = pods[-MOST_PODS:]
    note = f"Of {len(pods)} pods the last {len(shown)} are shown." if len(shown) < len(pods) else ""
    async for chunk in _merged(api, shown, request, note):
        yield chunk


async def _single(api: Api, pod: Mapping[str, object], request: LogRequest) -> AsyncIterator[LogChunk]:
    """One log, byte for byte. There are no offsets in the API: `since` skips what was read before."""
    skip = request.since or 0
    offset = 0
    async for data in _read(api, pod, request.params(merged=False, follow=request.follow), request.follow):
        begin = max(0, skip - offset)
        if begin < len(data):
            yield LogChunk("stdout", data[begin:], offset=offset + begin)
        offset += len(data)
    yield LogChunk("stdout", offset=offset, size=offset, at_end=True)


async def _merged(
    api: Api, pods: Sequence[Mapping[str, object]], request: LogRequest, note: str
) -> AsyncIterator[LogChunk]:
    """What is there, in the order of time; then, while following, what comes, pod by pod and line by line."""
    past = LogRequest(request.tail, None, False, request.container, request.previous)
    answers = await asyncio.gather(*(_whole(api, pod, past) for pod in pods))
    lines: list[tuple[bytes, bytes]] = []
    last: dict[str, bytes] = {}
    for pod, body in zip(pods, answers, strict=True):
        name = text(part(pod, "metadata"), "name")
        for line in body.splitlines(keepends=True):
            stamp, _, rest = line.partition(b" ")
            lines.append((stamp, f"[{name}] ".encode() + rest))
            last[name] = stamp
    lines.sort(key=lambda line: line[0])
    data = (
        b"".join(line for _, line in lines[-request.tail :] if request.tail != 0)
        if request.tail is not None
        else (b"".join(line for _, line in lines))
    )
    begin = min(request.since or 0, len(data))
    yield LogChunk("stdout", data[begin:], offset=begin, size=len(data), note=note)
    offset = len(data)
    if request.follow:
        async for line in _following(api, pods, request, last):
            yield LogChunk("stdout", line, offset=offset)
            offset += len(line)
    yield LogChunk("stdout", offset=offset, size=offset, at_end=True)


async def _whole(api: Api, pod: Mapping[str, object], request: LogRequest) -> bytes:
    parts = [data async for data in _read(api, pod, request.params(merged=True, follow=False), False)]
    return b"".join(parts)


async def _following(
    api: Api, pods: Sequence[Mapping[str, object]], request: LogRequest, last: Mapping[str, bytes]
) -> AsyncIterator[bytes]:
    """New lines of all pods as they come. sinceTime has whole seconds, so lines that were seen are left out."""
    queue: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=1000)

    async def pump(pod: Mapping[str, object]) -> None:
        name = text(part(pod, "metadata"), "name")
        seen = last.get(name, b"")
        params = request.params(merged=True, follow=True)
        params.pop("tailLines", None)
        if seen:
            params["sinceTime"] = seen.decode("ascii", "replace")
        rest = b""
        try:
            async for data in _read(api, pod, params, True):
                *whole, rest = (rest + data).split(b"\n")
                for line in whole:
                    stamp, _, words = line.partition(b" ")
                    if stamp > seen:
                        await queue.put(f"[{name}] ".encode() + words + b"\n")
        except AdapterError as error:
            await queue.put(f"[{name}] {error.message}\n".encode())
        finally:
            await queue.put(None)

    tasks = [asyncio.create_task(pump(pod)) for pod in pods]
    try:
        open_pods = len(tasks)
        while open_pods:
            line = await queue.get()
            if line is None:
                open_pods -= 1
            else:
                yield line
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(api: Api, pod: Mapping[str, object], params: Mapping[str, str], follow: bool) -> AsyncIterator[bytes]:
    """The bytes of one log. A container that has not begun says so; while following it is waited for."""
    metadata = part(pod, "metadata")
    namespace, name = text(metadata, "namespace"), text(metadata, "name")
    path = RESOURCES["pods"].path(namespace, name, "log")
    wanted = dict(params)
    if "container" not in wanted and len(items(part(pod, "spec"), "containers")) > 1:
        wanted["container"] = text(items(part(pod, "spec"), "containers")[0], "name")
    while True:
        try:
            async with api.stream(path, wanted, SILENCE if follow else 60.0) as response:
                empty = response.status_code == 204
                async for data in _bytes(response):
                    yield data
            if not (empty and follow):
                return
        except Invalid as error:
            if not (follow and "is waiting to start" in error.message):
                raise _explained(error, name) from None
        await asyncio.sleep(RETRY)
        if not await _alive(api, namespace, name):
            return


async def _bytes(response: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for data in response.aiter_bytes():
            yield data
    except httpx.HTTPError as error:
        raise Unavailable(f"The log was cut ({type(error).__name__}).", "Open it again.") from None


async def _alive(api: Api, namespace: str, name: str) -> bool:
    try:
        await api.get(RESOURCES["pods"].path(namespace, name))
    except NotFound:
        return False
    return True


def _explained(error: Invalid, name: str) -> AdapterError:
    if "is waiting to start" in error.message:
        return Unavailable(error.message, "There is no output yet.")
    if "previous terminated container" in error.message:
        return NotFound(error.message, f"Pod {clean(name)} has not been started again, so there is no earlier run.")
    return error
