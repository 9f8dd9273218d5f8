"""The files of the log: a folder of the owner's alone (0700), files of the owner's alone (0600), and a lock.

One log a host: homes are often on NFS, where two hosts cannot append to one file safely.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from console.audit.errors import AuditError


def state_folder() -> Path:
    """Where the console keeps what it must remember: PILOTHOUSE_STATE_DIR, else the platform's folder."""
    given = os.environ.get("PILOTHOUSE_STATE_DIR")
    return Path(given) if given else platformdirs.user_state_path("pilothouse", appauthor=False)


def host_name() -> str:
    return socket.gethostname() or "unknown"


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of one host's log."""

    log: Path
    head: Path
    key: Path
    lock: Path

    @property
    def folder(self) -> Path:
        return self.log.parent

    @staticmethod
    def of(folder: Path, host: str) -> Paths:
        name = re.sub(r"[^A-Za-z0-9.-]", "_", host)
        return Paths(
            folder / f"audit-{name}.jsonl",
            folder / f"audit-{name}.head",
            folder / f"audit-{name}.key",
            folder / f"audit-{name}.lock",
        )

    @staticmethod
    def beside(log: Path) -> Paths:
        """The files that belong to the log at `log`."""
        stem = log.with_suffix("")
        return Paths(log, Path(f"{stem}.head"), Path(f"{stem}.key"), Path(f"{stem}.lock"))


def describe(error: OSError) -> str:
    return error.strerror or str(error)


def prepare_folder(folder: Path) -> None:
    """Make the folder, or make sure that it is the owner's alone. Raises AuditError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = folder.lstat()
    except OSError as error:
        raise AuditError(f"{folder} cannot be used for the audit log: {describe(error)}.", _hint(folder)) from error
    if not stat.S_ISDIR(info.st_mode):
        raise AuditError(f"{folder} is no folder of its own (a link or a file).", _hint(folder))
    _owned(folder, info, "chmod 700")


def _hint(path: Path) -> str:
    return f"Free {path}, or set PILOTHOUSE_STATE_DIR to a folder of yours."


def _owned(path: Path, info: os.stat_result, fix: str) -> None:
    if info.st_uid != os.geteuid():
        raise AuditError(f"{path} belongs to another user.", _hint(path))
    if info.st_mode & 0o077:
        raise AuditError(f"{path} is open to others (mode {stat.S_IMODE(info.st_mode):04o}).", f"{fix} {path}")


def open_private(path: Path, flags: int) -> int:
    """A file descriptor of a 0600 file of ours, never through a link. Raises AuditError, FileNotFoundError."""
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise AuditError(f"{path} cannot be opened: {describe(error)}.", _hint(path)) from error
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise AuditError(f"{path} is no ordinary file.", _hint(path))
        _owned(path, info, "chmod 600")
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_private(path: Path) -> bytes:
    """The whole file. Raises AuditError, FileNotFoundError."""
    with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
        return file.read()


_IN_PROCESS = threading.Lock()  # where homes are on NFS, the file's lock is the process's, not the thread's


@contextmanager
def locked(paths: Paths, *, shared: bool = False) -> Iterator[None]:
    """Hold the log's lock, against other threads and processes. A reader may do without where nothing can be written.

    Raises AuditError.
    """
    with _IN_PROCESS, ExitStack() as held:
        try:
            fd = open_private(paths.lock, os.O_RDWR | os.O_CREAT)
        except (AuditError, FileNotFoundError) as error:
            if not shared:
                hint = error.hint if isinstance(error, AuditError) else _hint(paths.folder)
                raise AuditError(f"{paths.lock} cannot be used: {error}", hint) from error
        else:
            held.callback(os.close, fd)
            _lock(fd, paths, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


def _lock(fd: int, paths: Paths, how: int) -> None:
    try:
        fcntl.flock(fd, how)
    except OSError as error:
        raise AuditError(f"{paths.lock} cannot be locked: {describe(error)}.", _hint(paths.folder)) from error


def read_key(paths: Paths, *, create: bool) -> bytes:
    """The log's key; made once, before its first line. Raises AuditError where a log has lost its key."""
    try:
        text = read_private(paths.key).strip()
    except FileNotFoundError:
        if not create or (paths.log.exists() and paths.log.stat().st_size):
            told = f"the key of the audit log, {paths.key}, is not there."
            raise AuditError(told, f"Bring it back, or begin a new log: move {paths.log} elsewhere.") from None
        return _make_key(paths)
    if not re.fullmatch(rb"[0-9a-f]{64}", text):
        raise AuditError(f"{paths.key} holds no key.", "Bring the right file back.")
    return bytes.fromhex(text.decode())


def _make_key(paths: Paths) -> bytes:
    key = secrets.token_bytes(32)
    replace_private(paths.key, key.hex().encode() + b"\n")
    return key


def replace_private(path: Path, data: bytes) -> None:
    """Put `data` in place of the file, whole or not at all, and on disk. Raises AuditError."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.unlink(missing_ok=True)
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        fresh.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise AuditError(f"{path} cannot be written: {describe(error)}.", _hint(path.parent)) from error


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
