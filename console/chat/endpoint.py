"""Where the model of the chat is, and the SDK's client for it. The SDK is loaded in a thread, when it is first needed.

The SDK would take keys, addresses and profiles from the environment and from disk by itself; it is always given an
explicit key and address, so that a key only ever goes where `endpoint_for` says.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from adapters.base import AdapterError
from adapters.loopback import is_loopback
from adapters.native.token import TokenSource, checked, file_token, fixed_token
from adapters.text import clean
from console.chat.settings import ChatSettings, checked_address
from console.chat.trouble import NoConnection, NotSignedIn, Trouble
from console.config import Config

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

ANTHROPIC = "https://api.anthropic.com"
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
NO_KEY = "none"  # what a server on this machine that asks for no key is sent
CONNECT_WITHIN, SEND_WITHIN = 10.0, 30.0  # seconds


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model behind one Messages API.

    Args:
        key: gives the key anew for each turn; raises Unauthenticated.
        key_from: where the key comes from, in words; never the key.
    """

    base_url: str
    model: str
    settings: ChatSettings = field(default_factory=ChatSettings)
    key: TokenSource = field(default=fixed_token(None), repr=False)
    key_from: str = "none is sent"

    @property
    def host(self) -> str:
        """Name and port, for sentences."""
        return clean(_split(self.base_url).netloc.rpartition("@")[2] or self.base_url, 200)

    @property
    def caches(self) -> bool:
        """Whether prompts are marked for caching."""
        wanted = self.settings.caching
        return self.base_url == ANTHROPIC if wanted is None else wanted

    @asynccontextmanager
    async def client(self) -> AsyncIterator[AsyncAnthropic]:
        """A client for one turn. Raises Trouble where the endpoint must not be used or the key cannot be."""
        client = await asyncio.to_thread(self._open)
        try:
            yield client
        finally:
            await client.close()

    def _open(self) -> AsyncAnthropic:
        import ssl

        plain = self._check_address()
        _loaded()
        import anthropic
        import httpx2

        try:
            key = self.key() or NO_KEY
        except AdapterError as error:
            raise NotSignedIn(error.message, error.hint) from error
        settings = self.settings
        verify: Any = True
        if settings.ca_file is not None:
            try:
                verify = ssl.create_default_context(cafile=str(settings.ca_file))
            except OSError as error:  # ssl.SSLError is one
                raise Trouble(f"The certificates of {settings.ca_file} cannot be used: {error}.") from error
        http = anthropic.DefaultAsyncHttpxClient(
            # The key goes nowhere else, and over plain HTTP not to a proxy either.
            follow_redirects=False,
            trust_env=not plain,
            verify=verify,
            timeout=httpx2.Timeout(settings.timeout, connect=CONNECT_WITHIN, write=SEND_WITHIN, pool=CONNECT_WITHIN),
        )
        headers: dict[str, Any] = {"X-Api-Key": key, "Authorization": anthropic.Omit()} if settings.x_api_key else {}
        return anthropic.AsyncAnthropic(
            api_key=key, base_url=self.base_url, max_retries=0, http_client=http, default_headers=headers,
            timeout=http.timeout, open_telemetry=False,
        )  # fmt: skip

    def _check_address(self) -> bool:
        """Whether it is plain HTTP. Raises Trouble for what is no address, or plain HTTP where that is not allowed."""
        try:
            parts = urlsplit(checked_address(self.base_url))
        except ValueError as error:
            raise Trouble(f"{self.host} is no address of a model: {error}.", "Set ANTHROPIC_BASE_URL.") from None
        plain = parts.scheme == "http"
        if plain and not self.settings.allow_plain_http and not is_loopback(parts.hostname or ""):
            raise NoConnection(
                f"http://{self.host} would carry your key and the conversation readable over the network.",
                "Use https, a tunnel to localhost, or [chat] allow_plain_http = true where the network is trusted.",
            )
        return plain


@cache
def _loaded() -> None:
    """See that the SDK is loaded. The collector of garbage rests meanwhile, and leaves alone what was loaded: to look
    through it all holds up every thread for a tenth of a second, several times."""
    rested = gc.isenabled()
    gc.disable()
    try:
        _load()
        gc.freeze()
    finally:
        if rested:
            gc.enable()


def _load() -> None:
    """Load the SDK and have it build, for a request that nobody answers, what it builds with its first one: together a
    second or two of work, which the thread that paints the screen must not do."""
    import socket

    import anthropic
    import httpx2

    async def first(port: int) -> None:
        http = httpx2.AsyncClient(trust_env=False)
        client = anthropic.AsyncAnthropic(
            api_key=NO_KEY, base_url=f"http://127.0.0.1:{port}", max_retries=0, http_client=http, open_telemetry=False
        )
        call: Any = {"type": "tool_use", "id": "a", "name": "a", "input": {}}
        result: Any = {"type": "tool_result", "tool_use_id": "a", "content": "{}"}
        said: Any = [{"role": "user", "content": "a"}, {"role": "assistant", "content": [call]},
                     {"role": "user", "content": [result, {"type": "text", "text": "a"}]}]  # fmt: skip
        tool: Any = {"name": "a", "description": "a", "input_schema": {"type": "object"}}
        with suppress(anthropic.APIConnectionError):
            async with (
                client,
                client.messages.with_streaming_response.create(
                    model="a", max_tokens=1, system="a", messages=said, tools=[tool], stream=True
                ),
            ):
                pass

    with socket.socket() as deaf:  # a port that is taken and on which nobody listens
        deaf.bind(("127.0.0.1", 0))
        asyncio.run(first(deaf.getsockname()[1]))


def endpoint_for(config: Config, environ: Mapping[str, str], model: str | None = None) -> Endpoint | None:
    """The endpoint that the configuration and the environment name; None without a model or a key, or where the
    chat's model is turned off. `model` is used in place of the one that is set.

    A key of the environment belongs to the address of the environment: it is not sent to another one that the
    configuration names. A server on this machine may do without a key. What is wrong with an address, or with a file
    of a key, is told when the client is made.
    """
    chat = config.chat
    model = model or chat.model or environ.get("ANTHROPIC_MODEL", "").strip()
    if not chat.enabled or not model:
        return None
    theirs = environ.get("ANTHROPIC_BASE_URL", "").strip().rstrip("/")
    base_url = chat.base_url or theirs or ANTHROPIC
    if chat.secret_file is not None:
        return Endpoint(base_url, model, chat, file_token(chat.secret_file), f"the file {clean(str(chat.secret_file))}")
    for name in KEYS if theirs in ("", base_url) else ():
        if given := environ.get(name, "").strip():
            return Endpoint(
                base_url, model, chat, partial(checked, given, f"the variable {name}"), f"the variable {name}"
            )
    return Endpoint(base_url, model, chat) if is_loopback(_split(base_url).hostname or "") else None


def _split(url: str) -> SplitResult:
    """The parts of an address; of one that is none, nothing."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
