"""The double answers what a real API server answered: every recorded request is sent to it and the answers compared.

What differs from run to run (uids, versions, times, managed fields, what controllers wrote) is left out; an error must
agree in status, reason, details and sentence, an object in name, labels and spec, a list in its names and its pages.
`UNUSED` names the recordings that no test uses, each with its reason.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import httpx
import pytest

from tests.doubles.kube_api import KubeDouble, running
from tests.doubles.kube_api.answers import Refusal, details
from tests.doubles.kube_api.kinds import CORE, KUEUE, VOLCANO, Served
from tests.doubles.kube_api.objects import budget
from tests.doubles.kube_api.recordings import FOLDER, body, fill, names, recording
from tests.kubernetes.test_kube_reflector import STREAMS

TABLES = "the adapter makes its own rows and never asks for the server's tables"
METADATA = "the adapter needs more than metadata"
APPLY = "the adapter sends no server-side apply: field ownership would outlive it"
UNUSED = {
    **{name: TABLES for name in names() if name.startswith("table-") or "-table-" in name},
    **{name: METADATA for name in names() if name.startswith("meta-")},
    **{name: APPLY for name in names() if name.startswith("apply-")},
    "discovery-aggregated-apis": "two small requests tell what the adapter needs to know",
    "delete-namespace": "no intent deletes a namespace",
    "delete-collection-dryrun": "the adapter deletes objects one by one, each with its uid",
    "patch-cronjob-suspend": "CronJobs are shown as the source of jobs and not acted on",
    "patch-priorityclass-suspended-refused": "no intent changes a priority class",
    "warn-unknown-field-accepted-dryrun": "the adapter always asks for strict field validation",
    "err-409-put-stale": "the adapter patches and never replaces",
}
"""Recordings that no test uses. At most 30; measure-*.jsonl are figures, not answers, and were not copied."""
ELSEWHERE = {
    "err-500-log-node-unreachable": "test_kube_errors: the double has no kubelets that could be unreachable",
    "err-500-watch-bad-resourceversion": "test_kube_errors: the adapter only sends versions that it was told",
    "err-429-too-many-requests-apf": "test_kube_reflector: a fault on demand",
    "err-500-webhook-down": "test_kube_writes: a fault on demand",
    "err-500-webhook-down-dryrun": "test_kube_errors: a fault on demand",
    "err-422-cr-schema-violation": "test_kube_errors: the double has no schemas of custom resources",
    "err-422-quota-not-a-quantity": "test_kube_errors: the sentence quotes the whole object",
    "err-422-uid-changed-in-merge-patch": "test_kube_errors: the adapter guards by JSON patches",
}
VOLATILE = {
    "uid", "resourceVersion", "managedFields", "creationTimestamp", "generation", "deletionTimestamp", "annotations",
    "deletionGracePeriodSeconds",
}  # fmt: skip
_GENERATED = re.compile(r"sweep-[a-z0-9]{5}")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def shared() -> Iterator[KubeDouble]:
    with running(kueue=True, volcano=True) as double:
        yield double


@pytest.fixture
def double(shared: KubeDouble) -> Iterator[KubeDouble]:
    yield shared
    shared.store.clear()
    shared.policies.clear()
    shared.streaming_lists = shared.mutable_resources = True
    shared.store.floor = 0
    shared.kinds = [*CORE, *KUEUE, *VOLCANO]


def _held_by(double: KubeDouble, plural: str) -> Callable[[dict[str, Any]], None]:
    return lambda obj: void(double.put(plural, obj, keep_version=True))


def void(_: object) -> None:
    """For calls whose answer is not wanted."""


def prepare(double: KubeDouble, name: str, told: dict[str, Any]) -> None:
    """Bring the double to where the real server was when it gave this answer."""
    fill(double, keep_version=True)
    double.store.version = 1534
    jobs, pods = double.served("jobs"), double.served("pods")
    path = told["request"]["url"].partition("?")[0]
    if "/w-job" in path or "w-job" in json.dumps(told["request"]["body"]):
        for other in ("w-job", "w-job2", "w-job3"):
            made = body("create-job")
            made["metadata"].update({} if other == "w-job" else {"name": other, "uid": f"{other}-uid"})
            double.put("jobs", made)
    got = told["body"] if isinstance(told["body"], dict) else {}
    if told["request"]["method"] == "GET" and told["status"] == 200:
        seed_what_was_read(double, path, told, got)
    if told["request"]["method"] == "PATCH" and told["status"] == 200:
        seed_before_patch(double, path, told)
    if told["request"]["method"] == "DELETE" and got.get("metadata", {}).get("name"):
        before = {key: value for key, value in got["metadata"].items() if "eletion" not in key and key != "finalizers"}
        double.put(path.split("/")[-2], {**got, "metadata": before})
    for kind, lines in (("log-plain", double.logs), ("log-previous", double.previous_logs)):
        said = body(kind).encode()
        stamped = b"".join(b"2026-11-30T01:27:47Z " + line for line in said.splitlines(keepends=True))
        lines["team-a", "bare-run"] = said if kind == "log-plain" else stamped
    if name in ("err-404-no-such-api-group",):
        double.kinds = [kind for kind in double.kinds if kind.group != "kueue.x-k8s.io"]
    if "terminating-namespace" in name:
        double.put("namespaces", body("get-namespace-terminating"))
    if name == "create-job" or name == "delete-job-after-gone":
        double.store.remove(jobs, "team-a", "w-job")
    if name in ("force-delete-pod-grace-0", "get-pod-stuck-terminating") and got:
        double.store.put(pods, {**got, "metadata": {k: v for k, v in got["metadata"].items() if "eletion" not in k}})
    if name == "err-409-conflict-stale-resourceversion":
        assert json.loads(json.dumps(told["request"]["body"]))["metadata"]["resourceVersion"] == "1"
    if "patch-suspend-false" in name:
        double.store.change(jobs, "team-a", "w-job", lambda obj: obj["spec"].update(suspend=True))
    if name.endswith("-gate-off"):
        double.streaming_lists = double.mutable_resources = False
    if "evict-pdb" in name:
        double.put("poddisruptionbudgets", budget("keep", {"app": "bare-run"}, 0))
    if "410-continue" in name or "410-list" in name:
        double.store.version = double.store.floor = 99_999
    if "create-job-over-count-quota" in name:
        double.store.change(double.served("resourcequotas"), "team-b", "compute", _five_jobs)
    if "admission-policy" in name:
        double.policies += [no_big_jobs, ask_for_project]
    if name in ("list-continue-after-3-minutes", "list-continue-inconsistent-after-410"):
        for gone in set_of(got, double):
            double.store.remove(pods, "team-a", gone)
        behind(double, pods, got["items"], got["metadata"]["remainingItemCount"])


def set_of(got: dict[str, Any], double: KubeDouble) -> set[str]:
    """Pods that were gone by the time of this page: those between its first and last that it does not have."""
    shown = [item["metadata"]["name"] for item in got["items"]]
    held = [obj["metadata"]["name"] for _, obj in double.store.listed(double.served("pods"), "team-a")]
    return {name for name in held if shown[0] <= name <= shown[-1] and name not in shown}


def _five_jobs(quota: dict[str, Any]) -> None:
    quota["spec"]["hard"]["count/jobs.batch"] = "5"


def no_big_jobs(served: Served, obj: dict[str, Any]) -> None:
    """The recorded cluster's admission policy."""
    if obj["spec"].get("parallelism", 1) > 50:
        why = (
            "ValidatingAdmissionPolicy 'rig-no-big' with binding 'rig-no-big' denied request: parallelism above 50 "
            "needs a ticket, see https://wiki.example/quota"
        )
        found = details(served, obj["metadata"]["name"])
        found["causes"] = [{"message": why}]
        raise Refusal(422, "Invalid", f'{served.name} "{obj["metadata"]["name"]}" is forbidden: {why}', found)


