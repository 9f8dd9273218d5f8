"""What can go wrong between us and a model's endpoint, as errors that are ready to be shown.

Measured with anthropic 2.14: a cut connection comes as a raw ``httpx2`` error, an error within a stream as an
APIStatusError with status 200, and `retry-after` is honoured by nobody but us, because the SDK's own retries are off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, ClassVar

from adapters.base import AdapterError
from adapters.text import clean

if TYPE_CHECKING:
    from anthropic import APIStatusError

_TOO_LONG = re.compile(
    r"(?i)prompt is too long|too many (?:input )?tokens|context[ _](?:length|size|window)|maximum context|"
    r"exceeds?.{0,40}context|input.{0,20}too long"
)
_BUSY_TYPES = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})
LONGEST_WORDS = 400


class Trouble(AdapterError):
    """A request to the model's endpoint that came to nothing. Whatever had streamed before it is void.

    Args:
        retry: the same request may well succeed a little later.
        after: seconds the endpoint asked us to wait.
    """

    title: ClassVar[str] = "The model's endpoint refused"
    code: ClassVar[str] = "model"

    def __init__(self, message: str, hint: str = "", *, retry: bool = False, after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry = retry
        self.after = after


class NoConnection(Trouble):
    title: ClassVar[str] = "Cannot reach the model"
    code: ClassVar[str] = "unreachable"


class NotSignedIn(Trouble):
    title: ClassVar[str] = "Not signed in to the model's endpoint"
    code: ClassVar[str] = "unauthenticated"


class Busy(Trouble):
    title: ClassVar[str] = "The model's endpoint is busy"
    code: ClassVar[str] = "unavailable"


class BrokenOff(Trouble):
    """The answer did not end properly: nothing of it counts."""

    title: ClassVar[str] = "The answer broke off"
    code: ClassVar[str] = "protocol"


class NoMessagesApi(Trouble):
    title: ClassVar[str] = "Not a Messages API"
    code: ClassVar[str] = "protocol"


class TooLong(Trouble):
    """The conversation is longer than the model or the endpoint takes."""

    title: ClassVar[str] = "The conversation is too long for the model"
    code: ClassVar[str] = "too_long"


def trouble_of(error: Exception, host: str) -> Trouble | None:
    """What an exception of the SDK or of its transport means; None for one that neither of them raises."""
    if isinstance(error, Trouble):
        return error
    import anthropic
    import httpx2

    if isinstance(error, anthropic.APIStatusError):
        return _of_status(error, host)
    if isinstance(error, anthropic.APITimeoutError | httpx2.ConnectTimeout):
        return NoConnection(f"{host} did not answer in time.", "It is tried again.", retry=True)
    if isinstance(error, anthropic.APIConnectionError | httpx2.ConnectError | httpx2.UnsupportedProtocol):
        cause = error.__cause__ or error
        told = f"{host} cannot be reached: {clean(str(cause) or type(cause).__name__, 200)}."
        return NoConnection(told, "Check [chat] base_url, or the server there.", retry=True)
    if isinstance(error, httpx2.TimeoutException):
        told = f"{host} fell silent in the middle of its answer."
        return BrokenOff(told, "[chat] timeout says after how many seconds.", retry=True)
    if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL | httpx2.StreamError):
        told = clean(str(error) or type(error).__name__, 200)
        return BrokenOff(f"The connection to {host} was cut in the middle of the answer ({told}).", retry=True)
    if isinstance(error, anthropic.AnthropicError):
        return NotSignedIn(clean(str(error), LONGEST_WORDS), "Set [chat] key_file, or ANTHROPIC_API_KEY.")
    if isinstance(error, AssertionError):  # the SDK's own, for an answer that holds no message at all
        return no_messages_api(host)
    return None


def no_messages_api(host: str, told: str = "") -> NoMessagesApi:
    said = f"What {host} answered is no stream of a Messages API{': ' + clean(told, 200) if told else ''}."
    return NoMessagesApi(said, "Check [chat] base_url (without /v1), and whether a proxy stands between.")


def _of_status(error: APIStatusError, host: str) -> Trouble:
    status, kind = error.status_code, str(error.type)
    words = clean(error.api_message or _first_words(error.body) or f"status {status}", LONGEST_WORDS)
    told = f"{host} says: {words}"
    if status == 413 or kind == "request_too_large" or (status in (400, 422) and _TOO_LONG.search(words)):
        return TooLong(told, "`/compact` shortens the conversation; a new one begins with `/new`.")
    if 300 <= status < 400:
        where = clean(error.response.headers.get("location", "elsewhere"), 200)
        told = f"{host} sends us on to {where}; the key is not taken there."
        return Trouble(told, "Set [chat] base_url to the address that answers itself.")
    if status in (401, 403) or kind in ("authentication_error", "permission_error"):
        return NotSignedIn(told, "Check the key: [chat] key_file or token_file, or ANTHROPIC_API_KEY.")
    if status == 404 or kind == "not_found_error":
        return Trouble(told, "Check [chat] model, and base_url (without /v1); `pilothouse doctor llm` tries them.")
    again = error.response.headers.get("x-should-retry")
    busy = status in (408, 409, 429) or status >= 500 or (status == 200 and kind in _BUSY_TYPES)
    if again == "false" or not (busy or again == "true"):
        return Trouble(told, "`pilothouse doctor llm` tries what the endpoint can do.")
    after = asked_to_wait(error.response.headers, datetime.now(UTC))
    return Busy(told, "It is asked again by itself.", retry=True, after=after)


def _first_words(body: object) -> str:
    """Of an error that is no JSON: a proxy's page, for one."""
    text = re.sub(r"<[^>]*>", " ", body) if isinstance(body, str) else ""
    return " ".join(text.split())[:200]


def asked_to_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds of ``retry-after-ms`` or ``retry-after`` (a number or a date); None where there is nothing to read."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        given = headers.get(name, "").strip()
        if not given:
            continue
        try:
            seconds = float(given) / unit
        except ValueError:
            try:
                seconds = (parsedate_to_datetime(given) - now).total_seconds()
            except (ValueError, TypeError):
                continue
        if seconds == seconds and seconds >= 0:
            return seconds
    return None
