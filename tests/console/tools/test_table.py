"""The table of tools: what is in it, what is not, and that its schemas do not drift unseen."""

from __future__ import annotations

import hashlib
import json

import pytest

from adapters.intents import INTENTS
from console.tools import TOOLS, ToolError, tool

NAMES = {
    "scheduler_list_jobs", "scheduler_get_job", "scheduler_list_queues", "scheduler_list_nodes", "scheduler_job_logs",
    "scheduler_cluster_metrics", "scheduler_job_history", "scheduler_wait", "scheduler_audit_tail",
    "scheduler_submit", "scheduler_cancel", "scheduler_hold", "scheduler_release", "scheduler_suspend",
    "scheduler_resume", "scheduler_requeue", "scheduler_modify", "scheduler_set_node_quota", "scheduler_drain_node",
    "scheduler_undrain_node", "scheduler_analyze_failure", "scheduler_suggest_resources",
    "scheduler_estimate_wait_time", "scheduler_why",
}  # fmt: skip


def test_the_table_holds_these_tools_sorted() -> None:
    assert set(TOOLS) == NAMES
    assert list(TOOLS) == sorted(TOOLS)


@pytest.mark.parametrize(
    "word", ["confirm", "approve", "scope", "autopilot", "url", "host", "path", "file", "key", "token"]
)
def test_no_tool_and_no_argument_opens_a_way_around(word: str) -> None:
    said = list(TOOLS) + [argument for t in TOOLS.values() for argument in t.schema()["properties"]]
    assert not [name for name in said if word in name.lower()]


def test_what_is_for_persons_only_is_no_tool() -> None:
    assert not any(intent.persons_only and f"scheduler_{verb}" in TOOLS for verb, intent in INTENTS.items())


def test_every_write_is_a_write_and_every_operator_write_says_so() -> None:
    writes = {name for name, t in TOOLS.items() if t.kind == "write"}
    assert len(writes) == 11
    assert all(
        (t.write is not None) == (t.kind == "write") and (t.read is not None) == (t.kind == "read")
        for t in TOOLS.values()
    )
    assert {n for n in writes if TOOLS[n].operator} == {
        "scheduler_set_node_quota", "scheduler_drain_node", "scheduler_undrain_node",
    }  # fmt: skip


def test_schemas_are_byte_stable() -> None:
    first, second = (json.dumps({n: t.schema() for n, t in TOOLS.items()}) for _ in range(2))
    assert first == second
    assert hashlib.sha256(first.encode()).hexdigest() == hashlib.sha256(second.encode()).hexdigest()


def test_an_unknown_tool_is_named_never_guessed() -> None:
    with pytest.raises(ToolError, match="scheduler_list_job"):
        tool("scheduler_list_job")


@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("scheduler_cancel", {}, "ids"),
        ("scheduler_cancel", {"ids": ["1"], "force": True}, "force"),
        ("scheduler_list_jobs", {"filter": {"usr": "bob"}}, "usr"),
        ("scheduler_set_node_quota", {"node": "n1"}, "slots"),
        ("scheduler_set_node_quota", {"node": "n1", "slots": "2"}, "slots"),
        ("scheduler_set_node_quota", {"node": "n1", "slots": -1}, "slots"),
        ("scheduler_job_logs", {"id": "1", "tail": 100_000}, "tail"),
        ("scheduler_cancel", [], "object"),
    ],
)
def test_bad_arguments_are_refused_and_named(name: str, arguments: object, named: str) -> None:
    with pytest.raises(ToolError, match=named):
        tool(name).parse(arguments)
