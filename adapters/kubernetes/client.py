"""HTTP to the API server: credentials, TLS, proxies, typed errors, and one renewal of the credential after a 401.

A 403 never makes a plugin run again. Requests that change something go through `send`, which adds nothing but the
credential to what a plan's step holds; everything else reads.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from types import TracebackType
from urllib.parse import urlencode, urlsplit

import httpx

from adapters.base import AdapterError, Invalid, ProtocolError, Unauthenticated, Unavailable, Unreachable
from adapters.kubernetes.credentials import ConfigSource, Credential, Credentials, reread, ssl_context
from adapters.kubernetes.errors import error_of
from adapters.kubernetes.kubeconfig import ClusterConfig
from adapters.text import clean

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 60.0
"""Seconds; the server's own limit for a list is 60."""
WRITE_TIMEOUT = 35.0
"""Seconds; the server gives a write, webhooks included, 34 at most (its request timeout)."""
NOTICEABLE_SKEW = timedelta(seconds=30)
_JSON = ("accept", "application/json")


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def error(self) -> AdapterError:
        return error_of(self.status, self.headers, self.body)


class Api:
    """One cluster's API server. Opened lazily, so that building one reads nothing from the network."""

    def __init__(self, source: ConfigSource, *, write_timeout: float = WRITE_TIMEOUT) -> None:
        self._source = source
        self.config = source()
        self._credentials = Credentials(self.config)
        self._client: httpx.AsyncClient | None = None
        self._identity: object = None
        self._retired: list[httpx.AsyncClient] = []
        self._renewal = 0
        self._lock = asyncio.Lock()
        self._building = asyncio.Lock()
        self._write_timeout = write_timeout
        self._skew = timedelta()

    @property
    def prefix(self) -> str:
        """The path within the server's address that every request begins with (proxies such as Rancher have one)."""
        return urlsplit(self.config.server).path.rstrip("/")

    @property
    def skew(self) -> timedelta:
        """How far the server's clock is ahead of ours, from the Date of its last answer."""
        return self._skew

    def now(self) -> datetime:
        """The server's time."""
        return datetime.now(UTC) + self._skew

    async def get(self, path: str, params: Mapping[str, str] | None = None, *, accept: str = _JSON[1]) -> Answer:
        """Read `path` (without the server's prefix). Raises AdapterError, also for every error status."""
        answer = await self._call("GET", self.prefix + path, params, {"accept": accept}, None, READ_TIMEOUT)
        if not answer.ok:
            raise answer.error()
        return answer

    async def ask(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        """A request that changes nothing although it is no GET (an access review, a dry run); any status returns."""
        return await self._call(method, path, None, {"accept": _JSON[1], **headers}, body, READ_TIMEOUT)

    async def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        """A write, exactly as given but for the credential. Raises Unreachable where nothing was sent and Unavailable
        where no answer came."""
        return await self._call(method, path, None, headers, body, self._write_timeout)

    async def _call(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout: float,
    ) -> Answer:
        async with self._stream(method, path, params, headers, body, timeout) as response:
            try:
                read = await response.aread()
            except httpx.HTTPError as error:
                raise _no_answer(error) from error
            return Answer(
                response.status_code,
                {name.lower(): value for name, value in response.headers.items()},
                read,
                tuple(_warning(value) for value in response.headers.get_list("warning")),
            )

    @asynccontextmanager
    async def stream(self, path: str, params: Mapping[str, str], read_timeout: float) -> AsyncIterator[httpx.Response]:
        """A GET whose answer is read as it comes; `read_timeout` is the longest silence. Raises AdapterError."""
        async with self._stream(
            "GET", self.prefix + path, params, {"accept": _JSON[1]}, None, read_timeout
        ) as response:
            if response.status_code >= 300:
                try:
                    body = await response.aread()
                except httpx.HTTPError as error:
                    raise _no_answer(error) from error
                raise error_of(response.status_code, response.headers, body)
            yield response

    @asynccontextmanager
    async def _stream(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout: float,
    ) -> AsyncIterator[httpx.Response]:
        query = f"?{urlencode(params)}" if params else ""
        renewal = self._renewal
        response = await self._open(method, path + query, headers, body, timeout)
        if response.status_code == 401:
            # Renewed once for all requests that fail at the same moment. A 401 says that nothing was done.
            await response.aclose()
            await self._renew(renewal)
            response = await self._open(method, path + query, headers, body, timeout)
        try:
            if response.status_code == 401:
                raise await self._unauthenticated(response)
            self._note_time(response)
            yield response
        finally:
            await response.aclose()

    async def _open(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> httpx.Response:
        credential = await self._credentials.current()
        client = await self._client_for(credential)
        config = self.config
        carried = list(headers.items())
        if credential.authorization:
            carried.append(("authorization", credential.authorization))
        if config.impersonate:
            carried += [("impersonate-user", config.impersonate), *config.impersonate_more]
        parts = urlsplit(config.server)
        limits = httpx.Timeout(timeout, connect=min(timeout, CONNECT_TIMEOUT), pool=None)
        request = client.build_request(
            method, f"{parts.scheme}://{parts.netloc}{target}", headers=carried, content=body, timeout=limits
        )
        if config.tls_server_name:
            request.extensions["sni_hostname"] = config.tls_server_name
        try:
            return await client.send(request, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol) as error:
            raise _unreachable(error, config.server) from error
        except httpx.HTTPError as error:
            raise _no_answer(error) from error

    async def _client_for(self, credential: Credential) -> httpx.AsyncClient:
        """The client for this certificate; made in a thread, as loading the system's authorities takes its time."""
        async with self._building:
            identity = (self.config, credential.identity)
            if self._client is None or identity != self._identity:
                made = await asyncio.to_thread(_build_client, self.config, credential)
                # What the old one is still answering may go on; it is closed with the adapter.
                if self._client is not None:
                    self._retired.append(self._client)
                self._client, self._identity = made, identity
            return self._client

    async def _renew(self, renewal: int) -> None:
        async with self._lock:
            if renewal != self._renewal:
                return
            config = reread(self._source, self.config)
            if config != self.config:
                self.config = config
                self._credentials = Credentials(config)
            await self._credentials.current(refresh=True)
            self._renewal += 1

    async def _unauthenticated(self, response: httpx.Response) -> AdapterError:
        body = await response.aread()
        told = error_of(401, response.headers, body)
        return Unauthenticated(told.message, self._credentials.hint())

    def _note_time(self, response: httpx.Response) -> None:
        try:
            told = parsedate_to_datetime(response.headers.get("date", ""))
        except ValueError:
            return
        if told.tzinfo is None:
            return
        skew = told - datetime.now(UTC)
        # The header has whole seconds: less than a second or two is no skew.
        self._skew = skew if abs(skew) > timedelta(seconds=2) else timedelta()

    async def close(self) -> None:
        clients = [*self._retired, *([self._client] if self._client is not None else [])]
        self._client = None
        self._retired.clear()
        for client in clients:
            await client.aclose()

    async def __aenter__(self) -> Api:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _build_client(config: ClusterConfig, credential: Credential) -> httpx.AsyncClient:
    verify: ssl.SSLContext | bool = ssl_context(config, credential) if config.server.startswith("https") else False
    # A watch holds its connection for good, so there is no cap on connections.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=30)
    try:
        return httpx.AsyncClient(
            verify=verify, proxy=config.proxy_url, limits=limits, follow_redirects=False, trust_env=True
        )
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise Invalid(
            f"The proxy of the kubeconfig cannot be used: {clean(str(error), 300)}", "Correct proxy-url."
        ) from None


def _unreachable(error: httpx.HTTPError, server: str) -> Unreachable:
    said = clean(str(error) or type(error).__name__, 400)
    host = clean(urlsplit(server).netloc.rpartition("@")[2], 200)
    if "CERTIFICATE_VERIFY_FAILED" in said:
        hint = "The server's certificate is not signed by the authority of the kubeconfig, or is for another name."
    elif isinstance(error, httpx.ProxyError):
        hint = "Check proxy-url of the kubeconfig, and HTTPS_PROXY and NO_PROXY."
    else:
        hint = "Check the network or VPN and the server address of the kubeconfig."
    return Unreachable(f"No connection to {host}: {said}", hint)


def _no_answer(error: httpx.HTTPError) -> AdapterError:
    said = clean(str(error), 400) or type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        return Unavailable(f"The API server did not answer in time ({type(error).__name__}).", "It is tried again.")
    if isinstance(error, httpx.DecodingError):
        return ProtocolError(f"The answer could not be decoded: {said}")
    return Unavailable(f"The connection to the API server broke: {said}", "It is tried again.")


def _warning(value: str) -> str:
    """The text of a Warning header: ``299 - "text"`` (RFC 7234, 5.5)."""
    _, quote, rest = value.partition('"')
    text = rest.rpartition('"')[0] if quote else value
    return clean(text.replace('\\"', '"').replace("\\\\", "\\"), 500)
