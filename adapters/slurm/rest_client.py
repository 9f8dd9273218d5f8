"""slurmrestd, spoken to over TCP or a Unix socket with a JWT: versions, requests, and errors wherever they stand.

`errors`, `warnings` and `status` are read whatever the HTTP code: a failed cancel is HTTP 200 with the error inside
`status` (24.11 and later), a missing node 200 with `errors`. Names may hold bytes that are no UTF-8, so answers are
decoded before they are parsed. Sources: the recorded answers of v0.0.38 to v0.0.45.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from adapters import outgoing
from adapters.base import (
    AdapterError,
    ProtocolError,
    Unauthenticated,
    Unavailable,
    UnknownOutcome,
    Unreachable,
    Unsupported,
)
from adapters.command import Finished
from adapters.plan import HttpRequest
from adapters.polling import CallMeter
from adapters.slurm.errors import LOST, error_of
from adapters.text import clean

NEWEST, OLDEST = 45, 38
"""Versions of the interface that are tried, the newest first: 22.05 has 38, 24.11 has 42, 26.05 has 45."""
TOKEN = Callable[[], str | None]
ANSWER_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: HTTP code, parsed body (empty where it was none), the raw text."""

    code: int
    body: Mapping[str, Any]
    text: str

    @property
    def warnings(self) -> list[str]:
        found = self.body.get("warnings") or []
        return [clean(str(each.get("description", each)), 300) for each in found if isinstance(each, Mapping)]


class RestClient:
    """One slurmrestd. `user` goes with the token (`X-SLURM-USER-NAME`); a Unix socket needs neither.

    The version is found at the first request and kept.
    """

    def __init__(
        self,
        cluster: str,
        meter: CallMeter,
        *,
        url: str | None = None,
        socket: str | None = None,
        token: TOKEN = lambda: None,
        user: str | None = None,
        read_timeout: float = 30.0,
        write_timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.cluster = cluster
        self.meter = meter
        self._token = token
        self._user = user
        self._read_timeout = read_timeout
        self._write_timeout = write_timeout
        if socket is not None:
            transport = httpx.AsyncHTTPTransport(uds=socket)
        self._http = httpx.AsyncClient(base_url=url or "http://localhost", transport=transport, trust_env=False)
        self._version: int | None = None

    async def version(self) -> int:
        """The newest version both sides have. Raises Unsupported where there is none."""
        if self._version is None:
            for version in range(NEWEST, OLDEST - 1, -1):
                answer = await self._exchange("GET", f"/slurm/v0.0.{version}/ping", None, self._read_timeout)
                if answer.code != 404:
                    _raise_for(answer)
                    self._version = version
                    break
            else:
                raise Unsupported(
                    f"slurmrestd offers none of the versions v0.0.{OLDEST} to v0.0.{NEWEST}.",
                    "Use the commands of Slurm instead, or another slurmrestd.",
                )
        return self._version

    async def path(self, rest: str, *, database: bool = False) -> str:
        """The path of `rest` in the version that was found."""
        return f"/{'slurmdb' if database else 'slurm'}/v0.0.{await self.version()}{rest}"

    async def get(self, rest: str, *, database: bool = False, counted: bool = False) -> Mapping[str, Any]:
        """The body of a read that succeeds. Raises AdapterError for what the body or the code say instead."""
        path = await self.path(rest, database=database)
        if not counted:
            self.meter.record()
        answer = await self._exchange("GET", path, None, self._read_timeout)
        _raise_for(answer)
        if not answer.body:
            raise ProtocolError(f"slurmrestd answered {path} with HTTP {answer.code} and no JSON.")
        return answer.body

    async def send(self, request: HttpRequest) -> tuple[Answer | None, AdapterError | None]:
        """Send a write exactly as `request` holds it. An answer that does not come leaves its outcome unknown."""
        self.meter.record()
        outgoing.report(self.cluster, request)
        try:
            answer = await self._exchange(
                request.method, request.path, request.body, self._write_timeout, dict(request.headers)
            )
        except Unreachable as error:
            return None, error
        except AdapterError as error:
            return None, UnknownOutcome(error.message, "It may have been done; the target is read again.")
        try:
            _raise_for(answer)
        except AdapterError as error:
            lost = LOST.search(error.message) or (isinstance(error, ProtocolError) and answer.code >= 500)
            return answer, UnknownOutcome(error.message, "It may have been done.") if lost else error
        return answer, None

    async def _exchange(
        self, method: str, path: str, body: bytes | None, timeout: float, headers: Mapping[str, str] | None = None
    ) -> Answer:
        try:
            response = await self._http.request(
                method, path, content=body, headers={**self._credentials(), **(headers or {})}, timeout=timeout
            )
        except httpx.ConnectError as error:
            raise Unreachable(
                f"slurmrestd cannot be reached: {clean(str(error), 200)}.", "Nothing was sent."
            ) from error
        except httpx.TimeoutException as error:
            raise Unavailable(f"slurmrestd did not answer within {timeout:g} s.") from error
        except httpx.HTTPError as error:
            raise Unavailable(f"The connection to slurmrestd broke: {clean(str(error), 200)}.") from error
        return _parse(response)

    def _credentials(self) -> dict[str, str]:
        token = self._token()
        if token is None:
            return {}
        return {"X-SLURM-USER-TOKEN": token} | ({"X-SLURM-USER-NAME": self._user} if self._user else {})

    async def close(self) -> None:
        await self._http.aclose()


def _parse(response: httpx.Response) -> Answer:
    text = response.content.decode("utf-8", "replace")
    try:
        body = json.loads(text) if text.lstrip().startswith("{") else {}
    except ValueError as error:
        raise ProtocolError(f"The answer of slurmrestd is no JSON: {clean(str(error), 200)}.") from error
    return Answer(response.status_code, body, text)


def _problems(body: Mapping[str, Any]) -> list[str]:
    """Every error a body tells, in `errors` or in `status`."""
    found = []
    for entry in body.get("errors") or []:
        if isinstance(entry, Mapping):
            error, description = str(entry.get("error") or ""), str(entry.get("description") or "")
            # "No error" beside a description is how 26.05 says that a node does not exist.
            found.append(error if error and error != "No error" else description)
    for entry in body.get("status") or []:
        told = entry.get("error") if isinstance(entry, Mapping) else None
        if isinstance(told, Mapping) and told.get("code"):
            found.append(str(told.get("string") or told.get("message")))
    return [text for text in found if text]


def _raise_for(answer: Answer) -> None:
    problems = _problems(answer.body)
    if problems:
        said = "; ".join(problems)
        if "Failure to query node" in said:
            said = f"Invalid node name specified ({said})"
        if said == "Unspecified error" and answer.code >= 500:
            # How 22.05 answers to a token that it does not accept.
            raise Unauthenticated("slurmrestd said: Unspecified error.", "The token may be wrong or have run out.")
        raise error_of(Finished(("slurmrestd",), answer.code, b"", said.encode(), 0.0))
    if answer.code in (401, 403, 511):
        raise Unauthenticated(
            f"slurmrestd said: {clean(answer.text, 200).strip(chr(34))}.", "Get a new token with: scontrol token"
        )
    if answer.code in (404, 405):
        raise Unsupported(f"This slurmrestd cannot do that: {clean(answer.text, 200)}")
    if answer.code >= 400:
        raise ProtocolError(f"slurmrestd answered HTTP {answer.code}: {clean(answer.text, 200)}")
