"""The totals of a cluster, kept up to date change by change."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from adapters.model import JOB_STATUSES, Delta, Job
from console.screens.overview import Overview
from console.store import Store

NOW = datetime(2026, 3, 1, tzinfo=UTC)
changes = st.lists(
    st.tuples(st.sampled_from(("put", "remove", "mark", "look")), st.integers(0, 6), st.sampled_from(JOB_STATUSES))
)


@given(st.lists(st.sampled_from(JOB_STATUSES), max_size=5), changes)
def test_counts_equal_a_fresh_count(first: list[str], then: list[tuple[str, int, str]]) -> None:
    store = Store(lambda: NOW)
    store.apply("demo", Delta(reset=frozenset({"job"})))
    for number, status in enumerate(first):
        store.apply("demo", Delta((Job(str(number), status=status, cluster="demo"),)))  # type: ignore[arg-type]
    overview = Overview(store, ["demo"])
    for word, number, status in then:
        job = Job(str(number), status=status, cluster="demo")  # type: ignore[arg-type]
        if word == "put":
            store.apply("demo", Delta((job,)))
        elif word == "remove":
            store.apply("demo", Delta(removals=(job.ref,)))
        elif word == "mark":
            store.mark(job.ref, "cancel sent")
        else:
            overview.lines(NOW)
    (line,) = overview.lines(NOW)
    counts = Counter(job.status for job in store.rows("job") if isinstance(job, Job))
    told = {name: number for name, number, _ in line.counts}
    assert (told["run"], told["pend"], told["fail"]) == (counts["running"], counts["pending"], counts["failed"])


def test_nothing_is_counted_as_none_before_it_was_read() -> None:
    store = Store(lambda: NOW)
    overview = Overview(store, ["demo"])
    assert [count for _, count, _ in overview.lines(NOW)[0].counts] == [None] * 5
    store.apply("demo", Delta((Job("1", status="pending", cluster="demo"),), reset=frozenset({"job"}), more=True))
    assert [count for _, count, _ in overview.lines(NOW)[0].counts] == [None, 1, None, None, None]
    store.apply("demo", Delta(snapshot=True))
    assert [count for _, count, _ in overview.lines(NOW)[0].counts] == [0, 1, 0, None, None]
