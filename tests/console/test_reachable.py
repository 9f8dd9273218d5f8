"""Every write that there is can be reached from the console by a key, and by the palette or a line."""

from __future__ import annotations

import pytest

from adapters.intents import INTENTS
from console.commands import COMMANDS
from console.lines import VERBS

BY_A_COMMAND_OF_ANOTHER = {"resume": "job.suspend", "set_node_quota": "node.clear_quota"}
"""One key for two verbs; and the field of the node dialog, whose key lifts the quota."""
LINES = {
    "modify", "submit", "set_queue_quota", "create_reservation", "create_key",
}  # fmt: skip
"""What needs a form: it is in the palette as a command, not as a line."""


@pytest.mark.parametrize("verb", INTENTS)
def test_each_has_a_key(verb: str) -> None:
    commands = [command for command in COMMANDS if command.verb == verb]
    if not commands:
        commands = [command for command in COMMANDS if command.id == BY_A_COMMAND_OF_ANOTHER[verb]]
    assert commands and all(command.keys for command in commands)


@pytest.mark.parametrize("verb", sorted(set(INTENTS) - LINES))
def test_each_that_needs_no_form_is_a_line(verb: str) -> None:
    assert any(line.intent is not None and line.intent.verb == verb for line in VERBS.values())


def test_no_line_writes_anything_else() -> None:
    assert {line.intent.verb for line in VERBS.values() if line.intent is not None} <= set(INTENTS)
