"""Tokens and passwords: made here, shown once, stored hashed."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from adapters.local.problem import StartError

API, NODE, JOIN = "xce_ak_", "xce_node_", "xce_join_"


def new_token(prefix: str) -> str:
    """A token of 256 random bits."""
    return prefix + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """What is stored of a token. Tokens are random, so that a plain hash cannot be guessed back."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def hash_password(password: str) -> str:
    """A password as it is stored: scrypt with a salt."""
    salt = os.urandom(16)
    return f"scrypt${salt.hex()}${_scrypt(password, salt).hex()}"


def password_matches(password: str, stored: str | None) -> bool:
    """Takes as long where there is no such user as where there is one."""
    _, salt, wanted = (stored or hash_password(new_token(""))).split("$")
    same = hmac.compare_digest(_scrypt(password, bytes.fromhex(salt)).hex(), wanted)
    return same and stored is not None


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "surrogateescape"), salt=salt, n=2**14, r=8, p=1)


def write_secret(path: Path, text: str) -> None:
    """Write a file that its owner alone can read, whole or not at all. Raises StartError."""
    partial = path.with_name(path.name + ".new")
    try:
        partial.unlink(missing_ok=True)
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise StartError(f"cannot write {path}: {error.strerror}") from None
