"""Sentences about the scope: they narrow it at once, and never widen it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from console.chat.events import Called, Ended, Event, Notice, Wants
from console.chat.narrowing import scope_said, scope_words
from console.chat.session import Chat
from console.engine import Engine
from console.gate import AgentScope

MINE = AgentScope("mine")
GPU = AgentScope("all", frozenset({"gpu"}))


@pytest.fixture
async def chat(engine: Engine) -> AsyncIterator[Chat]:
    chat = Chat(engine)
    yield chat
    await chat.close()


async def said(chat: Chat, text: str) -> list[Event]:
    return [event async for event in chat.say(text)]


@pytest.mark.parametrize(
    ("sentence", "scope", "rest"),
    [
        ("only look at queue gpu", GPU, ""),
        ("only look at the gpu queue", GPU, ""),
        ("from now on, only look at queue gpu", GPU, ""),
        ("look only at queue gpu", GPU, ""),
        ("stay in queue gpu", GPU, ""),
        ("limit yourself to the gpu queue", GPU, ""),
        ("只看 gpu 队列", GPU, ""),
        ("请只处理 gpu 队列的作业", GPU, ""),
        ("只在 gpu 队列操作", GPU, ""),
        ("only my jobs", MINE, ""),
        ("only look at my own jobs", MINE, ""),
        ("只看我的作业", MINE, ""),
        ("仅操作我自己的作业", MINE, ""),
        ("把范围限制为我的作业", MINE, ""),
        ("only look at my jobs in queue gpu", AgentScope("mine", frozenset({"gpu"})), ""),
        ("only look at queues gpu and short", AgentScope("all", frozenset({"gpu", "short"})), ""),
        ("只看队列 gpu、short", AgentScope("all", frozenset({"gpu", "short"})), ""),
        ("only use cluster demo", AgentScope("all", None, frozenset({"demo"})), ""),
        ("只用 demo 集群", AgentScope("all", None, frozenset({"demo"})), ""),
        ("only look at queue gpu and list jobs", GPU, "list jobs"),
        ("只看我的作业，然后列出作业", MINE, "列出作业"),
    ],
)
def test_what_narrows(sentence: str, scope: AgentScope, rest: str) -> None:
    said = scope_said(sentence)
    assert said is not None and (said.scope, said.rest) == (scope, rest)


@pytest.mark.parametrize(
    "sentence",
    [
        "widen the scope", "reset the scope to everybody", "look at everybody's jobs", "also look at queue short",
        "work on all queues", "扩大范围", "也看 short 队列",
    ],
)  # fmt: skip
def test_what_would_widen(sentence: str) -> None:
    said = scope_said(sentence)
    assert said is not None and said.scope is None


@pytest.mark.parametrize(
    "sentence",
    [
        "list all jobs", "show only my running jobs", "cancel all my pending jobs", "只看运行中的作业",
        "查看所有人的作业", "only", "only running jobs", "run only.sh", "why does only job 12 run",
        "what is the scope of job 12",
    ],
)  # fmt: skip
def test_what_is_no_word_on_the_scope(sentence: str) -> None:
    assert scope_said(sentence) is None


def test_what_was_pasted_behind_it_is_kept() -> None:
    said = scope_said("only look at queue gpu, then " + "x" * 90_000)
    assert said is not None and said.scope == GPU and said.rest == "x" * 90_000
    assert scope_said("widen " * 20_000) is None


def test_words_behind_the_command() -> None:
    said = scope_words("my jobs queue gpu")
    assert said is not None and said.scope == AgentScope("mine", frozenset({"gpu"}))
    assert scope_words("everything there is") is None


async def test_a_sentence_narrows_at_once_and_the_rest_is_answered(chat: Chat) -> None:
    events = await said(chat, "only look at queue gpu and list jobs")
    assert events[0] == Notice("The scope is now: only my jobs, queue gpu, any cluster.")
    assert any(isinstance(event, Called) for event in events) and events[-1] == Ended("done")
    assert chat.engine.gate.agents.scope == AgentScope("mine", frozenset({"gpu"}))


async def test_no_sentence_widens(chat: Chat) -> None:
    await said(chat, "only look at queue gpu")
    before = chat.engine.gate.agents.scope
    for sentence in (
        "only look at queues gpu and short",
        "look at everybody's jobs",
        "也看 short 队列",
        "/scope queue gpu",
    ):
        events = await said(chat, sentence)
        assert chat.engine.gate.agents.scope == before
        assert events[-1] == Ended("done")
    assert Wants("scope") in await said(chat, "widen the scope")


async def test_a_scope_that_leaves_nothing_says_so(chat: Chat) -> None:
    await said(chat, "only look at queue gpu")
    events = await said(chat, "only look at queue short")
    assert Wants("scope") in events
    assert events[0] == Notice("The scope is now: only my jobs, no queue, any cluster.", "warning")


async def test_a_cluster_that_is_none_narrows_nothing(chat: Chat) -> None:
    (notice, _) = await said(chat, "only use cluster dmeo")
    assert isinstance(notice, Notice) and "no cluster dmeo" in notice.text
    assert chat.engine.gate.agents.scope.clusters is None


async def test_what_was_said_of_the_scope_stands_in_the_transcript_and_not_in_the_scope_of_others(chat: Chat) -> None:
    await said(chat, "只看我的作业")
    assert [message["role"] for message in chat.messages] == ["user", "assistant"]
