"""Jobs that are watched."""

from __future__ import annotations

from adapters.model import Delta, Job
from console.notices import Watched
from console.store import Store


def _put(store: Store, job: Job) -> None:
    store.apply("a", Delta((job,)))


def test_a_watched_job_tells_each_state_once_and_ends_with_it() -> None:
    store = Store()
    job = Job("7", "train", "pending", cluster="a")
    other = Job("8", "x", "pending", cluster="a")
    _put(store, job)
    _put(store, other)
    watched = Watched(store)
    assert watched.toggle([job.ref])
    assert watched.news() == []
    _put(store, job._replace(status="running"))
    _put(store, other._replace(status="failed"))
    assert [n.text for n in watched.news()] == ["Job 7 train was pending and is running."]
    assert watched.news() == []
    _put(store, job._replace(status="running", cores=3))
    assert watched.news() == []
    _put(store, job._replace(status="failed", exit_code=2))
    (notice,) = watched.news()
    assert notice.failed and notice.text.endswith("is failed, exit 2.")
    assert watched.refs == frozenset()


def test_a_job_that_goes_is_told_and_watching_can_end() -> None:
    store = Store()
    job = Job("7", "", "running", cluster="a")
    _put(store, job)
    watched = Watched(store)
    watched.toggle([job.ref])
    assert not watched.toggle([job.ref])
    watched.toggle([job.ref])
    store.apply("a", Delta(removals=(job.ref,)))
    assert [n.text for n in watched.news()] == ["Job 7 was running and is gone."]
