"""The planner without a model: calls and words, in both languages, from the result and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import pairwise

import pytest

from adapters.base import Unavailable
from adapters.model import Job, Node
from console.chat.causes_zh import CAUSES_ZH
from console.chat.events import Answered, Called, Ended, Event, Reply, Waiting
from console.chat.offline import Offline
from console.chat.saying import literal
from console.chat.session import Chat
from console.chat.words import EXAMPLES, PROPOSED, WORDS
from console.diagnosis.causes import CAUSES
from console.engine import Engine
from console.gate import Approval
from tests.console.waiting import until
from tests.doubles.memory_backend import MemoryBackend


@pytest.fixture
async def chat(engine: Engine) -> AsyncIterator[Chat]:
    chat = Chat(engine, Offline())
    yield chat
    await chat.close()


async def said(chat: Chat, text: str, answer: Callable[[Waiting], object] | None = None) -> list[Event]:
    """All events; the person answers what waits, or leaves it and says something else."""
    events: list[Event] = []
    async with asyncio.timeout(30):
        async for event in chat.say(text):
            events.append(event)
            if isinstance(event, Waiting):
                if answer is None:
                    assert chat.spoken is not None
                    chat.spoken.set()
                else:
                    await answer(event)  # type: ignore[misc]
    return events


def yes(chat: Chat, typed: str | None = None) -> Callable[[Waiting], object]:
    async def approve(event: Waiting) -> None:
        for proposal in event.proposals:
            await chat.engine.gate.approve(proposal, Approval("dialog", typed))

    return approve


def text(events: list[Event]) -> str:
    return "\n".join(event.text for event in events if isinstance(event, Reply))


def tools(events: list[Event]) -> list[str]:
    return [event.call.tool.removeprefix("scheduler_") for event in events if isinstance(event, Called)]


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("list jobs", ["4 jobs", "| 1 | train | running | gpu | alice |"]),
        ("列出作业", ["共 4 个作业", "| 1 | train | 运行 | gpu | alice |"]),
        ("list jobs in queue nowhere", ["There is no such job."]),
        ("查看 nowhere 队列的作业", ["没有这样的作业。"]),
        ("show job 1", ["Job 1 (train) is running.", "- queue: gpu"]),
        ("查看作业 1", ["作业 1（train）：运行。", "- 队列: gpu"]),
        ("nodes", ["2 nodes (1 busy, 1 idle)", "| n2 | busy | 4 | 4 | 8 |"]),
        ("list queues", ["1 queue", "| gpu | active |"]),
        ("how busy is the cluster", ["Cluster demo:", "2 running"]),
        ("show the log of job 1", ["The end of stdout of job 1:", "line 2"]),
        ("wait for job 4", ["Job 4 is succeeded."]),
        ("why is job 77 pending", ["**Not found**: There is no job 77."]),
        ("为什么作业 77 在排队", ["**Not found**: There is no job 77."]),
        ("cancel it", ["Which job is to be cancelled?"]),
        ("取消它", ["要取消哪个作业？"]),
        ("yes", ["A yes said here changes nothing"]),
        ("确认", ["不起作用"]),
        ("help", ["I understand, for example:", "- cancel job 12"]),
        ("帮助", ["我能理解，例如：", "- 取消作业 12"]),
        ("move job 1 to cluster lsf", ["in two steps"]),
        ("把作业 1 移到 lsf 集群", ["分两步移动"]),
        ("sing a song", ["That is no sentence I know", "- cancel job 12"]),
        ("唱首歌", ["我不理解这句话", "- 取消作业 12"]),
    ],
)
async def test_an_answer_is_told_in_the_language_of_the_sentence(chat: Chat, sentence: str, words: list[str]) -> None:
    events = await said(chat, sentence)
    for word in words:
        assert word in text(events)
    assert events[-1] == Ended("done")


async def test_the_same_sentences_give_the_same_events(engine: Engine) -> None:
    async def once() -> list[str]:
        chat = Chat(engine, Offline())
        chat.id = "same"
        told = [repr(event) for sentence in ("list jobs", "nodes", "why is job 2 pending") async for event in
                chat.say(sentence)]  # fmt: skip
        await chat.close()
        return told

    assert await once() == await once()


async def test_a_failure_is_told_and_never_looks_empty(chat: Chat, backend: MemoryBackend) -> None:
    backend.error = Unavailable("the controller is silent", "Try later.")
    for sentence in ("list jobs", "cancel all my pending jobs", "cancel job 1"):
        told = text(await said(chat, sentence))
        assert "the controller is silent" in told and "Try later." in told and "no such job" not in told


async def test_a_write_is_proposed_and_its_outcome_told(chat: Chat, backend: MemoryBackend) -> None:
    events = await said(chat, "cancel job 1", yes(chat))
    assert "Cancel 1: accepted by the scheduler." in text(events) and backend.job("1").status == "cancelled"
    assert text(await said(chat, "取消作业 2")) == "它在收件箱中等待确认。"
    assert len(chat.waiting) == 1


async def test_what_is_said_no_to_is_not_sent(chat: Chat, backend: MemoryBackend) -> None:
    async def no(event: Waiting) -> None:
        await chat.engine.gate.deny(event.proposals[0], "not now")

    events = await said(chat, "cancel job 1", no)
    assert "not sent" in text(events) and backend.sent == []


async def test_a_write_on_all_lists_first_and_has_the_count_typed(chat: Chat, backend: MemoryBackend) -> None:
    backend.put(Job("5", "more", "pending", queue="short", owner="alice"))
    events = await said(chat, "cancel all my pending jobs", yes(chat, "2"))
    assert tools(events) == ["list_jobs", "cancel"]
    assert "2 jobs (2 pending)" in text(events) and "| 5 | more |" in text(events)
    assert {backend.job(id).status for id in ("2", "5")} == {"cancelled"} and backend.job("1").status == "running"


async def test_a_write_on_all_leaves_finished_jobs_out(chat: Chat) -> None:
    events = await said(chat, "cancel all my jobs")
    (_, proposed) = [event for event in events if isinstance(event, Called)]
    assert proposed.call.arguments["ids"] == ["1", "2"]


async def test_a_write_on_nothing_proposes_nothing(chat: Chat) -> None:
    events = await said(chat, "cancel all my suspended jobs")
    assert tools(events) == ["list_jobs"] and "nothing is proposed" in text(events)


async def test_pages_are_read_to_the_end(chat: Chat, backend: MemoryBackend) -> None:
    backend.put(*(Job(str(n), "many", "pending", owner="carol") for n in range(1000, 1250)))
    await chat.engine.gate.agents.widen(type(chat.engine.gate.agents.scope)("all"))
    events = await said(chat, "hold all pending jobs of user carol")
    calls = [event.call.arguments for event in events if isinstance(event, Called)]
    assert len(calls) == 3 and len(calls[-1]["ids"]) == 250


async def test_too_many_are_refused(chat: Chat, backend: MemoryBackend) -> None:
    backend.put(*(Job(str(n), "many", "pending", owner="alice") for n in range(1000, 2100)))
    events = await said(chat, "hold all my pending jobs")
    assert "1101 jobs" in text(events) and tools(events) == ["list_jobs"]


async def test_the_next_sentence_answers_a_question(chat: Chat) -> None:
    await said(chat, "取消它")
    events = await said(chat, "2")
    assert tools(events) == ["cancel"] and "收件箱" in text(events)


async def test_another_sentence_forgets_the_question(chat: Chat) -> None:
    await said(chat, "cancel it")
    assert tools(await said(chat, "nodes")) == ["list_nodes"]
    assert "no sentence I know" in text(await said(chat, "2"))


async def test_mine_answers_whose_jobs(chat: Chat) -> None:
    await said(chat, "cancel all jobs")
    events = await said(chat, "my pending jobs")
    assert tools(events) == ["list_jobs", "cancel"]


async def test_it_is_the_job_last_spoken_of_for_reads_alone(chat: Chat) -> None:
    assert "Which job" in text(await said(chat, "show it"))
    await said(chat, "show job 2")
    assert tools(await said(chat, "watch it")) == ["get_job"]
    assert [watch.id for watch in chat.watches.all] == ["2"]
    for sentence, tool in (
        ("show it", "get_job"), ("它怎么样了", "get_job"), ("why is it pending", "why"), ("它为什么在排队", "why"),
        ("show its log", "job_logs"), ("查看它的日志", "job_logs"),
    ):  # fmt: skip
        made = [event.call for event in await said(chat, sentence) if isinstance(event, Called)]
        assert [(call.tool.removeprefix("scheduler_"), call.arguments["id"]) for call in made] == [(tool, "2")]
        assert made[0].arguments["cluster"] == "demo"  # of the cluster that it was spoken of on
    assert "Which job" in text(await said(chat, "cancel it"))


async def test_a_chain_waits_for_each_id(chat: Chat, backend: MemoryBackend) -> None:
    events = await said(chat, "run ./a, then ./b, then ./c", yes(chat))
    first, second, third = [event.call.arguments for event in events if isinstance(event, Called)]
    made = [id for (kind, id) in backend.rows if kind == "job"][-3:]
    assert "dependencies" not in first
    assert second["dependencies"] == [{"id": made[0], "kind": "afterok"}]
    assert third["dependencies"] == [{"id": made[1], "kind": "afterok"}]


async def test_a_chain_ends_where_one_is_not_submitted(chat: Chat, backend: MemoryBackend) -> None:
    backend.answers.append("refused")
    events = await said(chat, "依次运行 ./a、./b、./c", yes(chat))
    assert tools(events) == ["submit"] and "没有提交：./b; ./c" in text(events)


async def test_a_submission_is_followed_once_it_is_sent(chat: Chat, backend: MemoryBackend) -> None:
    events = await said(chat, "run ./a in queue gpu and tell me when it ends", yes(chat))
    (watch,) = chat.watches.all
    assert f"job {watch.id}" in text(events) and watch.work.arguments is not None
    assert watch.work.arguments["command"] == ["./a"]


async def test_a_submission_that_waits_is_followed_when_it_is_sent_later(chat: Chat) -> None:
    events = await said(chat, "run ./a in queue gpu and tell me when it ends")
    assert "Once it is sent" in text(events) and not chat.watches.all
    operation = await chat.engine.gate.approve(chat.waiting[0], Approval("dialog"))
    await operation.wait()
    await until(lambda: chat.watches.all, 20)


async def test_a_job_that_is_over_is_not_watched(chat: Chat) -> None:
    assert "over already" in text(await said(chat, "watch 4")) and not chat.watches.all


async def test_text_from_outside_is_no_markup(chat: Chat, backend: MemoryBackend) -> None:
    evil = "a|b`c`[x](http://evil)<b>**\x1b[2J"
    backend.put(Job("9", evil, "running", owner="alice"), Node("n9", "down", reason="| x | ![i](http://evil)"))
    told = text(await said(chat, "show job 9")) + text(await said(chat, "nodes")) + text(await said(chat, "list jobs"))
    assert "\x1b" not in told and "](" not in told.replace("\\](", "") and "<b>" not in told.replace("\\<b\\>", "")
    assert literal("a|b") == "a\\|b"


async def test_every_call_has_one_result_in_the_transcript(chat: Chat) -> None:
    await said(chat, "cancel all my pending jobs")
    await said(chat, "list jobs")
    roles = [message["role"] for message in chat.messages]
    assert all(one != two for one, two in pairwise(roles))
    made = [b["id"] for m in chat.messages for b in m["content"] if b["type"] == "tool_use"]
    have = [b["tool_use_id"] for m in chat.messages for b in m["content"] if b["type"] == "tool_result"]
    assert made == have and len(set(made)) == len(made) == 3


async def test_a_long_conversation_lets_go_of_its_beginning(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.chat.offline._LONG", 50)
    for _ in range(14):
        await said(chat, "list queues")
    assert 40 < len(chat.messages) <= 52 and chat.messages[0]["content"][0]["type"] == "text"


async def test_shortening_keeps_whole_turns() -> None:
    messages = []
    for n in range(40):
        messages += [
            {"role": "user", "content": [{"type": "text", "text": f"list jobs {n}"}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": str(n), "name": "x", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": str(n), "content": "{}"}]},
            {"role": "assistant", "content": "done"},
        ]
    kept = await Offline().shorten(messages)
    assert len(kept) <= 40 and kept[0]["content"][0]["type"] == "text" and kept[-1] == messages[-1]


def test_every_word_is_there_in_both_languages() -> None:
    assert CAUSES_ZH.keys() == CAUSES.keys()
    assert all(len(CAUSES_ZH[name].changes) == len(cause.changes) for name, cause in CAUSES.items())
    for table in (WORDS, PROPOSED):
        assert all(set(words) == {"en", "zh"} and all(words.values()) for words in table.values())


def test_every_example_is_understood() -> None:
    from console.chat.grammar import understand
    from console.chat.narrowing import scope_said
    from console.chat.said import Chain, Said

    for examples in EXAMPLES.values():
        for example in examples:
            assert isinstance(understand(example), Said | Chain) or scope_said(example) is not None, example


async def test_a_call_that_is_answered_says_so_in_one_line(chat: Chat) -> None:
    (answered,) = [event for event in await said(chat, "list jobs") if isinstance(event, Answered)]
    assert answered.ok and answered.summary == "4 jobs (1 pending, 2 running, 1 succeeded)"
