"""Follows the event stream through restarts and cuts, and keeps what it adds up to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import httpx_sse


class Watcher:
    """A subscriber in a thread. `rows` is the newest row of each job; `gaps` lists numbers that did not follow."""

    def __init__(self, url: Callable[[], str], key: str) -> None:
        self._url, self._key = url, key
        self._stop = threading.Event()
        self.last = 0
        self.rows: dict[int, dict[str, Any]] = {}
        self.gaps: list[tuple[int, int]] = []
        self.resets = 0
        self.connections = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._follow()
            except (httpx.HTTPError, httpx_sse.SSEError):
                time.sleep(0.1)

    def _follow(self) -> None:
        headers = {"authorization": self._key, "last-event-id": str(self.last)}
        timeout = httpx.Timeout(10, read=5)
        with (
            httpx.Client(base_url=self._url(), timeout=timeout, trust_env=False) as http,
            httpx_sse.connect_sse(http, "GET", "/xce/v1/events", headers=headers) as source,
        ):
            self.connections += 1
            for event in source.iter_sse():
                if event.data:
                    self._take(event)
                if self._stop.is_set():
                    return

    def _take(self, event: httpx_sse.ServerSentEvent) -> None:
        if event.event == "reset":
            self.resets += 1
            self.last = int(event.id)
            return
        number = int(event.id)
        if number != self.last + 1:
            self.gaps.append((self.last, number))
        self.last = number
        if event.event == "job":
            row = json.loads(event.data)["object"]
            self.rows[row["jobid"]] = row
