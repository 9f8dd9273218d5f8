"""How a subcommand changes something: intent, plan, question, write, outcome. Everything goes through the gate."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from adapters.intents import Intent, Outcome
from adapters.model import Kind, Ref
from adapters.text import clean
from console.cli.ask import answered_yes, can_ask, plan_lines
from console.cli.exits import DONE, FAILED, UNKNOWN, UNREACHABLE, USAGE, CommandFailed
from console.cli.opening import with_engine
from console.cli.output import emit_json
from console.cluster import Cluster
from console.engine import Engine
from console.gate import Approval, Operation, PlanChanged, Prepared

I = TypeVar("I", bound=Intent)  # noqa: E741
MOST_CHANGES = 3


def change(args: Namespace, intent_for: Callable[[str], Intent]) -> int:
    """Build the intent for the chosen cluster's name and carry it out, or show it where `--dry-run` asks for that."""
    return change_on(args, lambda cluster: intent_for(cluster.name))


def change_on(args: Namespace, intent_for: Callable[[Cluster], Intent]) -> int:
    """As `change`, for an intent that depends on more than the cluster's name."""

    async def work(engine: Engine) -> int:
        intent = intent_for(engine.cluster(args.cluster))
        if getattr(args, "dry_run", False):
            return await show_only(engine, intent, args)
        return await carry_out(engine, intent, args)

    return with_engine(args, work, settle=True)


def build(kind: type[I], **fields: Any) -> I:
    """An intent of the command line; what its model refuses is wrong usage."""
    try:
        return kind(origin="command_line", **fields)
    except ValidationError as error:
        reasons = [str(problem["ctx"]["error"]) if "ctx" in problem and "error" in problem["ctx"] else _named(problem)
                   for problem in error.errors()]  # fmt: skip
        raise CommandFailed("; ".join(clean(reason) for reason in reasons), code=USAGE) from None


def _named(problem: Any) -> str:
    where = ".".join(str(part) for part in problem["loc"])
    return f"{where}: {problem['msg']}" if where else str(problem["msg"])


def refs(cluster: str, kind: Kind, ids: Sequence[str]) -> tuple[Ref, ...]:
    """Names as they were typed; the plan finds out which objects they are. One that is typed twice counts once."""
    return tuple(Ref(cluster, kind, id) for id in dict.fromkeys(ids))


async def show_only(engine: Engine, intent: Intent, args: Namespace) -> int:
    """What would be sent; nothing is."""
    prepared = await engine.gate.prepare(intent)
    await engine.gate.decline(prepared, "dry run")
    if args.json:
        emit_json(plan_record(prepared) | {"sent": False})
    else:
        print(*plan_lines(prepared.plan, prepared.notes), sep="\n")
        if prepared.plan.dry_run:
            print(f"  the scheduler says: {clean(prepared.plan.dry_run)}")
        print("Nothing was sent.")
    return DONE


async def carry_out(
    engine: Engine, intent: Intent, args: Namespace, *, use_up: Callable[[], None] | None = None
) -> int:
    """Plan, ask, send, and say what came of it. Returns the exit code.

    `use_up` is called once with the person's answer, yes or no, before anything is sent; what it raises ends it there.
    """
    if not (args.yes or can_ask()):
        beforehand = "Give --yes to agree beforehand; the record will say `unattended`."
        here = "A person answers it on a terminal, or in the inbox of an open console."
        told = "this changes something, and there is no terminal to ask on"
        raise CommandFailed(told, here if intent.by_agent else beforehand, USAGE)
    if args.yes and intent.by_agent:
        use_up = None  # nobody has answered: the gate refuses it, on record, and the plan goes on waiting
    prepared = await engine.gate.prepare(intent)
    for _ in range(MOST_CHANGES):
        approval = await _approval(engine, prepared, args)
        if use_up is not None:
            use_up()
            use_up = None
        if approval is None:
            await engine.gate.decline(prepared)
            raise CommandFailed("declined; nothing was sent")
        try:
            operation = await engine.gate.execute(prepared, approval)
        except PlanChanged as changed:
            prepared = changed.prepared
            continue
        return await _finish(operation, args)
    await engine.gate.decline(prepared)
    raise CommandFailed("the targets change faster than the plan can be agreed to; nothing was sent")


