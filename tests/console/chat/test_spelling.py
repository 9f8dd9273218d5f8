"""A node is found by the name people say, where that can mean one node only."""

from __future__ import annotations

import pytest

from adapters.model import Delta, Node
from console.chat.offline import Offline
from console.chat.session import Chat
from console.engine import Engine
from console.gate import Approval
from tests.console.chat.test_offline import said, text
from tests.console.waiting import until
from tests.doubles.memory_backend import MemoryBackend


async def named(engine: Engine, backend: MemoryBackend, *names: str) -> None:
    """The nodes of the cluster, in the backend and in what the console knows."""
    nodes = tuple(Node(name, "idle", slots_used=0, slots_total=8) for name in names)
    backend.put(*nodes)
    engine.store.apply("demo", Delta(upserts=tuple(backend.node(name) for name in names)))
    await until(lambda: engine.store.count("node", ["demo"]) >= len(names), 20)


@pytest.mark.parametrize(
    "sentence", ["把 node-2 的配额设为 2", "set the quota of Node_2 to 2", "limit node-2 to 2 slots"]
)
async def test_the_proposal_is_for_the_node_by_its_own_name(
    engine: Engine, backend: MemoryBackend, sentence: str
) -> None:
    await named(engine, backend, "node1", "node2", "node12")
    chat = Chat(engine, Offline())
    events = chat.say(sentence)
    async for _ in events:
        if chat.waiting:
            (proposal,) = chat.waiting
            assert [ref.id for ref in proposal.prepared.intent.targets_named] == ["node2"]
            assert proposal.prepared.confirm.expected == "node2"  # what a person types is the name of what is changed
            operation = await engine.gate.approve(proposal, Approval("dialog", "node2"))
            await operation.wait()
    assert backend.node("node2").slots_quota == 2
    await chat.close()


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("node2", "node.2"), "set the quota of node-2 to 2"),  # either may be meant
        (("n12",), "set the quota of n1-2 to 2"),  # another number
        (("node02",), "set the quota of node-2 to 2"),
        (("node20",), "set the quota of node-2 to 2"),
    ],
)
async def test_what_may_mean_something_else_is_not_guessed(
    engine: Engine, backend: MemoryBackend, names: tuple[str, ...], sentence: str
) -> None:
    await named(engine, backend, *names)
    chat = Chat(engine, Offline())
    assert "There is no node" in text(await said(chat, sentence))
    assert chat.waiting == [] and backend.sent == []
    await chat.close()


async def test_the_name_that_was_said_is_preferred(engine: Engine, backend: MemoryBackend) -> None:
    await named(engine, backend, "node2", "node-2")
    chat = Chat(engine, Offline())
    await said(chat, "set the quota of node-2 to 2")
    (proposal,) = chat.waiting
    assert [ref.id for ref in proposal.prepared.intent.targets_named] == ["node-2"]
    await chat.close()
