"""One request to the server: who sent it, what it may, its body; and the envelope of the answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from adapters.local.access import Principal
from adapters.local.cluster import Cluster
from adapters.local.database import Tx
from adapters.local.problem import Problem


def envelope(data: Any, code: int = 200, msg: str = "ok", count: int | None = None) -> bytes:
    """``{"code", "msg", "data", "count"}``; count is how many there are in all, of which data may be a page."""
    if count is None:
        count = len(data) if isinstance(data, list) else int(data is not None)
    return dump({"code": code, "msg": msg, "data": data, "count": count})


def dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def json_response(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, "application/json")


def refusal(problem: Problem) -> Response:
    """Only errors set the HTTP status; the envelope is on both surfaces."""
    headers = {"retry-after": "1"} if problem.status in (429, 503) else None
    return json_response(envelope(None, problem.status, problem.message), problem.status, headers)


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has passed authentication and the permission of its route."""

    request: Request
    cluster: Cluster
    who: Principal

    async def body(self) -> dict[str, Any]:
        """The JSON object sent. Raises Problem 400 or 413."""
        return json_object(await read_body(self.request, self.cluster.settings.body_limit))

    def number(self, name: str) -> int:
        """A number in the path. Raises Problem 404."""
        text = str(self.request.path_params[name])
        if not (text.isascii() and text.isdecimal()) or len(text) > 18:
            raise Problem(404, f"there is no {name} {text[:64]!r}")
        return int(text)

    async def write(self, run: Callable[[Tx], tuple[Any, str]], code: int = 200) -> Response:
        """Do a write once, and answer with what it returns: (data, msg).

        With an ``Idempotency-Key`` the answer is stored in the same transaction; the same key again gets that answer
        and nothing is done. The key with another request is refused with 422.
        """
        key = self.request.headers.get("idempotency-key")
        raw = await read_body(self.request, self.cluster.settings.body_limit)
        if key is None:
            data, msg = await self.cluster.db.write(run)
            return json_response(envelope(data, code, msg))
        if not key.isascii() or len(key) > 128:
            raise Problem(422, "Idempotency-Key must be at most 128 ASCII characters")
        path = f"{self.request.method} {self.request.url.path}\n".encode()
        mark = hashlib.sha256(path + raw).hexdigest()
        body = await self.cluster.db.write(lambda tx: self._once(tx, key, mark, run, code))
        return json_response(body)

    async def write_secret(self, run: Callable[[Tx], Any], code: int = 200) -> Response:
        """Do a write whose answer holds a secret, which is kept nowhere: a repeated key is refused with 409."""
        key = self.request.headers.get("idempotency-key")

        def once(tx: Tx) -> Any:
            if key is not None:
                if tx.one("SELECT 1 FROM answers WHERE key = ? AND user = ?", key, self.who.name) is not None:
                    raise Problem(409, "this was done already, and the secret in its answer was shown once")
                tx.insert("answers", key=key, user=self.who.name, request="", status=code, body="", at=tx.now)
            return run(tx)

        return json_response(envelope(await self.cluster.db.write(once), code, "shown once"))

    def _once(self, tx: Tx, key: str, mark: str, run: Callable[[Tx], tuple[Any, str]], code: int) -> bytes:
        before = tx.one("SELECT request, body FROM answers WHERE key = ? AND user = ?", key, self.who.name)
        if before is not None:
            if before["request"] != mark:
                raise Problem(422, f"Idempotency-Key {key} was used for another request")
            return str(before["body"]).encode()
        data, msg = run(tx)
        body = envelope(data, code, msg)
        tx.insert("answers", key=key, user=self.who.name, request=mark, status=code, body=body.decode(), at=tx.now)
        return body


async def read_body(request: Request, limit: int) -> bytes:
    """The request's bytes, kept for a second reading. Raises Problem 413."""
    kept: bytes | None = getattr(request.state, "raw", None)
    if kept is not None:
        return kept
    pieces, size = [], 0
    try:
        async for piece in request.stream():
            size += len(piece)
            if size > limit:
                raise Problem(413, f"the request is larger than {limit} bytes")
            pieces.append(piece)
    except ClientDisconnect:
        raise Problem(400, "the request ended early") from None
    request.state.raw = b"".join(pieces)
    return b"".join(pieces)


def json_object(raw: bytes) -> dict[str, Any]:
    """Raises Problem 400."""
    try:
        value = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise Problem(400, "the body is not JSON") from None
    if not isinstance(value, dict):
        raise Problem(400, "the body must be a JSON object")
    return value


Handler: TypeAlias = Callable[[Call], Awaitable[Response]]
