"""HTTP towards a native cluster: connections, time limits, credential, and what each way of failing means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx

from adapters import outgoing
from adapters.base import Invalid, ProtocolError, Unavailable, UnknownOutcome, Unreachable
from adapters.loopback import is_loopback
from adapters.native.answers import Answer, unwrap
from adapters.native.token import TokenSource
from adapters.plan import HttpRequest
from adapters.text import clean

LARGEST_ANSWER = 256 << 20
NOTHING_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
"""What httpx raises before a byte of the request has left."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. `write` bounds the wait for the answer to a write, `read` that for a piece of a read's answer."""

    connect: float = 5.0
    read: float = 20.0
    write: float = 15.0


def check_url(url: str, *, allow_insecure: bool = False) -> httpx.URL:
    """The base url of a cluster. Raises Invalid: a key goes over plain HTTP to this machine only, unless allowed."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise Invalid(f"{clean(str(url), 200)} is not a url: {error}.") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise Invalid(f"{clean(url, 200)} is not the url of a server.", "Write it as https://host:port")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise Invalid(f"The url of {parsed.host} holds a user, a query or a fragment.", "Keys belong in token_file.")
    if parsed.scheme == "http" and not allow_insecure and not is_loopback(parsed.host):
        raise Invalid(
            f"http://{parsed.host} would send your key readable over the network.",
            "Use https, an ssh tunnel to localhost, or allow_insecure = true where the network is trusted.",
        )
    return parsed


class Transport:
    """One cluster's connections.

    Args:
        keep_alive: whether connections are reused. A writer opens a new one for each request, because a write on a
            connection that the server has just closed would be of unknown outcome for no good reason.
    """

    def __init__(
        self,
        cluster: str,
        url: str,
        token: TokenSource,
        *,
        timeouts: Timeouts | None = None,
        allow_insecure: bool = False,
        keep_alive: bool = True,
        verify: bool | str = True,
    ) -> None:
        self.cluster = cluster
        self.base = check_url(url, allow_insecure=allow_insecure)
        self._prefix = self.base.path.rstrip("/")
        self._token = token
        self.timeouts = timeouts or Timeouts()
        self.client = httpx.AsyncClient(
            timeout=httpx.Timeout(self.timeouts.connect, read=self.timeouts.read),
            limits=httpx.Limits(max_connections=8, max_keepalive_connections=4 if keep_alive else 0),
            follow_redirects=False,
            # A proxy of the environment is for the network, never for this machine.
            trust_env=not is_loopback(self.base.host),
            verify=verify if isinstance(verify, bool) else _context(verify),
            headers={"User-Agent": "pilothouse"},
        )

    def path(self, path: str, query: Iterable[tuple[str, Any]] = ()) -> str:
        """What goes into the request line: the base url's path, `path` and the query, those of None left out."""
        encoded = urlencode([(name, str(value)) for name, value in query if value is not None])
        return f"{self._prefix}{path}" + (f"?{encoded}" if encoded else "")

    def url(self, path: str) -> httpx.URL:
        """The url for a request line made by `path`, byte for byte."""
        return self.base.copy_with(raw_path=path.encode("ascii"))

    def credential(self) -> Mapping[str, str]:
        """The header that says who we are. Raises Unauthenticated."""
        token = self._token()
        return {} if token is None else {"Authorization": token}

    async def get(
        self, path: str, query: Iterable[tuple[str, Any]] = (), *, what: str, envelope: bool = True
    ) -> Answer:
        """Read something. Raises the AdapterError that fits; `what` names the call in messages."""
        url = self.url(self.path(path, query))
        try:
            status, body = await self._fetch(url, what)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            # A kept connection may be closed by the server just as it is used again; a read may be repeated.
            status, body = await self._fetch_or_raise(url, what)
        return unwrap(status, body, what, envelope=envelope)

    async def _fetch_or_raise(self, url: httpx.URL, what: str) -> tuple[int, bytes]:
        try:
            return await self._fetch(url, what)
        except httpx.HTTPError as error:
            raise Unavailable(f"{what}: the connection broke: {_said(error)}.") from error

    async def _fetch(self, url: httpx.URL, what: str) -> tuple[int, bytes]:
        """Status and whole body of a GET. Raises AdapterError, or httpx's error for a connection that broke."""
        try:
            async with self.client.stream("GET", url, headers=self.credential()) as response:
                return response.status_code, await _body(response, what)
        except NOTHING_SENT as error:
            raise self.unreachable(error) from error
        except httpx.TimeoutException as error:
            raise Unavailable(
                f"{what}: {self.base.host} did not answer within {self.timeouts.read:.0f} s.",
                "It is asked again by itself where the pane is live.",
            ) from error
        except (httpx.DecodingError, httpx.TooManyRedirects) as error:
            raise ProtocolError(f"{what}: {_said(error)}") from error

    async def opens_stream(self, path: str) -> bool:
        """Whether a GET is answered by a stream of events; it is closed again at once. Raises Unreachable."""
        headers = {"Accept": "text/event-stream", **self.credential()}
        try:
            async with self.client.stream("GET", self.url(self.path(path)), headers=headers) as response:
                kind = response.headers.get("content-type", "")
                return response.status_code == 200 and kind.startswith("text/event-stream")
        except NOTHING_SENT as error:
            raise self.unreachable(error) from error
        except httpx.HTTPError:
            return False

    def unreachable(self, error: Exception) -> Unreachable:
        """No connection: nothing was sent."""
        where = f"{self.base.scheme}://{self.base.netloc.decode('ascii')}"
        why = _said(error)
        return Unreachable(f"{where} cannot be reached: {why}", "Is the server up, and the url of this cluster right?")

    async def send(self, request: HttpRequest, what: str) -> Answer:
        """Send a write exactly as it is, once. Raises Unreachable where nothing was sent, UnknownOutcome where no
        usable answer came or the server failed, else the server's refusal."""
        outgoing_request = self.client.build_request(
            request.method,
            self.url(request.path),
            headers=[*request.headers, *self.credential().items()],
            content=request.body,
            timeout=httpx.Timeout(self.timeouts.connect, read=self.timeouts.write),
        )
        outgoing.report(self.cluster, request)
        try:
            response = await self.client.send(outgoing_request, stream=True)
            try:
                status, body = response.status_code, await _body(response, what)
            finally:
                await response.aclose()
        except NOTHING_SENT as error:
            raise self.unreachable(error) from error
        except (httpx.HTTPError, httpx.StreamError, ProtocolError) as error:
            raise UnknownOutcome(f"{what}: {_lost(error)}", "Look at it before doing it again.") from error
        return _settled(status, body, what)

    async def close(self) -> None:
        await self.client.aclose()