def ask_for_project(served: Served, obj: dict[str, Any]) -> str | None:
    """The recorded cluster's warning policy."""
    if "project" in (obj["metadata"].get("labels") or {}):
        return None
    return (
        "Validation failed for ValidatingAdmissionPolicy 'rig-warn-nolabel' with binding 'rig-warn-nolabel': no "
        "project label: the job will be billed to unknown"
    )


def seed_before_patch(double: KubeDouble, path: str, told: dict[str, Any]) -> None:
    """The object as the answer shows it, but for what the patch is about, which is as it was in the recorded world."""
    *_, plural, name = path.split("/")
    served = double.served(plural)
    answer = told["body"]
    held = double.store.get(served, answer["metadata"].get("namespace"), name)
    patched = told["request"]["body"]
    fields = patched["spec"] if isinstance(patched, dict) else {"suspend": None}
    before = deepcopy(answer)
    for field in fields:
        if held is not None and field in held["spec"]:
            before["spec"][field] = deepcopy(held["spec"][field])
        else:
            before["spec"].pop(field, None)
    double.store.put(served, before)


def seed_what_was_read(double: KubeDouble, path: str, told: dict[str, Any], got: dict[str, Any]) -> None:
    """Objects that a GET showed are put there as they were; what a selector would have to leave out is there too."""
    parts = path.split("/")
    plural = next((part for part in reversed(parts) if any(k.plural == part for k in double.kinds)), None)
    if plural is None or (plural == "namespaces" and "items" not in got and got.get("kind") != "Namespace"):
        return
    group = next((part for part in parts if "." in part and part != "k8s.example:6443"), "")
    served = next((k for k in double.kinds if k.plural == plural and k.group == group), double.served(plural))
    found = got["items"] if "items" in got else [got] if got.get("metadata", {}).get("name") else []
    if "items" in got and plural in ("events", "leases", "jobs", "pods") and not _same_world(got, double, served, path):
        for namespace, name in list(double.store.table(served)):
            double.store.remove(served, namespace, name)
    for item in found:
        double.store.put(served, item, keep_version=True)
    if (pages := got.get("metadata", {})).get("continue") and "continue=" not in told["request"]["url"]:
        behind(double, served, found, pages.get("remainingItemCount", 1))
    double.store.version = int(got.get("metadata", {}).get("resourceVersion") or 0) or double.store.version


