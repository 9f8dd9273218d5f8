"""The times and limits of an embedded cluster. Everything is in seconds, bytes or counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """How the server behaves.

    Args:
        heartbeat: seconds between a worker's heartbeats.
        down_after: a node not heard of for so long is shown as down.
        lease: its tasks are given out again after so long without a word; the worker ends them before.
        grace: seconds between SIGTERM and SIGKILL when a job is ended.
        refresh: seconds between two events that tell of changed counts of queues and hosts.
        review: seconds between two looks at why jobs wait.
        starved: a job that waits for so long and does not fit keeps a node free for itself.
        events_kept: events that a subscriber may still resume from.
        finished_kept: how long a finished job stays in the job list; then it is history only.
        history_kept: how long accounting records are kept.
        attempts: a job that lost its node so many times is given up.
        max_pending: jobs of one user that may wait; beyond that a submit is refused.
        body_limit: bytes of one request.
        requests_per_second: of one key, averaged; bursts of four times that are allowed.
        logons_per_second: attempts to log on from one address, averaged in the same way.
        keepalive: seconds between comment lines of an event stream.
    """

    heartbeat: float = 5.0
    down_after: float = 20.0
    lease: float = 60.0
    grace: float = 10.0
    refresh: float = 0.25
    review: float = 1.0
    starved: float = 300.0
    events_kept: int = 200_000
    finished_kept: float = 24 * 3600.0
    history_kept: float = 365 * 24 * 3600.0
    attempts: int = 16
    max_pending: int = 200_000
    body_limit: int = 4_000_000
    requests_per_second: float = 500.0
    logons_per_second: float = 2.0
    keepalive: float = 15.0