def _settled(status: int, body: bytes, what: str) -> Answer:
    """The answer to a write; what says neither yes nor no is of unknown outcome."""
    try:
        return unwrap(status, body, what, envelope=False)
    except (Unavailable, ProtocolError) as error:
        if status == 429:
            raise
        raise UnknownOutcome(error.message, "Look at it before doing it again.") from error


def _said(error: Exception) -> str:
    """What a library says of a failure, without a full stop, so that it can stand within a sentence."""
    return clean(str(error) or type(error).__name__, 200).rstrip(".")


def _lost(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "no answer came in time; it may have been done or not."
    detail = _said(error)
    return f"the answer was lost ({detail}); it may have been done or not."


async def _body(response: httpx.Response, what: str) -> bytes:
    """The whole body, unless it is larger than anything that could be right."""
    pieces, size = [], 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > LARGEST_ANSWER:
            raise ProtocolError(f"{what}: the answer is larger than {LARGEST_ANSWER >> 20} MiB.")
        pieces.append(piece)
    return b"".join(pieces)


def _context(bundle: str) -> Any:
    """A TLS context that trusts the certificates of a file."""
    import ssl

    try:
        return ssl.create_default_context(cafile=bundle)
    except (OSError, ssl.SSLError) as error:
        raise Invalid(f"The certificates in {bundle} cannot be used: {error}.") from error