def behind(double: KubeDouble, served: Served, found: list[dict[str, Any]], count: int) -> None:
    """So many more objects behind the last one of a page that are selected like it."""
    last = (found[-1]["metadata"].get("namespace", ""), found[-1]["metadata"]["name"])
    held = double.store.listed(served, last[0] if served.namespaced else None)
    names_behind = [obj["metadata"]["name"] for _, obj in held if obj["metadata"]["name"] > last[1]]
    for name in names_behind[count:]:
        double.store.remove(served, last[0], name)
    for number in range(count - len(names_behind)):
        metadata = {**found[-1]["metadata"], "name": f"{last[1]}-{number:05}"}
        double.store.put(served, {**found[-1], "metadata": metadata})


def _same_world(got: dict[str, Any], double: KubeDouble, served: Served, path: str) -> bool:
    """Whether the listed objects are all in the recorded world already."""
    held = {name for _, name in double.store.table(served)}
    return bool(got["items"]) and all(item["metadata"]["name"] in held for item in got["items"])


def send(double: KubeDouble, told: dict[str, Any]) -> httpx.Response:
    request = told["request"]
    url = double.url + request["url"].partition("k8s.example:6443")[2]
    content = request["body"]
    data = (
        content.encode() if isinstance(content, str) else json.dumps(content).encode() if content is not None else None
    )
    headers = dict(request["headers"])
    if told["as"] != "anonymous":
        headers["authorization"] = f"Bearer {told['as']}-token"
    with httpx.Client(verify=False, trust_env=False, timeout=10) as client:
        return client.request(request["method"], url, headers=headers, content=data)


def steady(value: Any) -> Any:
    """Without what differs from run to run."""
    if isinstance(value, dict):
        dropped = {name: part for name, part in value.items() if "controller-uid" not in name and name != "status"}
        return {name: steady(part) for name, part in dropped.items() if name not in VOLATILE}
    if isinstance(value, list):
        return [steady(part) for part in value]
    return _GENERATED.sub("sweep-NAME", _UID.sub("UID", value)) if isinstance(value, str) else value


def comparable(answer: Any) -> Any:
    """What must agree of a body."""
    if not isinstance(answer, dict):
        return answer
    if answer.get("kind") == "Status":
        found = {name: answer.get(name) for name in ("status", "message", "reason", "code", "details")}
        token = answer.get("metadata", {}).get("continue")
        # The API server prints its own structures into the sentence about a template; the field it names must agree.
        said = re.sub(
            r"(spec\.template(?:\.spec)?: Invalid value: ).*", r"\1...", str(found["message"]), flags=re.DOTALL
        )
        if "..." in said:
            found["details"] = {k: v for k, v in (found["details"] or {}).items() if k != "causes"}
        said = re.sub(r"current: \d+", "current: N", said)
        return steady({**found, "message": said, "token": place(token), "status": None, "result": answer.get("status")})
    if "items" in answer:
        kept = {name: answer.get(name) for name in ("kind", "apiVersion")}
        pages = [answer["metadata"].get("remainingItemCount"), place(answer["metadata"].get("continue"))]
        return {**kept, "pages": pages, "items": [steady(item) for item in answer["items"]]}
    if answer.get("kind") == "SelfSubjectRulesReview":
        rules = answer["status"]["resourceRules"]
        return {
            (g, r, v) for rule in rules for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]
        }
    if answer.get("kind") == "SelfSubjectAccessReview":
        return {"spec": answer["spec"]["resourceAttributes"], "status": answer["status"]["allowed"]}
    if answer.get("kind") in ("APIGroupList", "APIResourceList"):
        return answer["kind"]
    return steady(answer)


def place(token: str | None) -> str | None:
    """Where a continue token goes on; the version within it differs from run to run."""
    if not token:
        return None
    start = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))["start"]
    return str(start).lstrip("/")


REPLAYED = [name for name in names() if name not in UNUSED and name not in ELSEWHERE]


@pytest.mark.parametrize("name", REPLAYED)
def test_the_double_answers_as_the_server_did(double: KubeDouble, name: str) -> None:
    told = recording(name)
    prepare(double, name, told)
    before = deepcopy(told["body"])
    answer = send(double, told)
    assert answer.status_code == told["status"], answer.text
    if isinstance(before, str):
        assert answer.text == before
        return
    assert answer.headers["content-type"] == told["headers"].get("content-type", answer.headers["content-type"])
    assert comparable(answer.json()) == comparable(before)
    assert answer.headers.get("warning") == told["headers"].get("warning")


def test_few_recordings_are_unused_and_each_has_a_reason() -> None:
    unused = {**UNUSED, "watch-table": TABLES}
    assert len(unused) <= 30
    assert all(len(reason) > 20 for reason in [*unused.values(), *ELSEWHERE.values()])
    assert set(UNUSED) | set(ELSEWHERE) <= set(names())
    streams = {path.stem for path in FOLDER.glob("watch-*.jsonl")}
    whole = {"watch-streaming-list-sendinitialevents", "watch-too-old-410-in-stream"}
    assert streams == {*STREAMS, *whole, "watch-table"}
