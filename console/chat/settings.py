"""What a configuration may say about the chat's model: the table ``[chat]``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from console.profiles import FilePath, Section


class ChatSettings(Section):
    """Which model answers in the chat, and where it is. What is absent comes from the environment.

    Args:
        enabled: False keeps the chat to its own grammar, whatever else is set.
        base_url: of a Messages API (ANTHROPIC_BASE_URL, else Anthropic's own). Where the site sets it, it is fixed.
        model: its name (ANTHROPIC_MODEL).
        key_file, token_file: a file that only its owner can read (ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN).
        x_api_key: send the key as `x-api-key` and not as `Authorization: Bearer`, for old gateways.
        ca_file: certificates to trust in place of the system's.
        allow_plain_http: let the key and the conversation go over plain HTTP to another machine.
        max_tokens: the most tokens of one answer.
        context_tokens: the length of a conversation from which on it is shortened.
        timeout: seconds without a byte after which an answer counts as broken off.
        temperature: sent only where it is set; not every endpoint takes it.
        caching: whether prompts are marked for caching; by default for Anthropic's own endpoint alone.
        json_tools: also take a tool call that a model wrote as JSON text.
    """

    enabled: bool = True
    base_url: str | None = None
    model: str | None = Field(default=None, min_length=1, max_length=200, pattern=r"^[!-~]+$")
    key_file: FilePath | None = None
    token_file: FilePath | None = None
    x_api_key: bool = False
    ca_file: FilePath | None = None
    allow_plain_http: bool = False
    max_tokens: int = Field(default=4096, ge=64, le=200_000)
    context_tokens: int = Field(default=150_000, ge=4000, le=10_000_000)
    timeout: float = Field(default=120.0, ge=1, le=3600)
    temperature: float | None = Field(default=None, ge=0, le=2)
    caching: bool | None = None
    json_tools: bool = False

    @field_validator("base_url")
    @classmethod
    def _an_address(cls, url: str | None) -> str | None:
        return None if url is None else checked_address(url)

    @model_validator(mode="after")
    def _one_secret(self) -> ChatSettings:
        if self.key_file is not None and self.token_file is not None:
            raise ValueError("either key_file or token_file is expected, not both")
        return self

    @property
    def secret_file(self) -> Path | None:
        return self.key_file or self.token_file


def checked_address(url: str) -> str:
    """The address of an endpoint without a slash at its end. Raises ValueError that says what is expected."""
    try:
        parts = urlsplit(url)
        port_is_one = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError("an address such as https://models.example.org is expected") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_one:
        raise ValueError("an address such as https://models.example.org is expected")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("an address without user, query and fragment is expected: put the key into key_file")
    return url.rstrip("/")


def join_chat(site: ChatSettings, person: ChatSettings) -> ChatSettings:
    """The site's settings with the person's over them; of what limits, the stricter: an endpoint that the site names
    is the only one, plain HTTP is allowed where the site does not forbid it, and the smaller answer counts."""
    values: Mapping[str, Any] = {name: getattr(person, name) for name in person.model_fields_set}
    limits: dict[str, Any] = {"enabled": site.enabled and person.enabled}
    for mine, other in (("key_file", "token_file"), ("token_file", "key_file")):
        if getattr(person, mine) is not None:
            limits[other] = None
    if site.base_url is not None:
        limits["base_url"] = site.base_url
        if person.base_url not in (None, site.base_url):  # then the person's key is for another place
            limits |= {"key_file": site.key_file, "token_file": site.token_file}
    if "allow_plain_http" in site.model_fields_set:
        limits["allow_plain_http"] = site.allow_plain_http and person.allow_plain_http
    if "max_tokens" in site.model_fields_set:
        limits["max_tokens"] = min(site.max_tokens, person.max_tokens)
    return site.model_copy(update={**values, **limits})
