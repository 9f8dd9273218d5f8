"""Signing in to a real API server: every kind of credential, its end, and what a person without rights sees."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
import yaml

from adapters.base import Forbidden, Unauthenticated
from adapters.intents import CancelJob, DrainNode, SubmitJob
from adapters.kubernetes.reflector import Timing
from adapters.model import JobSpec, Ref
from tests.contract.test_contract_watch import Mirror
from tests.kubernetes.conftest import until, watched
from tests.kubernetes.real import Real
from tests.rigs.kubernetes.people import TOKENS
from tests.rigs.kubernetes.rig import Rig

SLOW = 60.0
SOON = Timing(first_delay=0.1, longest_delay=1.0, refused=2.0)


def last(mirror: Mirror, kind: str) -> tuple[str, str, str]:
    """Label, code of the error and note of the latest state of a kind."""
    found = [state for state in mirror.states if kind in state.kinds]
    if not found:
        return "", "", ""
    return found[-1].label, found[-1].error.code if found[-1].error else "", found[-1].note


async def test_a_person_of_one_namespace_sees_it_and_is_told(real: Real, tmp_path: Path) -> None:
    space, other = real.namespace(), real.namespace()
    real.job(space, "mine")
    job = real.job(other, "theirs")
    reader, writer = real.opened(real.editor(tmp_path, space), timing=SOON)
    async with watched(reader) as mirror:
        await until(lambda: f"{space}/mine" in mirror.of("job"), "my job", SLOW)
        assert {row.id.partition("/")[0] for row in mirror.of("job").values()} == {space}
        await until(lambda: last(mirror, "node")[:2] == ("failed", "forbidden"), "no nodes", SLOW)
        await until(lambda: last(mirror, "job")[0] == "live", "jobs are live", SLOW)
        assert f"Only the namespaces you may read: {space}." in last(mirror, "job")[2]
    found = await reader.capabilities()
    assert "submit" in found.supported and "right to patch nodes" in (found.why_not("drain") or "")
    theirs = Ref("kube", "job", f"{other}/theirs", job["metadata"]["uid"])
    for intent in (
        CancelJob(cluster="kube", refs=(theirs,)),
        DrainNode(cluster="kube", refs=(Ref("kube", "node", "any"),), reason="x"),
        SubmitJob(cluster="kube", spec=JobSpec(command=("true",), queue=other)),
    ):
        with pytest.raises(Forbidden):
            await writer.plan(intent)
    await reader.close()


async def test_whoever_has_no_rights_reads_so(real: Real, tmp_path: Path) -> None:
    space = real.namespace()
    reader, _ = real.opened(real.acting_as(tmp_path, "pilothouse-nobody", space), timing=SOON)
    async with watched_loosely(reader) as mirror:
        await until(lambda: last(mirror, "job")[1] == "forbidden", "jobs are forbidden", SLOW)
    with pytest.raises(Forbidden, match="pilothouse-nobody"):
        await reader.list_jobs()
    await reader.close()


def watched_loosely(reader):  # type: ignore[no-untyped-def]
    """A watch that need not load."""
    from adapters.base import InterestCell
    from tests.contract.test_contract_watch import watching

    return watching(reader, InterestCell())


async def test_groups_of_an_impersonated_person_count(real: Real, tmp_path: Path) -> None:
    real.needs(26, "SelfSubjectReview")
    path = real.acting_as(tmp_path, "pilothouse-op", "default", **{"as-groups": ["system:masters", "blue"]})
    reader, _ = real.opened(path)
    me = await reader.whoami()
    assert me.name == "pilothouse-op" and me.operator and {"system:masters", "blue"} <= set(me.permissions)
    await reader.close()


async def test_an_impersonated_group_gives_its_rights(real: Real, tmp_path: Path) -> None:
    space = real.namespace()
    real.job(space, "seen")
    reader, _ = real.opened(real.acting_as(tmp_path, "pilothouse-op", space, **{"as-groups": ["system:masters"]}))
    assert f"{space}/seen" in {row.id for row in await reader.list_jobs()}
    await reader.close()


async def test_a_wrong_token_is_said(rig: Rig, real: Real) -> None:
    reader, _ = real.opened(rig.kubeconfig(token="wrong"))
    with pytest.raises(Unauthenticated, match="Unauthorized"):
        await reader.list_jobs()
    await reader.close()


async def test_a_client_certificate(rig: Rig, real: Real) -> None:
    files = {"client-certificate": str(rig.folder / "carol.crt"), "client-key": str(rig.folder / "carol.key")}
    space = real.namespace()
    reader, writer = real.opened(rig.kubeconfig("carol", space, **files))
    plan = await writer.plan(SubmitJob(cluster="kube", spec=JobSpec(command=("true",), name="by-carol")))
    (outcome,) = await writer.send(plan.steps[0])
    assert outcome.result == "accepted", outcome
    assert "by-carol" in {row.name.rpartition("-")[0] for row in await reader.list_jobs()}
    await reader.close()


async def test_a_token_file_that_is_renewed(rig: Rig, real: Real, tmp_path: Path) -> None:
    space = real.namespace()
    real.job(space, "one")
    token = tmp_path / "token"
    token.write_text(TOKENS["vera"] + "\n")
    reader, _ = real.opened(rig.kubeconfig("vera", space, tokenFile=str(token)), namespaces=[space], timing=SOON)
    async with watched(reader) as mirror:
        await until(lambda: f"{space}/one" in mirror.of("job"), "the job", SLOW)
        token.write_text("expired\n")
        rig.restart_apiserver()
        await until(lambda: last(mirror, "job")[:2] == ("stale", "unauthenticated"), "it has expired", SLOW)
        assert f"{space}/one" in mirror.of("job"), "rows stay"
        token.write_text(TOKENS["vera"] + "\n")
        await until(lambda: last(mirror, "job")[0] == "live", "it recovers", SLOW)
        real.job(space, "two")
        await until(lambda: f"{space}/two" in mirror.of("job"), "it goes on", SLOW)
    await reader.close()


async def test_a_plugin_whose_token_expires(rig: Rig, real: Real, tmp_path: Path) -> None:
    """The plugin is asked again after a 401, and not before."""
    space = real.namespace()
    answer, runs = tmp_path / "answer.json", tmp_path / "runs"
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\necho run >> {runs}\ncat {answer}\n")
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)

    def give(token: str) -> None:
        version = "client.authentication.k8s.io/v1"
        answer.write_text(json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": {"token": token}}))

    give("too-old")
    version = "client.authentication.k8s.io/v1"
    entry = {"apiVersion": version, "command": str(plugin), "interactiveMode": "Never"}
    reader, _ = real.opened(rig.kubeconfig("vera", space, exec=entry), namespaces=[space])
    with pytest.raises(Unauthenticated):
        await reader.list_jobs()
    give(TOKENS["vera"])
    assert await reader.list_jobs() == []
    before = len(runs.read_text().splitlines())
    await reader.list_jobs()
    assert len(runs.read_text().splitlines()) == before
    await reader.close()


async def test_a_deleted_service_account_is_an_expired_token(rig: Rig, real: Real) -> None:
    """A bound token ends with its account, as it does with its time."""
    real.needs(22, "tokens of service accounts that any API server issues")
    space = real.namespace()
    accounts = f"/api/v1/namespaces/{space}/serviceaccounts"
    real.admin.create(accounts, {"metadata": {"name": "robot"}})
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    token = real.admin.create(f"{accounts}/robot/token", review)["status"]["token"]
    reader, _ = real.opened(rig.kubeconfig("robot", space, token=token), namespaces=[space])
    with pytest.raises(Forbidden, match=f"system:serviceaccount:{space}:robot"):
        await reader.list_jobs()
    real.admin.delete(f"{accounts}/robot")
    rig.restart_apiserver()
    with pytest.raises(Unauthenticated):
        await reader.list_jobs()
    await reader.close()


def test_the_kubeconfig_of_the_rig_is_one_that_others_read(rig: Rig) -> None:
    assert yaml.safe_load(rig.kubeconfig().read_text())["clusters"][0]["cluster"]["server"] == rig.url
