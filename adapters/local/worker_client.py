"""How a worker talks to the server: its token, its requests, what comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from adapters.local import tokens
from adapters.local.problem import StartError


class ServerAway(Exception):
    """No answer, or one that says to try again later."""


class Refused(Exception):
    """The server refused; the message is its own."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class WorkerClient:
    """Requests of one worker. The token comes from a file, read again whenever the server refuses it.

    The file holds the node's own token, or the cluster's join token; in that case the node's own, given by the
    server once, is kept in `saved`.
    """

    def __init__(self, url: str, token_file: Path, saved: Path) -> None:
        self.url = url.rstrip("/")
        self._token_file = token_file
        self._saved = saved
        self._http = httpx.AsyncClient(base_url=self.url, timeout=httpx.Timeout(10.0, read=40.0), trust_env=False)
        self.token = ""

    async def close(self) -> None:
        await self._http.aclose()

    def read_token(self) -> str:
        """The token in the file. Raises StartError for a file that is not there or that others can read."""
        try:
            mode = self._token_file.stat().st_mode
            text = self._token_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise StartError(f"cannot read the token file {self._token_file}: {error}") from None
        if mode & 0o077:
            raise StartError(f"others can read the token file {self._token_file}: chmod 600 {self._token_file}")
        if not text.startswith((tokens.NODE, tokens.JOIN)):
            raise StartError(f"the token file {self._token_file} holds neither a node's token nor a join token")
        return text

    async def sign_in(self, name: str, max_slots: int) -> None:
        """Find or get the node's own token. Raises StartError, Refused or ServerAway."""
        given = self.read_token()
        if given.startswith(tokens.NODE):
            self.token = given
            return
        if self._saved.exists():
            self.token = self._saved.read_text("utf-8").strip()
            return
        self.token = given
        answer = await self.post("/api/node/join", {"name": name, "max_slots": max_slots})
        tokens.write_secret(self._saved, answer["token"])
        self.token = answer["token"]

    async def post(self, path: str, body: dict[str, Any], timeout: float | None = None) -> dict[str, Any]:
        """The answer's JSON. Raises Refused (4xx) or ServerAway (anything else)."""
        limit: Any = httpx.USE_CLIENT_DEFAULT if timeout is None else timeout
        try:
            answer = await self._http.post(path, json=body, headers={"authorization": self.token}, timeout=limit)
        except httpx.HTTPError as error:
            raise ServerAway(f"{self.url} does not answer ({type(error).__name__})") from None
        if answer.status_code >= 500 or answer.status_code == 429:
            raise ServerAway(f"{self.url} answers with {answer.status_code}")
        try:
            value = answer.json()
        except ValueError:
            raise ServerAway(f"{self.url} answers with no JSON") from None
        if answer.status_code != 200:
            raise Refused(answer.status_code, str(value.get("msg", answer.status_code)))
        if not isinstance(value, dict):
            raise ServerAway(f"{self.url} answers with {type(value).__name__}")
        return value
