"""One server a data folder, one worker a state folder: an advisory lock that ends with its process."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from adapters.local.problem import StartError


@contextlib.contextmanager
def hold(folder: Path, what: str) -> Iterator[None]:
    """Hold the folder for a `what` (server, worker). Raises StartError that names who holds it already."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = os.open(folder / f"{what}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StartError(f"cannot use the folder {folder}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(number, 32).decode("ascii", "replace").strip()
            raise StartError(f"another {what} (process {owner or '?'}) uses the folder {folder}") from None
        os.ftruncate(number, 0)
        os.write(number, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(number)
