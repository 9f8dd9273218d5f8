"""Logs: one pod byte for byte, several merged, containers, earlier runs, and pods that have nothing to say yet."""

from __future__ import annotations

import pytest

from adapters.base import AdapterError, Invalid, NotFound, Unavailable, Unsupported
from tests.doubles.kube_api import KubeDouble
from tests.doubles.kube_api.objects import bound_pod, job
from tests.doubles.kube_api.recordings import body, fill
from tests.kubernetes.conftest import Opened


async def output(opened: Opened, id: str, **options: object) -> bytes:
    reader = opened.reader("editor")
    return b"".join([chunk.data async for chunk in reader.job_logs(id, **options)])  # type: ignore[arg-type]


def said(double: KubeDouble, pod: str, *lines: str) -> None:
    """Lines, each with its time in front."""
    double.logs["team-a", pod] = "".join(f"2026-11-30T01:27:{line}\n" for line in lines).encode()


async def test_the_recorded_log(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    double.logs["team-a", "bare-run"] = body("log-plain").encode()
    double.previous_logs["team-a", "bare-run"] = b"2026-11-30T01:27:00Z line 0 step loss=0.0000\n"
    whole = await output(opened, "team-a/pod/bare-run")
    assert whole.startswith(b"line 0 step loss=0.0000\n") and b"\x1b[2J" in whole, "bytes are for the caller to clean"
    assert await output(opened, "team-a/pod/bare-run", since=7) == whole[7:]
    assert await output(opened, "team-a/pod/bare-run", previous=True) == b"line 0 step loss=0.0000\n"
    with pytest.raises(Invalid, match="container nope is not valid for pod bare-run"):
        await output(opened, "team-a/pod/bare-run", container="nope")
    with pytest.raises(Unsupported):
        await output(opened, "team-a/pod/bare-run", stream="stderr")


async def test_several_pods_are_merged_by_time(double: KubeDouble, opened: Opened) -> None:
    held = double.put("jobs", job("wide", parallelism=2))
    for index in range(2):
        double.put("pods", bound_pod(f"wide-{index}", "n", owner=held, index=index))
    said(double, "wide-0", "01Z first", "03Z third")
    said(double, "wide-1", "02Z second")
    assert await output(opened, "team-a/wide") == b"[wide-0] first\n[wide-1] second\n[wide-0] third\n"
    assert await output(opened, "team-a/wide", tail=1) == b"[wide-0] third\n"
    assert await output(opened, "team-a/wide", follow=True) == b"[wide-0] first\n[wide-1] second\n[wide-0] third\n"


async def test_a_pod_that_is_not_there_yet(double: KubeDouble, opened: Opened) -> None:
    double.put("pods", bound_pod("unscheduled", None, phase="Pending"))
    double.put("pods", bound_pod("starting", "n", phase="Pending"))
    assert await output(opened, "team-a/pod/unscheduled") == b""
    with pytest.raises(Unavailable, match="waiting to start"):
        await output(opened, "team-a/pod/starting")
    with pytest.raises(NotFound, match="previous terminated container"):
        await output(opened, "team-a/pod/starting", previous=True)
    with pytest.raises(NotFound):
        await output(opened, "team-a/nope")


async def test_a_job_without_pods_says_so(double: KubeDouble, opened: Opened) -> None:
    double.put("jobs", job("empty"))
    chunks = [chunk async for chunk in opened.reader("editor").job_logs("team-a/empty")]
    assert [chunk.note for chunk in chunks] == ["It has no pods, so there is no output."] and chunks[0].at_end


async def test_a_person_without_the_right_is_told_in_the_servers_words(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    with pytest.raises(AdapterError) as caught:
        [chunk async for chunk in opened.reader("nobody").job_logs("team-a/pod/bare-run")]
    assert caught.value.code == "forbidden"


async def test_a_job_with_a_selector_of_its_own_has_its_own_pods(double: KubeDouble, opened: Opened) -> None:
    """With `manualSelector` its pods carry no label of the controller, and the selector may find those of others."""
    made = job("own", active=1)
    made["spec"] |= {"manualSelector": True, "selector": {"matchLabels": {"app": "own"}}}
    held = double.put("jobs", made)
    for name, owner in (("own-1", held), ("stray", double.put("jobs", job("other")))):
        pod = bound_pod(name, "n", owner=owner)
        pod["metadata"]["labels"] = {"app": "own"}
        double.put("pods", pod)
    said(double, "own-1", "01Z mine")
    said(double, "stray", "01Z not mine")
    assert b"mine" in await output(opened, "team-a/own")
    assert b"not mine" not in await output(opened, "team-a/own")
    assert (await opened.reader().get_job("team-a/own")).node_names == ("n",)
