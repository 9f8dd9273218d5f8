"""Jobs that are watched."""

from __future__ import annotations

from adapters.model import Delta, Job
from console.notices import Watched
from console.profiles import Notices
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


def test_own_jobs_are_told_as_the_settings_say_and_a_new_one_is_no_news() -> None:
    store = Store()
    mine = Job("7", "train", "running", owner="me", cluster="a")
    theirs = Job("8", "x", "running", owner="you", cluster="a")
    for setting, said in (("none", []), ("failed", ["7"]), ("ended", ["7", "9"]), ("all", ["7", "9", "10"])):
        watched = Watched(store, Notices.model_validate({"own_jobs": setting}), lambda job: job.owner == "me")
        for job in (mine, theirs, mine._replace(id="9"), mine._replace(id="10", status="pending")):
            _put(store, job)
        watched.news()
        _put(store, mine._replace(status="failed"))
        _put(store, theirs._replace(status="failed"))
        _put(store, mine._replace(id="9", status="succeeded"))
        _put(store, mine._replace(id="10", status="running"))
        news = watched.news()
        assert {n.ref.id for n in news} == {"7", "9", "10"}, "a hook hears of all of them"
        assert sorted((n.ref.id for n in news if n.said), key=int) == said
        assert not any(n.watched for n in news)
        assert {n.change.before for n in news if n.change} == {"running", "pending"}


def test_an_own_job_that_is_watched_is_told_once() -> None:
    store = Store()
    mine = Job("7", "train", "running", owner="me", cluster="a")
    _put(store, mine)
    watched = Watched(store, Notices(own_jobs="all"), lambda job: True)
    watched.toggle([mine.ref])
    _put(store, mine._replace(status="failed"))
    assert [n.watched for n in watched.news()] == [True]
