"""Sending a step, and trying it without effect.

What a step holds is sent byte for byte. An answer that says nothing (none, or a server error) is `unknown`, never
repeated by itself. The one request that is sent again is an eviction that a disruption budget refused: a 429 says
that nothing happened, and kubectl waits in the same way.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from adapters.base import AdapterError, Conflict, NotFound, Unreachable
from adapters.intents import HttpRequest, Outcome, Step
from adapters.kubernetes.client import Answer, Api
from adapters.kubernetes.discovery import parse
from adapters.kubernetes.errors import BudgetBlocked, error_of
from adapters.kubernetes.resources import RESOURCES
from adapters.kubernetes.rows_jobs import job_id
from adapters.kubernetes.slim import INTENT_LABEL, key_of, part, text, uid_of
from adapters.model import Ref
from adapters.outgoing import report
from adapters.text import clean


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an eviction waits for a disruption budget, and between two attempts; seconds."""

    total: float = 60.0
    pause: float = 5.0


class Sender:
    """Sends the steps of one cluster."""

    def __init__(
        self,
        cluster: str,
        api: Api,
        patience: Patience,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._cluster = cluster
        self._api = api
        self._patience = patience
        self._sleep = sleep

    async def send(self, step: Step) -> Outcome:
        """The outcome for the step's target. Raises nothing for what the server said."""
        request = step.request
        if not isinstance(request, HttpRequest):
            return Outcome("refused", message="This is no request to a Kubernetes API.", error="invalid")
        ref = step.targets[0].ref if step.targets else None
        if _is_eviction(request):
            blocked = await self._not_cordoned(step)
            if blocked is not None:
                return Outcome("refused", ref, blocked, "conflict")
            return await self._evict(request, ref)
        return await self._once(request, ref)

    async def _once(self, request: HttpRequest, ref: Ref | None) -> Outcome:
        report(self._cluster, request)
        try:
            answer = await self._api.send(request.method, request.path, dict(request.headers), request.body)
        except Unreachable as error:
            return Outcome("refused", ref, f"Nothing was sent: {error.message}", error.code)
        except AdapterError as error:
            sent = error.code == "unavailable"
            message = f"No usable answer came: {error.message}" if sent else error.message
            return Outcome("unknown" if sent else "refused", ref, message, "unknown" if sent else error.code)
        return await self._outcome(request, ref, answer)

    async def _outcome(self, request: HttpRequest, ref: Ref | None, answer: Answer) -> Outcome:
        if answer.ok:
            message = clean(" ".join(answer.warnings), 1000) or f"The server answered {answer.status}."
            return Outcome("accepted", ref, message, created=self._created(request, answer))
        error = answer.error()
        if answer.status >= 500:
            return Outcome("unknown", ref, error.message, "unknown")
        if isinstance(error, Conflict) and error.details.get("meaning") == "AlreadyExists":
            made = await self._made_before(request)
            if made is not None:
                return Outcome("accepted", ref, "It had been created already, by this very request.", created=made)
        if isinstance(error, Conflict) and error.details.get("meaning") == "patch_test":
            why = await self._why_guard_failed(request)
            return Outcome("refused", ref, f"{error.message} ({why})", error.code)
        return Outcome("refused", ref, error.message, error.code)

    def _created(self, request: HttpRequest, answer: Answer) -> Ref | None:
        if request.method != "POST" or _is_eviction(request):
            return None
        try:
            raw = parse(answer.body)
        except AdapterError:
            return None
        if raw.get("kind") != "Job":
            return None
        return Ref(self._cluster, "job", job_id(key_of(raw)), uid_of(raw) or None)

    async def _made_before(self, request: HttpRequest) -> Ref | None:
        """The object that has the name of one to be created, if it carries the same intent's id."""
        try:
            wanted = json.loads(request.body or b"{}")
            name = text(part(wanted, "metadata"), "name")
            path = request.path.partition("?")[0].removeprefix(self._api.prefix)
            held = parse((await self._api.get(f"{path}/{name}")).body)
        except (AdapterError, ValueError):
            return None
        labels = [part(part(one, "metadata"), "labels").get(INTENT_LABEL) for one in (wanted, held)]
        if labels[0] is None or labels[0] != labels[1]:
            return None
        return Ref(self._cluster, "job", job_id(key_of(held)), uid_of(held) or None)

    async def _why_guard_failed(self, request: HttpRequest) -> str:
        """The server's sentence for a failed test says nothing: look at the object."""
        try:
            expected = next(
                op["value"] for op in json.loads(request.body or b"[]") if op.get("path") == "/metadata/uid"
            )
            held = parse((await self._api.get(request.path.partition("?")[0].removeprefix(self._api.prefix))).body)
        except (AdapterError, ValueError, StopIteration, KeyError, AttributeError):
            return "the object has changed"
        return "another object has this name now" if uid_of(held) != expected else "its content has changed"

    async def _evict(self, request: HttpRequest, ref: Ref | None) -> Outcome:
        deadline = time.monotonic() + self._patience.total
        report(self._cluster, request)
        while True:
            try:
                answer = await self._api.send(request.method, request.path, dict(request.headers), request.body)
            except AdapterError as error:
                lost = error.code == "unavailable"
                return Outcome("unknown" if lost else "refused", ref, error.message, "unknown" if lost else error.code)
            error_ = None if answer.ok else answer.error()
            if isinstance(error_, NotFound):
                return Outcome("accepted", ref, "The pod is gone already.")
            if not isinstance(error_, BudgetBlocked) or time.monotonic() + self._patience.pause > deadline:
                return await self._outcome(request, ref, answer)
            await self._sleep(self._patience.pause)

    async def _not_cordoned(self, step: Step) -> str | None:
        """Evicting from a node that still takes pods would only move them in a circle."""
        node = step.targets[0].values.get("node") if step.targets else None
        if not isinstance(node, str):
            return None
        try:
            raw = parse((await self._api.get(RESOURCES["nodes"].path(None, node))).body)
        except AdapterError as error:
            return f"Nothing was evicted: the node cannot be read. {error.message}"
        if part(raw, "spec").get("unschedulable") is True:
            return None
        return f"Nothing was evicted: {clean(node, 200)} is not cordoned, so the pod could come back."

    async def dry_run(self, request: HttpRequest) -> tuple[AdapterError | None, tuple[str, ...]]:
        """Have the server check a request without effect: its refusal, if any, and its warnings."""
        tried = without_effect(request)
        try:
            answer = await self._api.ask(tried.method, tried.path, dict(tried.headers), tried.body)
        except AdapterError as error:
            return error, ()
        if answer.ok:
            return None, answer.warnings
        return error_of(answer.status, answer.headers, answer.body), answer.warnings


def without_effect(request: HttpRequest) -> HttpRequest:
    """The same request as a dry run.

    A DELETE with a body takes its options from the body alone: the API server ignores its query, and would delete.
    """
    if request.method == "DELETE" and request.body:
        options = {**json.loads(request.body), "dryRun": ["All"]}
        return replace(request, body=json.dumps(options).encode())
    return replace(request, path=f"{request.path}{'&' if '?' in request.path else '?'}dryRun=All")


def _is_eviction(request: HttpRequest) -> bool:
    return request.method == "POST" and request.path.endswith("/eviction")
