"""What a pane is told about where its rows come from. Plain values: a pane knows no store and no adapter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from widgets.columns import Role
from widgets.format import age, coarse, duration, span

Label: TypeAlias = Literal["never loaded", "connecting", "live", "polling", "stale", "failed"]


@dataclass(frozen=True, slots=True)
class FeedFact:
    """How one cluster's feed stands for one kind of rows.

    Args:
        loaded: rows have come at least once.
        at: time of the newest data.
        interval: seconds between polls.
        error: why it failed, in one clean sentence.
        hint: what a person can do.
        note: one clean sentence, such as which part of the rows one may see.
    """

    cluster: str
    label: Label
    loaded: bool
    at: datetime | None = None
    interval: float | None = None
    error: str = ""
    hint: str = ""
    note: str = ""

    def text(self, now: datetime) -> str:
        """``live``, ``polling 30s, 4s ago``, ``stale, 3m old``, ``failed, data 2m old``, ``never loaded``."""
        seconds = span(self.at, now)
        old = coarse(seconds)
        if self.label == "live":
            return "live"
        if self.label == "polling":
            ago = f", {old} ago" if seconds is not None and seconds >= 5 else ""
            return f"polling {duration(self.interval)}{ago}"
        if not self.loaded:
            return self.label if self.label in ("failed", "connecting") else "never loaded"
        return f"{'connecting' if self.label == 'connecting' else self.label}, {old} old"

    @property
    def role(self) -> Role:
        if self.label in ("live", "polling"):
            return "ok"
        return "bad" if self.label == "failed" else "warn"


@dataclass(frozen=True, slots=True)
class PaneFacts:
    """Everything a pane says about itself besides its rows.

    Args:
        total: rows there are before the filter.
        filter: the filter as typed; empty where there is none.
        feeds: one for each cluster shown.
        paused: painting is paused by the person.
    """

    total: int
    feeds: tuple[FeedFact, ...]
    filter: str = ""
    paused: bool = False


def summary(feeds: Sequence[FeedFact], now: datetime) -> tuple[str, Role]:
    """The state of the feeds in a few words: the worst one speaks, and names its cluster where there are several."""
    if not feeds:
        return "no cluster", "warn"
    rank = {"failed": 0, "stale": 1, "never loaded": 2, "connecting": 3, "polling": 4, "live": 5}
    worst = min(feeds, key=lambda fact: (rank[fact.label], fact.cluster))
    text = worst.text(now)
    if len(feeds) > 1 and worst.role != "ok":
        text = f"{worst.cluster}: {text}"
    return text, worst.role


def why_empty(noun: str, facts: PaneFacts, now: datetime) -> list[str]:
    """The reason why a pane has no rows, in one to a few lines."""
    if facts.total:
        return [f"The filter hides all {facts.total} {noun}: {facts.filter}", "Esc clears it."]
    if not facts.feeds:
        return ["No cluster is set up.", "Add one to the configuration, or run `pilothouse demo`."]
    lines: list[str] = []
    for fact in facts.feeds:
        lines.extend(_why_feed_empty(noun, fact, now))
    return lines


def _why_feed_empty(noun: str, fact: FeedFact, now: datetime) -> list[str]:
    if fact.label == "failed":
        data = f"; the data is {age(fact.at, now)} old and held no {noun}" if fact.loaded else "; never loaded"
        return [f"{fact.cluster}: {fact.error or 'the feed failed'}{data}.", *([f"  {fact.hint}"] if fact.hint else [])]
    if not fact.loaded:
        waiting = "connecting" if fact.label == "connecting" else "waiting for the first answer"
        return [f"{fact.cluster}: never loaded, {waiting}." + (f" {fact.note}" if fact.note else "")]
    old = "" if fact.label == "live" else f" as of {age(fact.at, now)} ago"
    return [f"{fact.cluster}: answered, and there are no {noun}{old}." + (f" {fact.note}" if fact.note else "")]
