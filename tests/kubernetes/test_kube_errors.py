"""Each recorded refusal becomes the right typed error, with the server's own sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.kubernetes.errors import BudgetBlocked, Expired, MissingGroup, Throttled, error_of
from adapters.text import clean
from tests.doubles.kube_api.recordings import answer_bytes, names, recording, watch_lines

EXPECTED = {
    "err-400-bad-continue": "invalid",
    "err-400-bad-json": "invalid",
    "err-400-bad-quantity": "invalid",
    "err-400-jobs-fieldselector-unsupported": "invalid",
    "err-400-strict-unknown-field": "invalid",
    "err-401-bad-token": "unauthenticated",
    "err-403-anonymous": "unauthenticated",
    "err-403-create-in-terminating-namespace": "conflict",
    "err-403-create-job-over-count-quota": "conflict",
    "err-403-editor-cordon": "forbidden",
    "err-403-editor-create-team-b": "forbidden",
    "err-403-editor-list-jobs-all-namespaces": "forbidden",
    "err-403-editor-list-namespaces": "forbidden",
    "err-403-editor-list-nodes": "forbidden",
    "err-403-editor-patch-quota": "forbidden",
    "err-403-nobody-list-jobs": "forbidden",
    "err-403-unknown-priorityclass-pod": "invalid",
    "err-403-viewer-cordon": "forbidden",
    "err-403-viewer-delete-job": "forbidden",
    "err-403-viewer-list-events-k8s-io": "forbidden",
    "err-403-viewer-list-localqueues": "forbidden",
    "err-403-viewer-patch-suspend": "forbidden",
    "err-403-watch-denied": "forbidden",
    "err-404-cordon-no-node": "not_found",
    "err-404-job": "not_found",
    "err-404-metrics-api-absent": "unsupported",
    "err-404-no-such-api-group": "unsupported",
    "err-409-already-exists": "conflict",
    "err-409-conflict-stale-resourceversion": "conflict",
    "err-409-delete-uid-precondition": "conflict",
    "err-409-put-stale": "conflict",
    "err-410-continue-token-expired": "unavailable",
    "err-410-list-exact-old-resourceversion": "unavailable",
    "err-415-cr-strategic-merge-patch": "protocol",
    "err-415-wrong-content-type": "protocol",
    "err-422-admission-policy-denied": "forbidden",
    "err-422-cr-schema-violation": "invalid",
    "err-422-invalid-name": "invalid",
    "err-422-json-patch-test-failed": "conflict",
    "err-422-json-patch-uid-guard-refused": "conflict",
    "err-422-many-causes": "invalid",
    "err-422-quota-bad-quantity": "invalid",
    "err-422-quota-not-a-quantity": "invalid",
    "err-422-resources-suspended-gate-off": "invalid",
    "err-422-sendinitialevents-gate-off": "invalid",
    "err-422-sendinitialevents-without-match": "invalid",
    "err-422-uid-changed-in-merge-patch": "conflict",
    "err-429-evict-pdb": "conflict",
    "err-429-too-many-requests-apf": "unavailable",
    "err-500-log-node-unreachable": "unavailable",
    "err-500-watch-bad-resourceversion": "unavailable",
    "err-500-webhook-down": "unavailable",
    "err-500-webhook-down-dryrun": "unavailable",
    "err-504-list-future-resourceversion": "unavailable",
    "err-log-bad-container": "invalid",
    "patch-completions-nonindexed-refused": "invalid",
    "patch-image-running-refused": "invalid",
    "dryrun-denied-viewer": "forbidden",
    "apply-conflict": "conflict",
}


def test_every_recorded_refusal_is_expected_here() -> None:
    refused = {name for name in names() if recording(name)["status"] >= 400}
    assert {name for name in refused if name.startswith("err-")} <= set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_refusal_is_typed_and_keeps_its_sentence(name: str) -> None:
    told = recording(name)
    error = error_of(told["status"], told["headers"], answer_bytes(name))
    assert error.code == EXPECTED[name]
    said = told["body"]["message"] if isinstance(told["body"], dict) else told["body"].strip()
    assert clean(said)[:1500] in error.message
    assert error.hint and clean(error.message) == error.message


def test_the_five_meanings_of_403() -> None:
    meanings = [
        error_of(403, {}, answer_bytes(name)).details.get("meaning")
        for name in (
            "err-403-viewer-cordon", "err-403-create-job-over-count-quota", "err-403-create-in-terminating-namespace",
            "err-403-unknown-priorityclass-pod",
        )
    ]  # fmt: skip
    assert meanings == ["rbac", "quota", "terminating", "priority_class"]
    assert error_of(403, {}, answer_bytes("err-403-anonymous")).code == "unauthenticated"
    other = {"kind": "Status", "message": 'pods "x" is forbidden: violates PodSecurity "restricted:latest"'}
    assert error_of(403, {}, json.dumps(other).encode()).details["meaning"] == "admission"


def test_what_the_reflector_and_the_drain_must_tell_apart() -> None:
    told = recording("err-410-continue-token-expired")
    expired = error_of(410, {}, answer_bytes("err-410-continue-token-expired"))
    assert isinstance(expired, Expired) and expired.details["continue"] == told["body"]["metadata"]["continue"]
    throttled = error_of(429, {"retry-after": "7"}, answer_bytes("err-429-too-many-requests-apf"))
    assert isinstance(throttled, Throttled) and throttled.details["retry_after"] == 7
    blocked = error_of(429, {}, answer_bytes("err-429-evict-pdb"))
    assert isinstance(blocked, BudgetBlocked) and "needs 1 healthy pods" in blocked.message
    assert isinstance(error_of(404, {}, b"404 page not found\n"), MissingGroup)
    assert isinstance(error_of(504, {}, answer_bytes("err-504-list-future-resourceversion")), Expired)


def test_a_410_inside_a_stream_is_the_same_error() -> None:
    event = json.loads(watch_lines("watch-too-old-410-in-stream")[0])
    body = json.dumps(event["object"]).encode()
    assert event["type"] == "ERROR" and isinstance(error_of(event["object"]["code"], {}, body), Expired)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe\x1b[2J",
        b"[" * 100_000,
        b'{"kind":"Status"}',
        b'{"kind":"Status","details":{"causes":3}}',
        b"null",
    ],
)
@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 410, 413, 415, 418, 422, 429, 500, 503])
def test_odd_bodies_never_raise(code: int, body: bytes) -> None:
    error = error_of(code, {"retry-after": "soon"}, body)
    assert error.message and clean(error.message) == error.message


def test_http_to_an_https_port() -> None:
    error = error_of(400, {}, b"Client sent an HTTP request to an HTTPS server.\n")
    assert error.code == "unreachable" and "https://" in error.hint


def test_hostile_sentences_are_made_visible() -> None:
    status: dict[str, Any] = {"kind": "Status", "message": "\x1b[2Jjobs \u202e" + "x" * 9000}
    error = error_of(403, {}, json.dumps(status).encode())
    assert "\x1b" not in error.message and len(error.message) <= 2100
