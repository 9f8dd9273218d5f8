"""What a person allows autopilot in one line: read strictly, every part named in its error."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from adapters.intents import INTENTS
from console.grants import VERBS, WishError, names, pairs, parse

GOOD = "verbs=submit,hold actions=10 core_hours=50 minutes=60"
NOW = datetime(2026, 11, 30, 14, tzinfo=UTC)


def test_a_line_becomes_a_grant_that_ends() -> None:
    grant = parse(GOOD).grant(NOW)
    assert (grant.verbs, grant.actions, grant.core_hours) == (frozenset({"submit", "hold"}), 10, 50.0)
    assert grant.expires == datetime(2026, 11, 30, 15, tzinfo=UTC)
    assert grant.scope.words() == "only my jobs, any queue, any cluster"


def test_it_may_be_limited_to_queues_and_clusters() -> None:
    grant = parse(f"{GOOD} queues=gpu,short clusters=hpc").grant(NOW)
    assert grant.scope.words() == "only my jobs, queue gpu, short, cluster hpc"
    assert parse(f"{GOOD} queues=any").queues is None


@pytest.mark.parametrize(
    ("text", "field", "part"),
    [
        ("", "verbs", "verbs is missing"),
        ("verbs=submit actions=1 core_hours=1", "minutes", "minutes is missing"),
        (GOOD.replace("verbs=submit,hold", "verbs="), "verbs", "missing"),
        (GOOD.replace("submit", "drain"), "verbs", "Autopilot never covers drain."),
        (GOOD.replace("submit", "revoke_key"), "verbs", "never covers revoke_key"),
        (GOOD.replace("submit", "sumbit"), "verbs", "There is no verb 'sumbit'"),
        (GOOD.replace("actions=10", "actions=0"), "actions", "between 1 and 1000"),
        (GOOD.replace("actions=10", "actions=1e3"), "actions", "whole number"),
        (GOOD.replace("actions=10", "actions=-1"), "actions", "whole number"),
        (GOOD.replace("actions=10", "actions=١"), "actions", "whole number"),
        (GOOD.replace("actions=10", "actions=1001"), "actions", "between"),
        (GOOD.replace("core_hours=50", "core_hours=nan"), "core_hours", "is a number"),
        (GOOD.replace("core_hours=50", "core_hours=inf"), "core_hours", "is a number"),
        (GOOD.replace("minutes=60", "minutes=1.5"), "minutes", "whole number"),
        (GOOD.replace("minutes=60", "minutes=1441"), "minutes", "between 1 and 1440"),
        (f"{GOOD} minutes=5", "minutes", "twice"),
        (f"{GOOD} owners=all", "owners", "There is no 'owners'"),
        (f"{GOOD} now", "now", "no name=value"),
        (f"{GOOD} queues=any,gpu", "queues", "stands alone"),
        (f"{GOOD} \x1b[2J=x", "\x1b[2J", "␛[2J"),
    ],
)
def test_what_is_wrong_is_named(text: str, field: str, part: str) -> None:
    with pytest.raises(WishError, match=r".*") as caught:
        parse(text)
    assert caught.value.field == field and part in str(caught.value)
    assert str(caught.value).isprintable()


def test_no_verb_that_needs_an_operator_can_be_wished_for() -> None:
    assert "submit" in VERBS and "hold" in VERBS
    for verb in VERBS:
        intent = INTENTS[verb]
        assert not (intent.operator or intent.irreversible or intent.persons_only)


def test_names_and_pairs() -> None:
    assert names("queues", " a, b ") == {"a", "b"}
    assert names("queues", "") is None
    assert pairs("verbs=hold") == {"verbs": "hold"}
