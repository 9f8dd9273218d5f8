"""Writes through slurmrestd: submit, cancel, hold, release, modify, drain and undrain, as exact HTTP requests."""

from __future__ import annotations

import json
import math
import os
import shlex
from typing import Any, Literal
from urllib.parse import quote

from adapters.base import AdapterError, Invalid, Unsupported
from adapters.intents import (
    CancelJob,
    Change,
    DrainNode,
    HoldJob,
    HttpRequest,
    Intent,
    ModifyJob,
    Outcome,
    Plan,
    ReleaseJob,
    Step,
    SubmitJob,
    Target,
    TargetedIntent,
    UndrainNode,
)
from adapters.model import Ref
from adapters.slurm import values
from adapters.slurm.ids import parse_id
from adapters.slurm.observe import must_exist
from adapters.slurm.rest_client import Answer, RestClient
from adapters.slurm.rest_reader import WITHOUT_COMMANDS, RestReader
from adapters.slurm.rights import NEVER
from adapters.slurm.submit import comment_of, dependency_list

_HEADERS = (("Content-Type", "application/json"),)
_MODIFY = {"name": "name", "queue": "partition", "account": "account", "qos": "qos", "comment": "comment",
           "nice": "nice", "dependency": "dependency", "features": "constraints"}  # fmt: skip
_SUBMIT = {"qos": "qos", "features": "constraints", "constraint": "constraints", "reservation": "reservation",
           "comment": "comment", "nice": "nice", "licenses": "licenses", "gres": "tres_per_node"}  # fmt: skip


class RestWriter:
    """Only the gate holds one."""

    def __init__(self, client: RestClient, reader: RestReader) -> None:
        self.cluster = client.cluster
        self._client = client
        self._reader = reader

    async def plan(self, intent: Intent) -> Plan:
        """Raises Unsupported for what slurmrestd has no request for."""
        if isinstance(intent, SubmitJob):
            return await self._submission(intent)
        version = await self._client.version()
        possible = (CancelJob, HoldJob, ReleaseJob, ModifyJob, *((DrainNode, UndrainNode) if version > 38 else ()))
        if not isinstance(intent, possible) or not isinstance(intent, TargetedIntent):
            raise Unsupported(NEVER.get(intent.verb, WITHOUT_COMMANDS))
        targets = must_exist(intent.refs, await self._reader.observe(intent.refs))
        steps, changes = [], []
        for ref, target in zip(intent.refs, targets, strict=True):
            request, after = await self._request(intent, ref, version)
            steps.append(Step(request, (target,), f"{intent.title} {target.label}"))
            changes += [
                Change(target.ref, name, str(target.values.get(name, target.state)), str(value))
                for name, value in after.items()
            ]
        return Plan(intent, tuple(steps), tuple(changes))

    async def _request(self, intent: TargetedIntent, ref: Ref, version: int) -> tuple[HttpRequest, dict[str, Any]]:
        if isinstance(intent, DrainNode | UndrainNode):
            words = ["DRAIN"] if isinstance(intent, DrainNode) else ["UNDRAIN"]
            body: dict[str, Any] = {"state": words}
            if isinstance(intent, DrainNode):
                body["reason"] = intent.reason
            return await self._post(f"/node/{quote(ref.id, safe='')}", body), {"state": words[0].lower()}
        target = quote(parse_id(ref.id).target, safe="")
        if isinstance(intent, CancelJob):
            query = f"?signal={intent.signal}" if intent.signal else ""
            path = await self._client.path(f"/job/{target}{query}")
            return HttpRequest("DELETE", path), {} if intent.signal else {"state": "cancelled"}
        if isinstance(intent, ModifyJob):
            changes = intent.changes()
            return await self._post(f"/job/{target}", _modification(changes, version)), changes
        held = isinstance(intent, HoldJob)
        return await self._post(f"/job/{target}", {"hold": held}), {"state": "held" if held else "released"}

    async def _post(self, rest: str, body: dict[str, Any]) -> HttpRequest:
        return HttpRequest(
            "POST", await self._client.path(rest), _HEADERS, json.dumps(body, ensure_ascii=False).encode()
        )

    async def _submission(self, intent: SubmitJob) -> Plan:
        version = await self._client.version()
        job, warnings = _job_of(intent, version)
        script = intent.spec.script or f"#!/bin/sh\nexec {shlex.join(intent.spec.command)}\n"
        request = await self._post("/job/submit", {"script": script, "job": job})
        changes = [Change(None, name, "", str(value)) for name, value in job.items() if name != "environment"]
        return Plan(intent, (Step(request, (), intent.describe()),), tuple(changes), tuple(warnings))

    async def send(self, step: Step) -> tuple[Outcome, ...]:
        if not isinstance(step.request, HttpRequest):
            raise TypeError("a step of slurmrestd holds an HttpRequest")
        answer, error = await self._client.send(step.request)
        if answer is not None and step.request.path.endswith("/job/submit") and answer.code == 200:
            # 22.05 names the new job and says in `errors` that it is held: it was accepted all the same.
            return (_submitted(self.cluster, answer, error),)
        targets: tuple[Target | None, ...] = step.targets or (None,)
        refs = [target.ref if target is not None else None for target in targets]
        if error is not None:
            result: Literal["refused", "unknown"] = "unknown" if error.code == "unknown" else "refused"
            message = f"{error.message} {error.hint}".strip()
            return tuple(Outcome(result, ref, message, error.code) for ref in refs)
        assert answer is not None
        return tuple(Outcome("accepted", ref, " ".join(answer.warnings)) for ref in refs)

    async def close(self) -> None:
        """The reader holds the connection."""


