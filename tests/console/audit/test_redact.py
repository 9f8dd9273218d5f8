"""Secrets are replaced before a line is written; what only looks a little like one is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.audit import AuditLog
from console.audit.redact import MARK, redact, redact_text

SECRETS = [
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("token ghp_abcdefghijklmnopqrstuvwxyz0123456789 end", "ghp_abc"),
    ("key xce_ak_4f9d8a7b6c end", "xce_ak_4f9d8a7b6c"),
    ("key sk-abcdefghijklmnop0123456789 end", "sk-abcdefg"),
    ("SLURM_JWT=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln", "eyJ"),
    ("curl https://alice:hunter2@example.org/x", "hunter2"),
    ("Authorization: Bearer abcdef123456", "abcdef123456"),
    ('{"DB_PASSWORD": "hunter2", "x": 1}', "hunter2"),
    (json.dumps({"script": json.dumps({"api_key": "hunter2"})}), "hunter2"),
    ("export MY_SECRET='hunter2'", "hunter2"),
    ("mysql --password=hunter2", "hunter2"),
    ("mysql --password hunter2", "hunter2"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----", "MIIE"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "b3Bl"),
    ("password: hunter2", "hunter2"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_replaced(text: str, secret: str) -> None:
    assert secret in text
    shown = redact_text(text)
    assert secret not in shown and MARK in shown


@pytest.mark.parametrize(
    "text",
    [
        "POST /api/admin/nodes/3/token",
        '{"action": "reissue_token", "queue": "gpu"}',
        "Idempotency-Key: 6f0c2e9a-0c9f-4a52-9d0e-6b1c9f3b2a11",
        "python train.py --tokens-per-batch 4096",
        "sk-learn tasks in queue short",
        "job 4711 of alice@example.org",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


def test_names_tell_too() -> None:
    value = {"token": "abc", "env": {"HF_TOKEN": "abc", "HOME": "/elsewhere/a"}, "argv": ["x", "--password", "abc"],
             "headers": [["X-Api-Key", "abc"], ["If-Match", "abc"]], "plan_id": "abc", "key_id": "abc"}  # fmt: skip
    assert redact(value) == {
        "token": MARK, "env": {"HF_TOKEN": MARK, "HOME": "/elsewhere/a"}, "argv": ["x", "--password", MARK],
        "headers": [["X-Api-Key", MARK], ["If-Match", "abc"]], "plan_id": "abc", "key_id": "abc",
    }  # fmt: skip


def test_nothing_of_a_secret_reaches_the_disk(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit")
    for text, _ in SECRETS:
        log.append("intent", request={"body": text}, text=text)
    written = log.paths.log.read_text()
    assert not [secret for _, secret in SECRETS if secret in written]
