"""The form of a line, and what ties it to the one before: SHA-256 over the line, HMAC-SHA-256 under the log's key.

A line is one JSON object in ASCII, so that no name can forge a second one. Its `prev` is the hash of the whole line
before it; its `mac` is over everything else in it. The head file says how many lines there are and the last hash.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

VERSION = 1
START = "0" * 64  # `prev` of the first line


def _canonical(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode()


def _mac(key: bytes, data: bytes) -> str:
    return hmac.new(key, data, hashlib.sha256).hexdigest()


def encode(record: Mapping[str, Any], key: bytes) -> bytes:
    """The line for a record that already has its seq and prev; ends in a newline."""
    rest = {name: value for name, value in record.items() if name != "mac"}
    return _canonical({**rest, "mac": _mac(key, b"line" + _canonical(rest))}) + b"\n"


def decode(line: bytes) -> dict[str, Any] | None:
    """The record of a line, or None where it is none of ours."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("seq"), int) else None


def line_hash(line: bytes) -> str:
    return hashlib.sha256(line.rstrip(b"\n")).hexdigest()


def mac_holds(record: Mapping[str, Any], key: bytes) -> bool:
    rest = {name: value for name, value in record.items() if name != "mac"}
    return hmac.compare_digest(str(record.get("mac", "")), _mac(key, b"line" + _canonical(rest)))


@dataclass(frozen=True, slots=True)
class Head:
    """How many lines the log has, and the hash of the last."""

    count: int = 0
    hash: str = START

    def encode(self, key: bytes) -> bytes:
        record = {"v": VERSION, "count": self.count, "hash": self.hash}
        return _canonical({**record, "mac": _mac(key, b"head" + _canonical(record))}) + b"\n"

    @staticmethod
    def decode(data: bytes, key: bytes | None) -> Head | None:
        """None where it is damaged, of another version, or (with a key) its MAC does not hold."""
        try:
            record = json.loads(data)
            head = Head(int(record["count"]), str(record["hash"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if record.get("v") != VERSION:
            return None
        return head if key is None or hmac.compare_digest(head.encode(key), data) else None
