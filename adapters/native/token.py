"""Where the credential of a native cluster comes from. It is read anew for each request, so that a renewed one counts,
and it is added when a request is sent, never kept in a plan."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from adapters.base import Unauthenticated

TokenSource: TypeAlias = Callable[[], str | None]
"""Returns the token, or None to send none. May raise Unauthenticated."""
LONGEST = 16384


def fixed_token(token: str | None) -> TokenSource:
    """A token that is already at hand."""
    return lambda: token


def environment_token(name: str) -> TokenSource:
    """The token in the environment variable `name`."""

    def read() -> str | None:
        token = os.environ.get(name, "").strip()
        if not token:
            raise Unauthenticated(f"The environment variable {name} holds no token.", f"export {name}=xce_ak_…")
        return checked(token, f"the environment variable {name}")

    return read


def file_token(path: Path) -> TokenSource:
    """The token in a file of one line that only its owner can read.

    The file is refused where others could read or replace it, with the command that mends it.
    """

    def read() -> str | None:
        try:
            # Opened first, then looked at: what is checked is what is read.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            hint = f"Put the key into it, then: chmod 600 {path}"
            raise Unauthenticated(f"There is no token file {path}.", hint) from None
        except OSError as error:
            raise Unauthenticated(f"The token file {path} cannot be read: {error.strerror}.") from None
        try:
            _check_owner_only(path, os.fstat(descriptor))
            text = os.read(descriptor, LONGEST + 1)
        finally:
            os.close(descriptor)
        token = text.decode("utf-8", "replace").strip()
        if not token:
            raise Unauthenticated(f"The token file {path} is empty.")
        return checked(token, f"the token file {path}")

    return read


def _check_owner_only(path: Path, found: os.stat_result) -> None:
    """Raises Unauthenticated for what is no plain file, or one that others could read or replace."""
    if not stat.S_ISREG(found.st_mode):
        raise Unauthenticated(f"The token file {path} is no regular file.")
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise Unauthenticated(
            f"The token file {path} is open to others (mode {mode:04o}), so its key is not used.",
            f"chmod 600 {path}",
        )
    if found.st_uid not in (os.geteuid(), 0):
        raise Unauthenticated(f"The token file {path} belongs to another user (uid {found.st_uid}).")


def checked(token: str, where: str) -> str:
    """The token if it can stand in a header. The message never shows it."""
    if len(token) > LONGEST or not token.isascii() or not token.isprintable() or " " in token:
        raise Unauthenticated(f"What {where} holds cannot be a token: one word of ASCII characters was expected.")
    return token
