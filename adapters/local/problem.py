"""What the embedded cluster answers when it refuses: an HTTP status and a sentence that names the thing."""

from __future__ import annotations


class Problem(Exception):
    """A refusal of the server, shown to the client in its own words.

    Args:
        status: HTTP status (400 malformed, 401 who, 403 may not, 404 not there, 409 state, 412 precondition,
            413 too large, 422 value, 429 too many, 503 cannot now).
        message: one sentence.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class StartError(Exception):
    """The server or a worker cannot start; the message is one line for a person."""
