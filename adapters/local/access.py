"""Who may do what: the roles of the native wire, API keys, logons and node tokens.

Route by route the server asks for one permission of this table, see `adapters.local.app`.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import jwt

from adapters.local import tokens, values
from adapters.local.database import Database, Tx
from adapters.local.problem import Problem
from adapters.local.values import iso

_VIEW = frozenset({"job:view", "queue:view", "host:view", "log:view", "metrics:view", "event:subscribe"})
_OPERATE = _VIEW | {"queue:submit", "job:control"}

# role -> permissions. `job:any` is the right over other people's jobs; without `own` in the role's name it goes
# without saying for what can only be looked at.
ROLES: dict[str, frozenset[str]] = {
    "mcp_readonly": _VIEW | {"job:any"},
    "mcp_operator": _OPERATE | {"job:any"},
    "user": _OPERATE,
    "cluster_admin": _OPERATE | {"job:any", "host:control", "rbac:control", "queue:control"},
    "node": frozenset({"node:register", "node:heartbeat", "task:claim", "task:report"}),
    "join": frozenset({"node:join"}),
}
PERSON_ROLES = ("mcp_readonly", "mcp_operator", "user", "cluster_admin")
SESSION_SECONDS = 12 * 3600


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks: a person's name and role, or a node."""

    name: str
    role: str
    key_id: str = ""
    node_id: int | None = None

    @property
    def permissions(self) -> frozenset[str]:
        return ROLES[self.role]

    def may(self, permission: str) -> bool:
        return permission in self.permissions

    @property
    def only_own(self) -> str | None:
        """The one user whose jobs may be seen and acted on, None where all may be."""
        return None if self.may("job:any") else self.name


def bare(header: str | None) -> str:
    """The token of an Authorization header, without ``Bearer``."""
    token = (header or "").strip()
    return token[7:].strip() if token[:7].lower() == "bearer " else token


class Access:
    """Turns tokens into principals; remembers them until a key, user or token changes."""

    def __init__(self, db: Database, session_secret: str) -> None:
        self._db = db
        self._secret = session_secret
        self._known: dict[str, Principal] = {}
        self.used: dict[str, float] = {}
        self.generation = 0

    def forget(self) -> None:
        """Who may do what has changed; long streams see by `generation` that they have to ask again."""
        self._known.clear()
        self.generation += 1

    async def principal(self, header: str | None, now: float) -> Principal:
        """Who sends `Authorization: header`: the token alone, or after ``Bearer``. Raises Problem 401."""
        token = bare(header)
        if not token:
            raise Problem(401, "no credentials: send an API key in the Authorization header")
        hashed = tokens.digest(token)
        if not token.startswith((tokens.API, tokens.NODE, tokens.JOIN)):
            self._check_session(token)
        found = self._known.get(hashed)
        if found is None:
            found = await self._db.read(lambda db: look_up(db, hashed))
            if found is None:
                raise Problem(401, "the key is not valid: unknown, revoked or re-issued")
            self._known[hashed] = found
        if found.key_id:
            self.used[found.key_id] = now
        return found

    def _check_session(self, token: str) -> None:
        try:
            jwt.decode(token, self._secret, algorithms=["HS256"])
        except jwt.ExpiredSignatureError:
            raise Problem(401, "the logon has expired: log on again") from None
        except jwt.InvalidTokenError:
            raise Problem(401, "the key is not valid: unknown, revoked or re-issued") from None

    def new_session(self, tx: Tx, name: str, role: str) -> str:
        """A token for somebody who has logged on; stored like a key, so that a logout can end it."""
        number = uuid4().hex
        claims = {"sub": name, "jti": number, "iat": int(tx.now), "exp": int(tx.now) + SESSION_SECONDS}
        token = jwt.encode(claims, self._secret, algorithm="HS256")
        _store(tx, number, token, "session", name, role)
        return token


def look_up(db: sqlite3.Connection, hashed: str) -> Principal | None:
    """Whose token has that hash."""
    key = db.execute("SELECT id, user, role FROM keys WHERE hash = ? AND revoked IS NULL", (hashed,)).fetchone()
    if key is not None:
        return Principal(key["user"], key["role"], key["id"])
    node = db.execute("SELECT id, name FROM nodes WHERE token_hash = ?", (hashed,)).fetchone()
    return Principal(node["name"], "node", node_id=node["id"]) if node is not None else None


def _store(tx: Tx, key_id: str, token: str, prefix: str, user: str, role: str) -> None:
    tx.insert("keys", id=key_id, hash=tokens.digest(token), prefix=prefix, user=user, role=role, created=tx.now)
    tx.effects.access = True


def create_key(tx: Tx, user: Any, role: Any) -> dict[str, Any]:
    """A key for a user, who is given the role as well. The key is in the answer and nowhere else."""
    name = values.line(user, "username", 255)
    if not name:
        raise Problem(422, "username must be a name")
    if role not in PERSON_ROLES:
        raise Problem(422, f"role_name is one of {', '.join(PERSON_ROLES)}, not {role!r}")
    tx.run("INSERT INTO users (name, role) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET role = ?2", name, role)
    token, key_id = tokens.new_token(tokens.API), uuid4().hex[:12]
    _store(tx, key_id, token, token[: len(tokens.API) + 6], name, role)
    return {"id": key_id, "key": token, "prefix": token[: len(tokens.API) + 6], "username": name, "role_name": role}


def create_join_token(tx: Tx) -> str:
    """The token with which new workers join."""
    token = tokens.new_token(tokens.JOIN)
    _store(tx, "join", token, "join", "join", "join")
    return token


def revoke_key(tx: Tx, key_id: str) -> str:
    """Make a key invalid. Raises Problem 404."""
    if not tx.run("UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", tx.now, key_id):
        raise Problem(404, f"there is no valid key {key_id}")
    tx.effects.access = True
    return f"key {key_id} is revoked"


def list_keys(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Keys that are valid, without the keys themselves."""
    rows = db.execute("SELECT * FROM keys WHERE revoked IS NULL AND prefix NOT IN ('session', 'join') ORDER BY created")
    return [
        {"id": r["id"], "prefix": r["prefix"], "owner": r["user"], "role": r["role"], "created": iso(r["created"]),
         "last_used": iso(r["last_used"])}
        for r in rows
    ]  # fmt: skip


def set_user(tx: Tx, name: Any, role: Any, password_hash: str | None) -> str:
    """Make or change a user who may log on. Raises Problem 422."""
    text = values.line(name, "username", 255)
    if not text or role not in PERSON_ROLES:
        raise Problem(422, f"a user needs a name and a role out of {', '.join(PERSON_ROLES)}")
    tx.run(
        "INSERT INTO users VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET role = ?2,"
        " password = coalesce(?3, password)",
        text, role, password_hash,
    )  # fmt: skip
    return f"user {text} has the role {role}"
