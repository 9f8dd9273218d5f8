"""The database of an embedded cluster: its tables, their version, and where it may lie."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from adapters.local.problem import StartError

VERSION = 1

# WAL needs shared memory between the processes that open the database, which network file systems do not give:
# https://www.sqlite.org/wal.html, "All processes using a database must be on the same host computer".
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "glusterfs", "fuse.glusterfs",
     "lustre", "gpfs", "beegfs", "beegfs_nodev", "pvfs2", "orangefs", "ncpfs", "coda", "virtiofs"}
)  # fmt: skip

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE users (name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT) WITHOUT ROWID;

CREATE TABLE keys (
    id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, prefix TEXT NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL,
    created REAL NOT NULL, last_used REAL, revoked REAL
) WITHOUT ROWID;

CREATE TABLE queues (
    name TEXT PRIMARY KEY, description TEXT NOT NULL DEFAULT '', priority INTEGER NOT NULL DEFAULT 30,
    open INTEGER NOT NULL DEFAULT 1, active INTEGER NOT NULL DEFAULT 1, reason TEXT,
    max_slots INTEGER, user_slots INTEGER, run_limit INTEGER, default_run_limit INTEGER,
    default_cores INTEGER NOT NULL DEFAULT 1, default_mem INTEGER, default_gpus INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE nodes (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, token_hash TEXT NOT NULL UNIQUE,
    enabled INTEGER NOT NULL DEFAULT 1, reason TEXT, instance TEXT, last_heartbeat REAL, up INTEGER NOT NULL DEFAULT 0,
    max_slots INTEGER NOT NULL DEFAULT 0, admin_max_slots INTEGER, version INTEGER NOT NULL DEFAULT 1,
    users TEXT, facts TEXT NOT NULL DEFAULT '{}', load TEXT NOT NULL DEFAULT '{}',
    mem INTEGER, gpus INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL, state TEXT NOT NULL, name TEXT NOT NULL, queue TEXT NOT NULL, project TEXT,
    command TEXT NOT NULL,
    resreq TEXT, description TEXT, submitted REAL NOT NULL, started REAL, ended REAL,
    cores INTEGER NOT NULL, gpus INTEGER NOT NULL, mem INTEGER, run_limit INTEGER, priority INTEGER NOT NULL DEFAULT 50,
    ready INTEGER NOT NULL DEFAULT 0, reason TEXT,
    node TEXT, lease TEXT, attempt INTEGER NOT NULL DEFAULT 0,
    order_seq INTEGER NOT NULL DEFAULT 0, order_verb TEXT, order_value TEXT, order_by TEXT,
    exit_code INTEGER, signal INTEGER, ended_by TEXT,
    output TEXT, error TEXT, env TEXT, cwd TEXT, idem_key TEXT,
    depends TEXT, waits INTEGER NOT NULL DEFAULT 0, never INTEGER NOT NULL DEFAULT 0,
    array_id INTEGER, array_index INTEGER, array_range TEXT, array_limit INTEGER, array_size INTEGER,
    array_left INTEGER, array_active INTEGER NOT NULL DEFAULT 0, array_done INTEGER NOT NULL DEFAULT 0,
    array_exit INTEGER NOT NULL DEFAULT 0,
    cpu REAL, max_mem INTEGER, limit_by TEXT, archived INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX jobs_ready ON jobs (queue, priority DESC, id, cores, mem, gpus, user) WHERE ready = 1;
CREATE INDEX jobs_listed ON jobs (id) WHERE archived = 0;
CREATE INDEX jobs_live ON jobs (queue, state, user, cores, array_left) WHERE ended IS NULL;
CREATE INDEX jobs_leased ON jobs (node, queue, user, cores, mem, gpus) WHERE lease IS NOT NULL;
CREATE INDEX jobs_lease ON jobs (lease) WHERE lease IS NOT NULL;
CREATE INDEX jobs_array ON jobs (array_id, array_index) WHERE array_id IS NOT NULL;
CREATE INDEX jobs_idem ON jobs (idem_key) WHERE idem_key IS NOT NULL;
CREATE INDEX jobs_ended ON jobs (ended) WHERE ended IS NOT NULL;

CREATE TABLE dependencies (
    job INTEGER NOT NULL, on_job INTEGER NOT NULL, kind TEXT NOT NULL, met INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, on_job, kind)
) WITHOUT ROWID;
CREATE INDEX dependencies_on ON dependencies (on_job);

CREATE TABLE runs (
    lease TEXT PRIMARY KEY, job INTEGER NOT NULL, attempt INTEGER NOT NULL, node TEXT NOT NULL, started REAL NOT NULL,
    ended REAL, outcome TEXT
) WITHOUT ROWID;
CREATE INDEX runs_job ON runs (job);

CREATE TABLE claims (node TEXT PRIMARY KEY, claim TEXT NOT NULL, leases TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE answers (
    key TEXT NOT NULL, user TEXT NOT NULL, request TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL,
    at REAL NOT NULL, PRIMARY KEY (key, user)
) WITHOUT ROWID;
CREATE INDEX answers_at ON answers (at);

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, kind TEXT NOT NULL, queue TEXT, owner TEXT,
    data TEXT NOT NULL
);
"""

