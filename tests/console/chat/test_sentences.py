"""More than 200 sentences, English and Chinese, each with the one thing it means; negatives included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from console.chat.grammar import understand
from console.chat.said import Ask, Chain, NotUnderstood, Said
from console.tools import TOOLS, tool

GROUPS: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "sentences.yaml").read_text())
SENTENCES = [(sentence, group) for group in GROUPS for sentence in group["say"].splitlines()]


def test_there_are_enough_and_enough_of_each() -> None:
    assert len(SENTENCES) >= 200 and len({sentence for sentence, _ in SENTENCES}) == len(SENTENCES)
    assert sum(not sentence.isascii() for sentence, _ in SENTENCES) >= 60
    assert sum("tool" not in group and "chain" not in group for _, group in SENTENCES) >= 50
    named = {group["tool"] for group in GROUPS if "tool" in group}
    assert {name for name, one in TOOLS.items() if one.kind == "write"} <= named


@pytest.mark.parametrize(("sentence", "group"), SENTENCES, ids=[repr(sentence) for sentence, _ in SENTENCES])
def test_a_sentence(sentence: str, group: dict[str, Any]) -> None:
    meant = understand(sentence)
    if "ask" in group:
        assert isinstance(meant, Ask) and group["ask"] in meant.question
    elif group.get("unknown"):
        assert isinstance(meant, NotUnderstood | Ask)
        assert not isinstance(meant, Said)
    elif "chain" in group:
        steps = tuple(Said("scheduler_submit", args) for args in group["chain"])
        assert meant == Chain(steps, group.get("kind", "afterok"), group.get("follow", ""))
        for args in group["chain"]:
            tool("scheduler_submit").parse(args)
    else:
        assert meant == Said(group["tool"], group.get("args", {}), group.get("select"), group.get("follow", ""))
        if meant.select is None:
            tool(group["tool"]).parse(dict(meant.args))


@pytest.mark.parametrize(("sentence", "group"), [pair for pair in SENTENCES if "ask" in pair[1]])
def test_a_question_is_asked_in_both_languages(sentence: str, group: dict[str, Any]) -> None:
    meant = understand(sentence)
    assert isinstance(meant, Ask) and any("\u4e00" <= char <= "\u9fff" for char in meant.zh)


@pytest.mark.parametrize(
    ("sentence", "answer", "meant"),
    [
        ("cancel it", "12", Said("scheduler_cancel", {"ids": ["12"]})),
        ("取消它", "12 和 13", Said("scheduler_cancel", {"ids": ["12", "13"]})),
        ("cancel all jobs", "mine", Said("scheduler_cancel", {}, {"owner": "me"})),
        ("cancel all pending jobs", "mine", Said("scheduler_cancel", {}, {"owner": "me", "statuses": ["pending"]})),
        ("取消所有作业", "我的排队作业", Said("scheduler_cancel", {}, {"owner": "me", "statuses": ["pending"]})),
        ("cancel all jobs", "my failed jobs", Said("scheduler_cancel", {}, {"owner": "me", "statuses": ["failed"]})),
        ("drain n7", "a bad disk", Said("scheduler_drain_node", {"node": "n7", "reason": "a bad disk"})),
        ("set quota of node-2", "4", Said("scheduler_set_node_quota", {"node": "node-2", "slots": 4})),
        ("change job 12 to", "2 hours", Said("scheduler_modify", {"id": "12", "changes": {"walltime_seconds": 7200}})),
        ("change job 12 to", "queue long", Said("scheduler_modify", {"id": "12", "changes": {"queue": "long"}})),
        ("show the log", "12", Said("scheduler_job_logs", {"id": "12", "stream": "stdout"})),
        ("cancel it on cluster lsf", "12", Said("scheduler_cancel", {"ids": ["12"], "cluster": "lsf"})),
        ("取消 lsf 集群的所有作业", "mine", Said("scheduler_cancel", {"cluster": "lsf"}, {"owner": "me"})),
        ("watch it", "12", Said("scheduler_get_job", {"id": "12"}, follow="finished")),
        (
            "run ./sim with 16G", "16GiB",
            Said("scheduler_submit", {"template": "general_serial", "command": ["./sim"], "memory_bytes": 17179869184}),
        ),
    ],
)  # fmt: skip
def test_an_answer_completes_the_sentence_that_was_asked_about(sentence: str, answer: str, meant: Said) -> None:
    asked = understand(sentence)
    assert isinstance(asked, Ask)
    assert meant in [understand(f"{head}{answer}{tail}") for head, tail in asked.answers]


@pytest.mark.parametrize("sentence", ["", " ", "\n", "\x1b[2J", "a" * 5000, "取" * 5000])
def test_nothing_is_nothing(sentence: str) -> None:
    assert isinstance(understand(sentence), NotUnderstood)
