"""What must be nought after the storm."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.chaos.chaos import Figures, Wish
    from tests.chaos.watcher import Watcher


def judge(
    figures: Figures, wishes: list[Wish], rows: list[dict[str, Any]], database: Path, folder: Path, watcher: Watcher
) -> None:
    """Fill in the figures."""
    by_number = {row["jobid"]: row for row in rows}
    figures.jobs = len(wishes)
    figures.elements = sum(wish.size for wish in wishes if wish.ends != "never")
    figures.events, figures.reconnections = watcher.last, watcher.connections
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        db.row_factory = sqlite3.Row
        runs = db.execute("SELECT * FROM runs").fetchall()
        cores = {row["id"]: row["cores"] for row in db.execute("SELECT id, cores FROM jobs")}
        times = {row["id"]: row for row in db.execute("SELECT id, started, ended FROM jobs")}
    db.close()
    figures.runs = len(runs)
    figures.lost_runs = sum(run["outcome"] == "lost" for run in runs)
    marks = _marks(folder / "marks")
    wrong = figures.wrong
    wrong["jobs lost"] = [wish.number for wish in wishes if not _as_wished(wish, by_number)]
    wrong["jobs submitted twice"] = _twice(row["jobname"] for row in rows if "arrayindex" not in row)
    wrong["runs of a job at the same time"] = [mark for mark in marks if mark[0] == "both"]
    finished = Counter(run["job"] for run in runs if run["outcome"] in ("done", "exit"))
    wrong["jobs that ended twice"] = [job for job, count in finished.items() if count > 1]
    wrong["work done twice and counted"] = _repeated(runs, marks)
    wrong["runs that are counted and did no work"] = _without_work(runs, marks)
    wrong["elements missing or doubled"] = _elements(wishes, rows)
    wrong["quota exceeded"] = _over_quota(runs, cores)
    wrong["dependencies not honoured"] = [
        wish.number for wish in wishes if wish.depends and not _honoured(wish, times)
    ]  # fmt: skip
    wrong["events lost or doubled"] = [*watcher.gaps, *["reset"] * watcher.resets]
    wrong["rows that events do not add up to"] = [
        number for number, row in by_number.items() if watcher.rows.get(number) != row
    ]  # fmt: skip
    wrong["audit does not verify"] = _audit(folder / "state") if any("quota" in s for s in figures.strikes) else []


def _as_wished(wish: Wish, rows: dict[int, dict[str, Any]]) -> bool:
    row = rows.get(wish.number)
    if row is None:
        return False
    if wish.ends == "never":
        assert wish.depends is not None
        says = ("Can never start: ", f"Waiting for job {wish.depends[0]} ")  # the latter where that one never ends
        return row["status"] == "PEND" and row["pendreason"].startswith(says)
    return bool(row["status"] == ("DONE" if wish.ends == "done" else "EXIT"))


def _twice(names: Any) -> list[Any]:
    return [name for name, count in Counter(names).items() if count > 1]


def _marks(path: Path) -> list[tuple[str, int, int]]:
    """(what, job, attempt) of each mark."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [(what, int(job), int(attempt)) for what, job, attempt in (line.split() for line in lines)]


def _repeated(runs: list[sqlite3.Row], marks: list[tuple[str, int, int]]) -> list[int]:
    """Jobs with more than one counted run that reached its end. (A run struck in the instant between its last line and
    its exit is not counted: it was lost, and its job is right to run again.)"""
    counted = {(run["job"], run["attempt"]) for run in runs if run["outcome"] in ("done", "exit")}
    ends = Counter(job for what, job, attempt in marks if what == "end" and (job, attempt) in counted)
    return [job for job, count in ends.items() if count > 1]


def _without_work(runs: list[sqlite3.Row], marks: list[tuple[str, int, int]]) -> list[Any]:
    ends = {(job, attempt) for what, job, attempt in marks if what == "end"}
    counted = {(run["job"], run["attempt"]) for run in runs if run["outcome"] in ("done", "exit")}
    return sorted(counted - ends)


def _elements(wishes: list[Wish], rows: list[dict[str, Any]]) -> list[int]:
    found: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        if "arrayindex" in row:
            found[row["arrayid"]].append(row["arrayindex"])
    arrays = [wish for wish in wishes if wish.size > 1]
    return [w.number for w in arrays
            if sorted(found[w.number]) != ([] if w.ends == "never" else list(range(1, w.size + 1)))]  # fmt: skip


def _over_quota(runs: list[sqlite3.Row], cores: dict[int, int]) -> list[tuple[str, int]]:
    """Nodes whose runs, by the server's own times, ever held more slots than quota and worker allow."""
    from tests.chaos.chaos import QUOTAS, SLOTS

    over = []
    for name, quota in QUOTAS.items():
        steps = [(run["started"], 1, cores[run["job"]]) for run in runs if run["node"] == name]
        steps += [(run["ended"], 0, -cores[run["job"]]) for run in runs if run["node"] == name and run["ended"]]
        used = most = 0
        for _, _, change in sorted(steps):
            used += change
            most = max(most, used)
        if most > min(SLOTS, SLOTS if quota is None else quota):
            over.append((name, most))
    return over


def _honoured(wish: Wish, times: dict[int, sqlite3.Row]) -> bool:
    """It started only after what it depends on had ended."""
    assert wish.depends is not None
    mine, other = times[wish.number], times[wish.depends[0]]
    if wish.ends == "never":
        return mine["started"] is None
    return bool(other["ended"] is not None and mine["started"] >= other["ended"] - 0.001)


def _audit(state: Path) -> list[str]:
    """What `pilothouse audit verify` complains of."""
    done = subprocess.run(
        [sys.executable, "-m", "console", "audit", "verify"], env=os.environ | {"PILOTHOUSE_STATE_DIR": str(state)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return [] if done.returncode == 0 else [done.stdout + done.stderr]
