"""What doctor is told: version, rights, what is watched and what is not."""

from __future__ import annotations

from adapters.kubernetes.doctor import report
from tests.doubles.kube_api import KubeDouble
from tests.doubles.kube_api.kinds import CORE, KUEUE
from tests.doubles.kube_api.recordings import fill
from tests.kubernetes.conftest import Opened


async def test_an_admin_sees_everything_watched(double: KubeDouble, opened: Opened) -> None:
    double.kinds = [*CORE, *KUEUE]
    told = await report(opened.reader())
    assert told.backend == "kubernetes 1.36.2" and told.failures == ()
    assert "jobs (the whole cluster)" in told.watched and "Kueue queues (the whole cluster)" in told.watched
    assert told.unwatched == ("scheduling.volcano.sh: this cluster does not have it.",)
    assert any(line.startswith("Signed in as admin") for line in told.lines)


async def test_a_person_of_one_namespace_is_told_what_is_not(double: KubeDouble, opened: Opened) -> None:
    fill(double)
    told = await report(opened.reader("editor"))
    assert "jobs (team-a)" in told.watched and "events (team-a)" in told.watched
    assert any(line.startswith("nodes: You have no right to list nodes") for line in told.unwatched)
    assert any(line.startswith("Cannot: Drain: You have no right to patch nodes") for line in told.lines)
    assert any(line.startswith("Can: cancel") for line in told.lines)


async def test_a_server_that_refuses_is_quoted(double: KubeDouble, opened: Opened) -> None:
    told = await report(opened.reader("bad"))
    assert told.failures == ("Unauthorized",) and any("renew the kubeconfig" in line for line in told.lines)
