"""Writes of a native cluster. Only the gate holds one of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from adapters.base import AdapterError, Conflict, NotFound, UnknownOutcome, Unreachable, Unsupported
from adapters.intents import (
    CloseQueue,
    CreateKey,
    DrainNode,
    HttpRequest,
    Intent,
    ModifyJob,
    OpenQueue,
    Outcome,
    Plan,
    RevokeKey,
    SetNodeQuota,
    Step,
    SubmitJob,
    Target,
    TargetedIntent,
)
from adapters.model import Ref
from adapters.native import probe, requests, wire
from adapters.native.answers import Answer
from adapters.native.reader import NativeReader
from adapters.native.requests import Draft, Skipped
from adapters.native.token import TokenSource
from adapters.native.transport import Timeouts, Transport
from adapters.text import clean

UNDO: dict[str, str] = {
    "hold": "Release the job.",
    "release": "Hold the job again, if it has not started.",
    "suspend": "Resume the job.",
    "resume": "Suspend the job.",
    "drain": "Undrain the node.",
    "undrain": "Drain the node.",
    "close_queue": "Open the queue.",
    "open_queue": "Close the queue.",
    "submit": "Cancel the job.",
    "create_key": "Revoke the key.",
}
WARNINGS: dict[str, str] = {
    "requeue": "What a running job has done so far is lost.",
    "reissue_token": "The present token is dead at once: the worker must be given the new one, which is shown once.",
    "create_key": "The key is shown once; whoever has it acts with the role it carries.",
    "revoke_key": "Whatever uses this key is refused from then on.",
    "hold": "Should a job start before this arrives, it is suspended instead.",
}


class NativeWriter:
    """Implements `adapters.base.Writer` over the native wire. The arguments are those of `NativeReader`.

    Each request goes out on a connection of its own, and once.
    """

    def __init__(
        self,
        cluster: str,
        url: str,
        token: TokenSource,
        *,
        reader: NativeReader | None = None,
        timeouts: Timeouts | None = None,
        allow_insecure: bool = False,
        verify: bool | str = True,
    ) -> None:
        self.cluster = cluster
        self._transport = Transport(
            cluster,
            url,
            token,
            timeouts=timeouts,
            allow_insecure=allow_insecure,
            verify=verify,
            keep_alive=False,
        )
        self._own_reader = reader is None
        self._reader = reader or NativeReader(
            cluster, url, token, timeouts=timeouts, allow_insecure=allow_insecure, verify=verify
        )

    async def close(self) -> None:
        await self._transport.close()
        if self._own_reader:
            await self._reader.close()

    # -- plan --------------------------------------------------------------------------------------------------------

    async def plan(self, intent: Intent) -> Plan:
        """Freeze the targets and make the requests. Raises Unsupported, NotFound, Conflict, Invalid, or a read's."""
        why = probe.why_not(intent.verb, await self._reader.probed())
        if why is not None:
            raise Unsupported(f"{intent.title} is not possible here: {why}")
        if isinstance(intent, SubmitJob):
            draft, warnings = requests.submit(intent)
            return self._plan(intent, [(draft, None)], [*warnings])
        if isinstance(intent, CreateKey):
            body = {"username": intent.user, "role_name": intent.role}
            return self._plan(intent, [(Draft("POST", wire.KEYS, body), None)], [])
        if isinstance(intent, RevokeKey):
            return self._plan(intent, [(Draft("DELETE", wire.key_path(intent.key_id), None), None)], [])
        return await self._plan_targets(cast("TargetedIntent", intent))

    async def _plan_targets(self, intent: TargetedIntent) -> Plan:
        seen = await self._reader.observe(intent.refs)
        pairs: list[tuple[Draft, Target | None]] = []
        warnings: list[str] = []
        for ref in intent.refs:
            target = seen[ref]
            if target is None:
                raise NotFound(f"There is no {ref.kind} {clean(ref.id, 100)} any more." if ref.born else
                               f"There is no {ref.kind} {clean(ref.id, 100)}.")  # fmt: skip
            for made in self._drafts(intent, target):
                if isinstance(made, Skipped):
                    warnings.append(made.why)
                else:
                    pairs.append((made, target))
            if isinstance(intent, SetNodeQuota):
                warnings += requests.quota_warnings(intent, target)
        if not pairs:
            raise Conflict(" ".join(warnings), "Nothing is left to do.")
        return self._plan(intent, pairs, warnings)

    def _drafts(self, intent: Intent, target: Target) -> Sequence[Draft | Skipped]:
        if isinstance(intent, ModifyJob):
            return [requests.modify(intent, target)]
        if isinstance(intent, SetNodeQuota):
            return [requests.quota(intent, target)]
        if isinstance(intent, DrainNode):
            return [requests.drain(intent, target)]
        if isinstance(intent, OpenQueue):
            return requests.open_queue(target)
        if isinstance(intent, CloseQueue):
            return requests.close_queue(intent, target)
        if intent.verb == "undrain":
            return [requests.undrain(target)]
        if intent.verb == "reissue_token":
            return [requests.reissue(target)]
        return [requests.control(intent, target)]

    def _plan(self, intent: Intent, pairs: list[tuple[Draft, Target | None]], warnings: list[str]) -> Plan:
        steps, changes = [], []
        before: Target | None = None
        for number, (draft, target) in enumerate(pairs):
            key = requests.idempotency_key(intent.intent_id, f"{number}{draft.path}", len(pairs) == 1)
            request = requests.http(draft, self._transport.path(draft.path), key)
            name = target.ref.id if target is not None else ""
            sequel = target is not None and before is not None and target.ref == before.ref
            steps.append(Step(request, () if target is None else (target,), f"{intent.title} {name}".strip(), sequel))
            if target is not None:
                changes += requests.change_of(target, draft.changes)
            before = target
        if isinstance(intent, ModifyJob):
            warnings = [*warnings, *requests.rounded(intent.memory_bytes, intent.walltime_seconds)]
        if intent.verb in WARNINGS:
            warnings = [*warnings, WARNINGS[intent.verb]]
        return Plan(intent, tuple(steps), tuple(changes), tuple(warnings), self._undo(intent, steps))

    def _undo(self, intent: Intent, steps: Sequence[Step]) -> str | None:
        if isinstance(intent, SetNodeQuota):
            old = {step.targets[0].label: step.targets[0].values.get("slots_quota") for step in steps}
            return (
                "; ".join(
                    f"Set the quota of {name} to {'no limit' if quota is None else quota}"
                    for name, quota in old.items()
                )
                + "."
            )
        if isinstance(intent, ModifyJob):
            return "Modify the job back to what it was."
        return UNDO.get(intent.verb)

    # -- send --------------------------------------------------------------------------------------------------------

    async def send(self, step: Step) -> tuple[Outcome, ...]:
        """Send the step's request once, as it is. Expected failures are outcomes."""
        request = cast("HttpRequest", step.request)
        refs: tuple[Ref | None, ...] = tuple(target.ref for target in step.targets) or (None,)
        try:
            answer = await self._transport.send(request, step.summary or request.method)
        except UnknownOutcome as error:
            return tuple(Outcome("unknown", ref, _words(error), error.code) for ref in refs)
        except Unreachable as error:
            message = f"Nothing was sent. {_words(error)}"
            return tuple(Outcome("refused", ref, message, error.code) for ref in refs)
        except AdapterError as error:
            return tuple(Outcome("refused", ref, _words(error), error.code) for ref in refs)
        return tuple(self._accepted(ref, request, answer) for ref in refs)

    def _accepted(self, ref: Ref | None, request: HttpRequest, answer: Answer) -> Outcome:
        data: dict[str, Any] = answer.data if isinstance(answer.data, dict) else {}
        created = None
        if request.method == "POST" and request.path == self._transport.path(wire.JOBS):
            id = wire.whole(data.get("jobid"))
            created = None if id is None else Ref(self.cluster, "job", str(id))
        secret = None
        if request.path == self._transport.path(wire.KEYS) or request.path.endswith("/token"):
            secret = next((data[name] for name in ("key", "token") if isinstance(data.get(name), str)), None)
        message = answer.message or clean(str(data.get("message") or ""), 500)
        return Outcome("accepted", ref, message, created=created, secret=secret)


def _words(error: AdapterError) -> str:
    return f"{error.message} {error.hint}".strip()
