"""The inbox: what agents propose, each with its plan, to be approved or denied. Only a key opens it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from adapters.base import AdapterError
from adapters.text import clean
from console.commands import Context
from console.gate import Approval, Operation, PlanChanged, Prepared, WaitingPlan
from console.screens.agent_keys import AgentKeys
from console.screens.bindings import CommandScreen, Movable, bindings_for
from console.screens.confirm import Answer, ConfirmScreen
from console.screens.inbox_items import Group, Item, foreword, groups, rows, whole
from console.screens.prompt import PromptScreen
from console.screens.writes import outcome_of, told
from widgets.columns import Role
from widgets.inbox import InboxView
from widgets.inbox_list import InboxList
from widgets.key_bar import KeyBar
from widgets.node_facts import COLOURS

if TYPE_CHECKING:
    from console.app import ConsoleApp

MOST_CHANGES = 20  # times a plan is shown again because its targets change


class InboxScreen(AgentKeys, CommandScreen, ModalScreen[None]):
    """Live while it is open. A plan in a file is planned anew when one looks at it, as it would be sent now."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_for("inbox")
    contexts = frozenset[Context]({"inbox"})

    def __init__(self, host: ConsoleApp) -> None:
        super().__init__()
        self._host = host
        self._groups: list[Group] = []
        self._prepared: dict[str, Prepared] = {}  # by the id of a plan in a file
        self._problems: dict[str, str] = {}  # by the key of an item
        self._planning: set[str] = set()
        self._answering = False
        self._key: str | None = None
        self.view = InboxView()
        self.said = Static("", id="inbox-said")
        self.keys = KeyBar()

    def compose(self) -> ComposeResult:
        dialog = Vertical(self.view, self.said, self.keys, id="inbox-dialog", classes="dialog")
        dialog.border_title = Content(" Proposed, not sent ")
        dialog.border_subtitle = Content(" Esc leaves everything as it is ")
        yield dialog

    def on_mount(self) -> None:
        self.view.fit(self.app.size.width)
        self.view.list.focus()
        self.keys.show(self.hints())
        self._host.engine.gate.agents.inbox.watchers.append(self._changed)
        self.tick()
        self.set_interval(1.0, self.tick)
        self.run_worker(self._look(), group="look", exclusive=True, exit_on_error=False)

    def on_unmount(self) -> None:
        gate = self._host.engine.gate
        if self._changed in gate.agents.inbox.watchers:
            gate.agents.inbox.watchers.remove(self._changed)
        for prepared in self._prepared.values():
            gate.forget(prepared)

    def on_resize(self, event: events.Resize) -> None:
        self.view.fit(event.size.width)

    async def _look(self) -> None:
        await self._host.waiting.look()
        self.tick()

    def _changed(self) -> None:
        self.call_later(self.tick)

    # -- what is shown ----------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Show what waits now."""
        self._groups = groups(self._host.waiting, self._host.engine.store.now())
        self.view.show(rows(self._groups, list(self._problems)))
        self._show_plan()
        self.show_agents()

    def on_inbox_list_moved(self, message: InboxList.Moved) -> None:
        message.stop()
        self._show_plan()

    def _show_plan(self) -> None:
        items = self.selected
        if not items:
            return
        now = self._host.engine.store.now()
        for item in items:
            self._plan(item)
        parts = [whole(i, self._plan_of(i), self._problems.get(i.key, ""), now) for i in items]
        key, self._key = self._key, self.view.list.key
        self.view.show_plan(Content("\n\n").join(parts), top=key != self._key)

    @property
    def selected(self) -> list[Item]:
        """The proposal under the cursor, or all of the group whose head is there."""
        key = self.view.list.key
        for group in self._groups:
            if group.key == key:
                return list(group.items)
            if found := [item for item in group.items if item.key == key]:
                return found
        return []

    def _plan_of(self, item: Item) -> Prepared | None:
        if item.proposal is not None:
            return item.proposal.prepared
        return self._prepared.get(item.filed.plan_id) if item.filed else None

    def _plan(self, item: Item) -> None:
        """Have a plan of a file made anew, once."""
        plan = item.filed
        if plan is not None and plan.plan_id not in self._planning:
            self._planning.add(plan.plan_id)
            work = self._make_plan(item, plan)
            self.run_worker(work, group=f"plan {plan.plan_id}", exit_on_error=False)

    async def _make_plan(self, item: Item, plan: WaitingPlan) -> None:
        try:
            self._prepared[plan.plan_id] = await self._host.engine.gate.prepare(plan.intent)
        except AdapterError as error:
            self._problems[item.key] = told(error)
        self.tick()

    def say(self, text: str, role: Role = "plain") -> None:
        self.said.update(Content.styled(clean(text, 400), COLOURS[role]))

    # -- yes --------------------------------------------------------------------------------------------------------

    def do_inbox_approve(self) -> None:
        """Open the question of what is under the cursor; of a whole group one question after the other."""
        if items := self.selected:
            self._host.ask_once(partial(self._approve, items))

    async def _approve(self, items: list[Item]) -> None:
        for item in items:
            if self._plan_of(item) is None:
                self.say(self._problems.get(item.key, "It is still being planned."), "warn")
                return
            operation = await self._approve_one(item)
            self.tick()
            if operation is None:
                return
            await operation.wait()
            self.say(*outcome_of(operation))

    async def _approve_one(self, item: Item) -> Operation | None:
        """Ask, and send on a yes; a plan that changed meanwhile is asked about again. A no to the question leaves the
        proposal where it is: denying it is a key of its own."""
        taken = False
        for _ in range(MOST_CHANGES):
            prepared = self._plan_of(item)
            if prepared is None or (item.proposal is not None and item.proposal.answer is not None):
                self.say("It waits no longer: it was answered or taken back meanwhile.", "warn")
                return None
            before = foreword(item, self._host.engine.store.now())
            no = "declines" if taken else "leaves it in the inbox"
            question = ConfirmScreen(prepared, foreword=before, no=no)
            answer: Answer | None = await self._host.push_screen_wait(question)
            if answer is None or not answer.approved:
                await self._left(item, prepared, taken)
                return None
            approval = Approval("dialog", answer.typed, prepared.digest)
            try:
                if item.filed is not None and not taken:
                    await self._host.waiting.take(item.filed)
                    taken = True
                return await self._send(item, prepared, approval)
            except PlanChanged as changed:
                if item.filed is not None:
                    self._prepared[item.filed.plan_id] = changed.prepared
            except AdapterError as error:
                self.say(told(error), "bad")
                return None
        self.say("Its targets change faster than it can be agreed to; nothing was sent.", "warn")
        return None

    async def _send(self, item: Item, prepared: Prepared, approval: Approval) -> Operation:
        """Raises as `Gate.execute` does."""
        if item.proposal is not None:
            return await self._host.engine.gate.approve(item.proposal, approval)
        operation = await self._host.engine.gate.execute(prepared, approval)
        if item.filed is not None:
            self._prepared.pop(item.filed.plan_id, None)
        return operation

    async def _left(self, item: Item, prepared: Prepared, taken: bool) -> None:
        """The question was left. A file that is used up already cannot wait any longer: that was a no."""
        if not taken:
            self.say("It goes on waiting; nothing was sent.", "dim")
            return
        try:
            await self._host.engine.gate.decline(prepared)
        except AdapterError as error:
            self.say(told(error), "bad")
        else:
            self.say("Denied; nothing was sent.", "dim")

    # -- no ---------------------------------------------------------------------------------------------------------

    def do_inbox_deny(self) -> None:
        self._ask_reason(self.selected)

    def do_inbox_deny_all(self) -> None:
        self._ask_reason([item for group in self._groups for item in group.items])

    def _ask_reason(self, items: list[Item]) -> None:
        if not items:
            return
        title = f"Deny: {items[0].title}" if len(items) == 1 else f"Deny all {len(items)} shown"
        hint = "Enter denies; nothing is sent. Esc goes back."
        prompt = PromptScreen(title, "Reason, which the agent is told", placeholder="none", hint=hint, optional=True)
        self._host.push_screen(prompt, partial(self._denied, items))

    async def _denied(self, items: list[Item], reason: str | None) -> None:
        if reason is None:
            return
        for item in items:
            try:
                if item.proposal is not None:
                    await self._host.engine.gate.deny(item.proposal, reason)
                elif item.filed is not None:
                    await self._host.waiting.deny(item.filed, reason)
            except AdapterError as error:
                self.say(told(error), "bad")
                break
        else:
            self.say(f"{len(items)} denied; nothing was sent." if len(items) > 1 else "Denied; nothing was sent.", "ok")
        self.tick()

    # -- movement ---------------------------------------------------------------------------------------------------

    @property
    def movable(self) -> Movable:
        return self.view.list

    def do_move_page_down(self) -> None:
        """Pages are those of the plan; the list has few lines."""
        self.view.body.scroll_page_down(animate=False)

    def do_move_page_up(self) -> None:
        self.view.body.scroll_page_up(animate=False)

    def do_help(self) -> None:
        from console.screens.help import HelpScreen

        self._host.push_screen(HelpScreen(self.contexts))

    def do_back(self) -> None:
        self.dismiss(None)

    def do_quit(self) -> None:
        self.dismiss(None)
