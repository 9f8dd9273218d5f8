"""Lists in pages of 500, one object at a time, so that neither memory nor a key press suffers from a large answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.base import ProtocolError
from adapters.kubernetes.client import Api
from adapters.kubernetes.errors import Expired
from adapters.kubernetes.resources import Resource
from adapters.kubernetes.slim import part, text

PAGE = 500
SLICE = 0.008
"""Seconds of parsing after which other tasks get their turn."""
_DECODER = json.JSONDecoder()
_BLANK = " \t\r\n"


@dataclass(slots=True)
class ListPosition:
    """Where a list stands: the version that a watch may go on from, and the token of the next page."""

    version: str = ""
    token: str = ""


class Turn:
    """Gives other tasks their turn during long work."""

    def __init__(self) -> None:
        self._since = time.perf_counter()

    async def __call__(self) -> None:
        if time.perf_counter() - self._since > SLICE:
            await asyncio.sleep(0)
            self._since = time.perf_counter()


def walk(page: str, found: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The elements of ``items`` one by one; what else the object holds is put into `found`, whatever the order.

    Raises ValueError for what is not a JSON object.
    """
    at = _skip(page, 0)
    if page[at : at + 1] != "{":
        raise ValueError("not an object")
    at = _skip(page, at + 1)
    while page[at : at + 1] != "}":
        name, at = _DECODER.raw_decode(page, at)
        at = _skip(page, at)
        if page[at : at + 1] != ":":
            raise ValueError("no colon behind a name")
        at = _skip(page, at + 1)
        if name == "items" and page[at : at + 1] == "[":
            at = _skip(page, at + 1)
            while page[at : at + 1] != "]":
                element, at = _DECODER.raw_decode(page, at)
                at = _after_element(page, at, "]")
                yield element
            at += 1
        else:
            found[name], at = _DECODER.raw_decode(page, at)
        at = _after_element(page, at, "}")


def _after_element(page: str, at: int, closing: str) -> int:
    at = _skip(page, at)
    if page[at : at + 1] == ",":
        return _skip(page, at + 1)
    if page[at : at + 1] != closing:
        raise ValueError("no comma between elements")
    return at


def _skip(page: str, at: int) -> int:
    while page[at : at + 1] and page[at] in _BLANK:
        at += 1
    return at


async def listed(
    api: Api, resource: Resource, namespace: str | None, position: ListPosition
) -> AsyncIterator[Mapping[str, Any]]:
    """Every object of a kind, page by page; `position.version` is set when it ends.

    A continue token that expired half way comes with another one that goes on with today's objects. The version to
    watch from stays the first page's then: what changed in between is told again by the watch. Raises AdapterError.
    """
    turn = Turn()
    first = True
    while first or position.token:
        params = {"limit": str(PAGE)}
        if resource.selector is not None:
            params["fieldSelector"] = resource.selector
        if position.token:
            params["continue"] = position.token
        try:
            body = (await api.get(resource.path(namespace), params)).body
        except Expired as error:
            token = error.details.get("continue")
            if first or not isinstance(token, str) or token == position.token:
                raise
            position.token = token
            continue
        found: dict[str, Any] = {}
        try:
            for item in walk(body.decode("utf-8", "replace"), found):
                if isinstance(item, Mapping):
                    yield item
                await turn()
        except (ValueError, RecursionError) as error:
            raise ProtocolError(f"The list of {resource.title} is not readable JSON.", "It is listed again.") from error
        metadata = part(found, "metadata")
        if not str(found.get("kind", "")).endswith("List"):
            raise ProtocolError(f"The answer for {resource.title} is not a list.", "Is the server's address right?")
        if first:
            position.version = text(metadata, "resourceVersion")
        position.token, first = text(metadata, "continue"), False
