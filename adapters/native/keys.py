"""API keys of a native cluster, as a list. Their secrets are never on the wire again."""

from __future__ import annotations

from adapters.keys import ApiKey
from adapters.native.answers import RawRow
from adapters.native.rows import text
from adapters.native.wire import moment


def key(row: RawRow) -> ApiKey:
    """One row of ``GET /xce/v1/apikeys``."""
    return ApiKey(
        id=text(row.get("id"), 64) or "-",
        prefix=text(row.get("prefix"), 64),
        owner=text(row.get("owner") or row.get("username"), 256),
        role=text(row.get("role") or row.get("role_name"), 64),
        created=moment(row.get("created")),
        last_used=moment(row.get("last_used")),
    )
