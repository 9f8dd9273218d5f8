"""`/xce/v1`: logon and logout, API keys, users, who asks, what this server has."""

from __future__ import annotations

import asyncio
from importlib import metadata
from typing import Any

from starlette.responses import Response

from adapters.local import access, tokens
from adapters.local.calls import Call, Handler, envelope, json_response
from adapters.local.database import Tx
from adapters.local.problem import Problem

PARTS = ("events", "modify", "quota", "history", "requeue", "keys", "logs", "queue_control", "tokens", "arrays",
         "dependencies", "idempotency")  # fmt: skip
SERVER = "embedded"
WIRE = 1


async def logon(call: Call) -> Response:
    """No permission is needed to ask; the password is checked off the loop, in the same time for unknown users."""
    body = await call.body()
    name, password = str(body.get("username", "")), str(body.get("password", ""))
    row = await call.cluster.db.read(lambda db: db.execute("SELECT * FROM users WHERE name = ?", (name,)).fetchone())
    stored = row["password"] if row is not None else None
    if not await asyncio.to_thread(tokens.password_matches, password, stored):
        raise Problem(401, "the user or the password is wrong")
    token = await call.cluster.db.write(lambda tx: call.cluster.access.new_session(tx, name, row["role"]))
    address = call.request.client.host if call.request.client else ""
    return json_response(envelope({"token": token, "path": "/", "ip": address}))


async def logout(call: Call) -> Response:
    """Ends a logon; a key is not ended by it."""
    if not call.who.key_id or len(call.who.key_id) != 32:
        raise Problem(422, "only a logon can be ended; a key is revoked")
    message = await call.cluster.db.write(lambda tx: access.revoke_key(tx, call.who.key_id))
    return json_response(envelope(None, msg=message.replace("key", "logon")))


async def create_key(call: Call) -> Response:
    """A key for a user, who is given the role too; shown once."""
    body = await call.body()
    return await call.write_secret(lambda tx: access.create_key(tx, body.get("username"), body.get("role_name")), 201)


async def list_keys(call: Call) -> Response:
    return json_response(envelope(await call.cluster.db.read(access.list_keys)))


async def revoke_key(call: Call) -> Response:
    key_id = str(call.request.path_params["key"])

    def write(tx: Tx) -> tuple[Any, str]:
        return None, access.revoke_key(tx, key_id)

    return await call.write(write)


async def set_user(call: Call) -> Response:
    body = await call.body()
    password = body.get("password")
    if password is not None and (not isinstance(password, str) or len(password) < 8):
        raise Problem(422, "a password has at least 8 characters")
    hashed = await asyncio.to_thread(tokens.hash_password, password) if password is not None else None

    def write(tx: Tx) -> str:
        return access.set_user(tx, body.get("username"), body.get("role_name"), hashed)

    return json_response(envelope(None, 201, await call.cluster.db.write(write)))


async def whoami(call: Call) -> Response:
    who = call.who
    data = {"user": who.name, "role": who.role, "permissions": sorted(who.permissions)}
    return json_response(envelope(data))


def installed_version() -> str:
    """The version of this distribution."""
    try:
        return metadata.version("pilothouse")
    except metadata.PackageNotFoundError:  # run from a checkout or as one file
        return "0"


async def version(call: Call) -> Response:
    return json_response(
        envelope({"server": SERVER, "version": installed_version(), "wire": WIRE, "parts": list(PARTS)})
    )


ROUTES: list[tuple[str, str, str, Handler]] = [
    ("POST", "/xce/v1/auth/logon", "", logon),
    ("POST", "/xce/v1/auth/logout", "job:view", logout),
    ("POST", "/xce/v1/apikeys", "rbac:control", create_key),
    ("GET", "/xce/v1/apikeys", "rbac:control", list_keys),
    ("DELETE", "/xce/v1/apikeys/{key}", "rbac:control", revoke_key),
    ("POST", "/xce/v1/users", "rbac:control", set_user),
    ("GET", "/xce/v1/whoami", "job:view", whoami),
    ("GET", "/xce/v1/version", "job:view", version),
]
