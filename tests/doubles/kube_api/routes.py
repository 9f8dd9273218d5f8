"""From a request to its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from adapters.plan import HttpRequest
from tests.doubles.kube_api import checks, meta, patches, subresources, watching
from tests.doubles.kube_api.answers import (
    Refusal,
    already_exists,
    as_json,
    bad_request,
    details,
    not_found,
    wrong_uid,
)
from tests.doubles.kube_api.asked import Asked, authorize, is_mutation, parse
from tests.doubles.kube_api.kinds import Served
from tests.doubles.kube_api.rights import person_of
from tests.doubles.kube_api.selecting import check_version, matches, page
from tests.doubles.kube_api.server import Fault, KubeDouble
from tests.doubles.kube_api.store import Obj, stamp

ORPHANED = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


class Routes:
    """The one handler of the double."""

    def __init__(self, double: KubeDouble) -> None:
        self._double = double

    async def answer(self, request: Request) -> Response:
        body = await request.body()
        double = self._double
        raw = request.scope["raw_path"].decode() if request.scope.get("raw_path") else request.url.path
        target = raw + (f"?{request.url.query}" if request.url.query else "")
        headers = tuple((name.decode(), value.decode()) for name, value in request.headers.raw)
        seen = HttpRequest(request.method, target, headers, body or None)
        double.requests.append(seen)
        if is_mutation(seen):
            double.mutations.append(seen)
        fault = self._fault(request.method, target)
        if fault is not None and fault.code is not None and not fault.perform:
            return Response(fault.body, fault.code, fault.headers)
        try:
            response = await self._dispatch(request, raw, body)
        except Refusal as refusal:
            response = refusal.response()
        if fault is not None:
            await asyncio.sleep(fault.answer_after)
            if fault.silent:
                await asyncio.sleep(3600)
            if fault.code is not None:
                response = Response(fault.body, fault.code, fault.headers)
        if double.date is not None:
            response.headers["date"] = double.date
        return response

    def _fault(self, method: str, target: str) -> Fault | None:
        for fault in self._double.faults:
            if fault.times != 0 and fault.match(method, target):
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None

    async def _dispatch(self, request: Request, raw: str, body: bytes) -> Response:
        double = self._double
        person = person_of(request.headers.get("authorization"), double.revoked)
        parts = [part for part in raw.split("/") if part]
        query = dict(parse_qsl(request.url.query, keep_blank_values=True))
        early = meta.answer(double, person, request.method, parts, body, request.headers.get("accept", ""))
        if early is not None:
            return early
        media = request.headers.get("content-type", "").partition(";")[0]
        asked = parse(double, person, request.method, parts, query, body, media)
        authorize(asked)
        if asked.sub == "log":
            return subresources.log(self._double, self._held(asked), asked.query)
        if asked.sub == "eviction":
            return self._evict(asked)
        if asked.method == "GET":
            return self._read(asked)
        handlers = {"POST": self._create, "PATCH": self._patch, "DELETE": self._delete, "PUT": self._put}
        return handlers[asked.method](asked)

    def _held(self, asked: Asked) -> Obj:
        assert asked.name is not None
        found = self._double.store.get(asked.served, asked.namespace, asked.name)
        if found is None:
            raise not_found(asked.served, asked.name)
        return found

    def _shown(self, asked: Asked, obj: Obj) -> Obj:
        """An object in the version that was asked for."""
        group = asked.served.group
        return {**obj, "apiVersion": f"{group}/{asked.version}"} if asked.version != asked.served.version else obj

    def _read(self, asked: Asked) -> Response:
        double, query = self._double, asked.query
        if asked.name is not None:
            return as_json(self._shown(asked, self._held(asked)))
        if query.get("watch") in ("1", "true"):
            watching.check(double, query)
            return StreamingResponse(self._watched(asked), media_type="application/json")
        check_version(double.store, query)
        rows = [
            row
            for row in double.store.listed(asked.served, asked.namespace)
            if matches(asked.served, row[1], query.get("labelSelector", ""), query.get("fieldSelector", ""))
        ]
        if query.get("fieldSelector") and not rows:
            probe = {"metadata": {}, "kind": asked.served.kind}
            matches(asked.served, probe, "", query["fieldSelector"])
        items, metadata = page(double.store, asked.served, rows, query)
        listed = {
            "kind": f"{asked.served.kind}List",
            "apiVersion": f"{asked.served.group}/{asked.version}" if asked.served.group else asked.version,
            "metadata": metadata,
            "items": [_bare(asked.served, self._shown(asked, item)) for item in items],
        }
        older = asked.version != asked.served.version
        return as_json(
            listed, 200, warned([f"This version is deprecated. Use {asked.served.version} instead."] if older else [])
        )

    async def _watched(self, asked: Asked) -> AsyncIterator[bytes]:
        double = self._double
        link = double.link()
        try:
            async for part in watching.stream(double, asked.served, asked.namespace, asked.query, link):
                yield part
        finally:
            double.forget(link)

    def _evict(self, asked: Asked) -> Response:
        obj = self._held(asked)
        self._check_uid(asked, json.loads(asked.body or b"{}").get("deleteOptions") or {})
        subresources.check_budgets(self._double, obj)
        if not asked.dry:
            self._double.store.remove(asked.served, asked.namespace, asked.name or "")
        body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        return as_json(body, 201)

    def _create(self, asked: Asked) -> Response:
        double = self._double
        obj, warnings = checks.decode(asked.served, asked.body, asked.query.get("fieldValidation", "Ignore"))
        metadata = obj.setdefault("metadata", {})
        if "name" not in metadata and metadata.get("generateName"):
            metadata["name"] = f"{metadata['generateName']}x7k2p"
        if asked.namespace is not None:
            metadata["namespace"] = asked.namespace
        if double.store.get(asked.served, asked.namespace, metadata["name"]) is not None:
            raise already_exists(asked.served, metadata["name"])
        metadata.update(uid=double.store.uid(), creationTimestamp=stamp(), generation=1)
        warnings += self._admit(asked.served, obj)
        checks.check_new(asked.served, obj, double.store, asked.namespace)
        if not asked.dry:
            obj = double.store.put(asked.served, obj)
        answer = {"kind": asked.served.kind, "apiVersion": asked.served.api_version, **obj}
        return as_json(answer, 201, warned(warnings))

    def _admit(self, served: Served, obj: Obj) -> list[str]:
        """Admission policies of a test: each may warn (return a text) or refuse (raise)."""
        warnings: list[str] = []
        refusal: Refusal | None = None
        for policy in self._double.policies:
            try:
                if (said := policy(served, obj)) is not None:
                    warnings.append(said)
            except Refusal as refused:
                refusal = refused
        if refusal is not None:
            refusal.headers |= warned(warnings)
            raise refusal
        return warnings

    def _patch(self, asked: Asked) -> Response:
        old = self._held(asked)
        try:
            body = json.loads(asked.body)
        except ValueError:
            raise bad_request("the patch is no JSON") from None
        new = patches.apply(asked.media, body, old, builtin=asked.served.builtin)
        if asked.media == "application/json-patch+json":
            # The version within the object is not a precondition unless the patch sets it.
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        return self._store(asked, old, new)

    def _put(self, asked: Asked) -> Response:
        return self._store(asked, self._held(asked), json.loads(asked.body))

    def _store(self, asked: Asked, old: Obj, new: Obj) -> Response:
        double = self._double
        checks.check_changed(asked.served, old, new, mutable_resources=double.mutable_resources)
        self._admit(asked.served, new)
        if not asked.dry and new != old:
            generation = old["metadata"].get("generation")
            if generation is not None and new.get("spec") != old.get("spec"):
                new = deepcopy(new)
                new["metadata"]["generation"] = generation + 1
            new = double.store.put(asked.served, new)
        return as_json(self._shown(asked, new))

    def _check_uid(self, asked: Asked, options: dict[str, Any]) -> None:
        wanted = (options.get("preconditions") or {}).get("uid")
        held = self._held(asked)["metadata"]["uid"]
        if wanted is not None and wanted != held:
            raise wrong_uid(asked.served, asked.name or "", wanted, held)

    def _delete(self, asked: Asked) -> Response:
        if asked.name is None:
            raise bad_request("the double deletes single objects only")
        obj = deepcopy(self._held(asked))
        options = json.loads(asked.body) if asked.body else {}
        self._check_uid(asked, options)
        policy = options.get("propagationPolicy") or asked.query.get("propagationPolicy")
        waits = {"Foreground": "foregroundDeletion", None: "orphan"}.get(policy) if asked.served.kind == "Job" else None
        shown = asked.served.kind == "Pod" or waits is not None
        if shown:
            obj["metadata"].update(deletionTimestamp=stamp(), deletionGracePeriodSeconds=0)
        if waits is not None:
            obj["metadata"]["finalizers"] = [waits]
        if not asked.dry:
            self._carry_out(asked, obj, policy)
        if shown:
            return as_json(obj, 200, warned([ORPHANED] if waits == "orphan" else []))
        found = {**details(asked.served, asked.name), "uid": obj["metadata"]["uid"]}
        return as_json({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": found})

    def _carry_out(self, asked: Asked, obj: Obj, policy: str | None) -> None:
        """What the garbage collector makes of a deletion: without a policy the pods of a batch/v1 Job stay behind."""
        store = self._double.store
        if policy == "Foreground" and asked.served.kind == "Job":
            store.put(asked.served, obj)
            return
        store.remove(asked.served, asked.namespace, asked.name or "")
        if asked.served.kind == "Job" and policy == "Background":
            pods = self._double.served("pods")
            for _, pod in store.listed(pods, asked.namespace):
                owners = pod["metadata"].get("ownerReferences") or []
                if any(owner["uid"] == obj["metadata"]["uid"] for owner in owners):
                    store.remove(pods, asked.namespace, pod["metadata"]["name"])


def _bare(served: Served, obj: Obj) -> Obj:
    """Items of built-in lists come without kind and apiVersion, those of CRDs with them."""
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")} if served.builtin else obj


def warned(texts: list[str]) -> dict[str, str]:
    """The Warning header for the first of these texts."""
    if not texts:
        return {}
    quoted = texts[0].replace("\\", "\\\\").replace('"', '\\"')
    return {"warning": f'299 - "{quoted}"'}
