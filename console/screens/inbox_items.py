"""What waits, as the inbox shows it: groups of proposals, and the whole of one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from textual.content import Content

from adapters.text import clean
from console.gate import Prepared, Proposal, WaitingPlan
from console.screens.confirm import confirmed_content
from console.waiting import Waiting
from widgets.format import age
from widgets.inbox_list import InboxRow

WORDS = 60  # cells of a row of the agent's words: each row keeps the bar before it, so that none looks like the plan
_TURN = re.compile(r"\.([0-9]{1,6})$")


@dataclass(frozen=True, slots=True)
class Item:
    """One proposal: of this process (`proposal`), or a plan in a file (`filed`)."""

    key: str
    title: str
    said: str
    source: str
    proposal: Proposal | None = None
    filed: WaitingPlan | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Proposals that belong together: the writes of one turn, or what one file holds."""

    key: str
    title: str
    items: tuple[Item, ...]


def groups(waiting: Waiting, now: datetime) -> list[Group]:
    """Everything that waits, oldest first: the turns of this process, then the files."""
    made = []
    for turn in waiting.inbox.turns():
        items = tuple(_of_proposal(proposal) for proposal in turn)
        made.append(Group(f"turn {turn[0].turn}", f"{turn_words(turn[0].turn)}, {_count(len(items))}", items))
    for plan in waiting.filed:
        title = f"From another program ({clean(plan.intent.origin, 20)}), {age(plan.at, now)} ago"
        made.append(Group(f"file {plan.plan_id}", title, (_of_file(plan),)))
    return made


def turn_words(turn: str) -> str:
    """``Turn 3 of the chat``, from the name of a turn."""
    found = _TURN.search(turn)
    return f"Turn {found[1]} of the chat" if found else f"Chat {clean(turn, 40)}"


def _count(count: int) -> str:
    return "1 proposal" if count == 1 else f"{count} proposals"


def _of_proposal(proposal: Proposal) -> Item:
    intent = proposal.prepared.intent
    return Item(
        f"proposal {intent.intent_id}", f"{clean(intent.describe(), 100)} on {clean(intent.cluster, 40)}",
        proposal.said, proposal.source, proposal=proposal,
    )  # fmt: skip


def _of_file(plan: WaitingPlan) -> Item:
    return Item(
        f"plan {plan.plan_id}", f"{clean(plan.summary, 100)} on {clean(plan.intent.cluster, 40)}", plan.said, "",
        filed=plan,
    )  # fmt: skip


def rows(found: Sequence[Group], problems: Sequence[str]) -> list[InboxRow]:
    """The lines of the list. `problems` are keys of what cannot be sent as it stands."""
    made = []
    for group in found:
        made.append(InboxRow(group.key, group.title, group=True))
        made += [InboxRow(i.key, i.title, role="warn" if i.key in problems else "plain") for i in group.items]
    return made


def foreword(item: Item, now: datetime) -> list[Content]:
    """What stands before the plan: where it comes from, the agent's own words as such, what was read before."""
    if item.filed is not None:
        plan = item.filed
        origin = f"{clean(plan.intent.origin, 20)}, plan {plan.plan_id[:8]}, {age(plan.at, now)} ago"
        lines = [_line("From", f"{origin}; it expires in {age(now, plan.expires)}")]
    else:
        lines = [_line("From", turn_words(item.proposal.turn) if item.proposal else "chat")]
    if item.source:
        lines.append(_line("Read", f"proposed after reading {clean(item.source, 200)}", "$warning"))
    if item.said:
        lines.append(Content.styled("The agent says (not checked):", "$text-muted"))
        words = Content.styled(clean(item.said, 2000), "italic").wrap(WORDS)
        lines += [Content.styled("  | ", "$text-muted") + row for row in words]
    return [*lines, Content("")]


def _line(label: str, text: str, style: str = "") -> Content:
    return Content.assemble((f"{label:<10}", "dim"), (text, style))


def whole(item: Item, prepared: Prepared | None, problem: str, now: datetime) -> Content:
    """One proposal with everything that a person decides on."""
    lines = [Content.styled(item.title, "bold $accent"), *foreword(item, now)]
    if problem:
        lines.append(Content.styled(clean(problem), "$error"))
    elif prepared is None:
        lines.append(Content.styled("Planning it as it would be sent now …", "$text-muted"))
    else:
        lines += [confirmed_content(prepared), Content(""), _line("Answer", answer_words(prepared))]
    return Content("\n").join(lines)


def answer_words(prepared: Prepared) -> str:
    """What the question will ask for."""
    confirm = prepared.confirm
    if confirm.how == "key":
        return "the question opens; y answers it"
    return f"the question opens; {clean(confirm.asks or 'an answer', 60)} is typed ({clean(confirm.expected, 60)})"