def _number(value: int, version: int) -> Any:
    """A number as the version wants it: from v0.0.39 on as an object that may also say unset and infinite."""
    return value if version <= 38 else {"set": True, "infinite": False, "number": value}


def _job_of(intent: SubmitJob, version: int) -> tuple[dict[str, Any], list[str]]:
    spec = intent.spec
    nodes = spec.nodes or 1
    environment = {"PATH": os.environ.get("PATH", os.defpath), **spec.env}
    job: dict[str, Any] = {
        "name": spec.name or (spec.command[0].rpartition("/")[2] if spec.command else "sbatch"),
        "current_working_directory": spec.cwd or "/",
        "environment": environment if version <= 38 else [f"{name}={value}" for name, value in environment.items()],
        "comment": comment_of(intent.intent_id),
    }
    warnings = [] if spec.cwd else ["No working directory was named: the job starts in /."]
    plain = {"partition": spec.queue, "account": spec.account, "standard_output": spec.output,
             "standard_error": spec.error, "array": spec.array}  # fmt: skip
    job |= {name: value for name, value in plain.items() if value is not None}
    if spec.nodes is not None:
        job["nodes"] = [spec.nodes, spec.nodes] if version <= 38 else str(spec.nodes)
    if spec.cores is not None:
        job |= {"tasks": spec.cores} if nodes > 1 else {"cpus_per_task": spec.cores}
    if spec.memory_bytes is not None:
        job["memory_per_node"] = _number(values.mib(math.ceil(spec.memory_bytes / nodes)), version)
    if spec.walltime_seconds is not None:
        job["time_limit"] = _number(values.minutes(spec.walltime_seconds), version)
    if spec.gpus:
        job["tres_per_node"] = f"gres:gpu:{spec.gpus // nodes}" if version <= 38 else f"gres/gpu:{spec.gpus // nodes}"
    if spec.dependencies:
        job["dependency"] = dependency_list(spec.dependencies)
    if spec.hold:
        job["hold"] = True
    for name, value in spec.extensions.items():
        if name not in _SUBMIT:
            raise Invalid(f"slurmrestd's submission has no {name!r}.", f"There are {', '.join(_SUBMIT)}.")
        job[_SUBMIT[name]] = value
    return job, warnings


def _modification(changes: dict[str, Any], version: int) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for name, value in changes.items():
        if name == "name" and version <= 38:
            raise Invalid(f"slurmrestd v0.0.{version} accepts a new name and does not change it.", "Use scontrol.")
        if name == "walltime_seconds":
            body["time_limit"] = _number(values.minutes(int(value)), version)
        elif name == "priority":
            body["priority"] = _number(int(value), version)
        elif name in _MODIFY:
            body[_MODIFY[name]] = value
        else:
            raise Invalid(f"slurmrestd cannot change {name} of a job.", f"It can change {', '.join(_MODIFY)}.")
    return body


def _submitted(cluster: str, answer: Answer, error: AdapterError | None) -> Outcome:
    id = answer.body.get("job_id")
    if isinstance(id, int) and id > 0:
        said = [error.message] if error is not None else []
        return Outcome("accepted", None, " ".join([*said, *answer.warnings]), created=Ref(cluster, "job", str(id)))
    if error is not None:
        return Outcome("unknown" if error.code == "unknown" else "refused", None, error.message, error.code)
    return Outcome("unknown", None, "slurmrestd accepted the submission and named no job.", "unknown")