async def _approval(engine: Engine, prepared: Prepared, args: Namespace) -> Approval | None:
    """The person's yes, or the one given beforehand; None for a no. Ctrl-C at the question is a no on record."""
    print(*plan_lines(prepared.plan, prepared.notes), sep="\n", file=sys.stderr)
    if args.yes:
        return Approval(how="unattended", digest=prepared.digest)
    try:
        typed = await answered_yes(prepared)
    except asyncio.CancelledError:
        print(file=sys.stderr)
        await engine.gate.decline(prepared)
        raise
    return None if typed is None else Approval(how="prompt", typed=typed, digest=prepared.digest)


async def _finish(operation: Operation, args: Namespace) -> int:
    await operation.wait()
    await operation.wait_verified()
    if args.json:
        emit_json(operation_record(operation))
    else:
        for line in outcome_lines(operation):
            print(line)
    return exit_code(operation)


def outcome_lines(operation: Operation) -> list[str]:
    """One line a target, a created object or a secret first."""
    lines = []
    for progress in operation.progress():
        for outcome in progress.outcomes:
            lines.append(_outcome_line(operation.intent, outcome, _verified(progress.verified, outcome)))
            if outcome.secret:
                lines += ["It is shown this once and kept nowhere:", clean(outcome.secret)]
        if progress.state == "not_sent":
            lines.append(f"not sent: {clean(progress.note or progress.step.summary)}")
    lines += [f"note: {clean(note)}" for note in operation.notes]
    return lines or ["Nothing was left to do."]


def _verified(verified: dict[Ref, Any], outcome: Outcome) -> str:
    state = verified.get(outcome.ref) if outcome.ref else None
    return {"confirmed": "confirmed by reading again", "not_yet": "not to be seen yet"}.get(state or "", "")


def _outcome_line(intent: Intent, outcome: Outcome, verified: str) -> str:
    if outcome.created:
        return f"{intent.verb}: {clean(outcome.created.id)} {outcome.result}"
    what = clean(outcome.ref.id) if outcome.ref else clean(intent.describe())
    message = clean(outcome.message) if outcome.message and outcome.result != "accepted" else verified
    return f"{intent.verb}: {what} {outcome.result}" + (f": {message}" if message else "")


def exit_code(operation: Operation) -> int:
    """4 as soon as one outcome is unknown, 3 where nothing reached the cluster, 0 where all was accepted."""
    outcomes = operation.outcomes
    if operation.result == "unknown":
        return UNKNOWN
    if outcomes and all(outcome.error == "unreachable" for outcome in outcomes):
        return UNREACHABLE
    return DONE if operation.result == "accepted" or not operation.steps else FAILED


def plan_record(prepared: Prepared) -> dict[str, Any]:
    """A plan for programs."""
    plan = prepared.plan
    return {
        "verb": plan.intent.verb,
        "cluster": plan.intent.cluster,
        "parameters": plan.intent.parameters(),
        "targets": [{"ref": str(t.ref), "owner": t.owner, "state": t.state} for t in plan.targets],
        "changes": [{"field": c.field, "before": c.before, "after": c.after} for c in plan.changes],
        "requests": [step.request.record() for step in plan.steps],
        "warnings": list(plan.warnings),
        "undo": plan.undo,
        "dry_run": plan.dry_run,
    }


def operation_record(operation: Operation) -> dict[str, Any]:
    """What came of it, for programs. A secret is in here: standard output is where it was asked for."""
    intent = operation.intent
    return {
        "verb": intent.verb,
        "cluster": intent.cluster,
        "result": operation.result,
        "outcomes": [
            outcome.record() | ({"secret": outcome.secret} if outcome.secret else {}) for outcome in operation.outcomes
        ],
        "verified": {str(ref): state for step in operation.progress() for ref, state in step.verified.items()},
        "notes": list(operation.notes),
    }