# version -> what brings a database of that version to the next one
MIGRATIONS: Mapping[int, Callable[[sqlite3.Connection], None]] = {}


def file_system(path: Path, mounts: str | None = None) -> str:
    """The type of the file system that holds `path`, empty where the system does not tell (no /proc)."""
    if mounts is None:
        table = Path("/proc/self/mounts")
        if not table.exists():
            return ""
        mounts = table.read_text("utf-8", "surrogateescape")
    best, kind = "", ""
    real = str(path.resolve())
    for line in mounts.splitlines():
        parts = line.split(" ")
        point = parts[1].replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, parts[2]
    return kind


def prepare_folder(path: Path) -> None:
    """Make the data folder if it is not there and see that a database can live in it. Raises StartError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(f"cannot make the data folder {path}: {error.strerror}") from None
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise StartError(f"the data folder {path} cannot be read and written by this user")
    kind = file_system(path)
    if kind in NETWORK_FILE_SYSTEMS:
        raise StartError(f"the data folder {path} is on a network file system ({kind}): choose a local disk")


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """A connection in WAL mode, autocommit, rows by name."""
    mode = "ro" if readonly else "rwc"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False, timeout=10
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA busy_timeout = 10000")
    connection.execute("PRAGMA cache_size = -32000")
    connection.execute("PRAGMA temp_store = MEMORY")
    if not readonly:
        mode_now = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode_now != "wal":
            raise StartError(f"the database {path} cannot use write-ahead logging here (journal mode {mode_now})")
        connection.execute("PRAGMA synchronous = FULL")
    return connection


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the database to VERSION, each step in one transaction. Raises StartError for a newer or unknown one."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise StartError(
            f"the database {path} has version {version}, newer than this program knows ({VERSION}): use a newer one"
        )
    if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise StartError(f"{path} is a database, but none of an embedded cluster")
    while version < VERSION:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if version == 0:
                for statement in _TABLES.split(";"):
                    connection.execute(statement)
                version = VERSION
            else:
                MIGRATIONS[version](connection)
                version += 1
            connection.execute(f"PRAGMA user_version = {version}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def open_database(folder: Path) -> tuple[sqlite3.Connection, Path]:
    """The writer's connection to the database in `folder`, at this program's version. Raises StartError."""
    prepare_folder(folder)
    path = folder / "cluster.db"
    try:
        connection = connect(path)
        migrate(connection, path)
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    except sqlite3.Error as error:
        raise StartError(f"cannot open the database {path}: {error}") from None
    path.chmod(0o600)
    return connection, path
