"""``pilothouse approve``: plans that agents left for a person: list them, look at one, agree or refuse."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from adapters.text import clean
from console.cli.exits import DONE, USAGE, CommandFailed
from console.cli.opening import with_engine
from console.cli.output import emit_json
from console.cli.writing import carry_out, show_only
from console.engine import Engine
from console.gate import PlanFiles, WaitingPlan
from console.waiting import record_denial

DESCRIPTION = """Plans that agents left for a person.

  pilothouse approve                 list what waits
  pilothouse approve PLAN            look at one, as it would be sent now, and answer
  pilothouse approve PLAN --show     look at it only
  pilothouse approve PLAN --deny     refuse it

PLAN is an id of the list, or its beginning. Each plan is good for one answer and waits for 24 hours."""


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--show", action="store_true", help="show what would be sent; answer nothing")
    what.add_argument("--deny", nargs="?", const="", metavar="REASON", help="refuse it; the reason goes on record")


def run(args: Namespace) -> int:
    plans = PlanFiles()
    if args.plan is None:
        if args.show or args.deny is not None:
            raise CommandFailed("name the plan", "See: pilothouse approve", USAGE)
        return _list(plans, args)
    waiting = plans.get(args.plan)

    async def work(engine: Engine) -> int:
        if args.show:
            return await show_only(engine, waiting.intent, args)
        if args.deny is not None:
            return await _deny(engine, plans, waiting, args.deny)
        if waiting.said and not args.json:
            print(f"The agent says (not checked): {waiting.said}")
        return await carry_out(engine, waiting.intent, args, use_up=lambda: plans.take(waiting.plan_id))

    return with_engine(args, work, settle=True)


def _list(plans: PlanFiles, args: Namespace) -> int:
    plans.sweep()
    waiting = plans.waiting()
    for plan in waiting:
        if args.json:
            emit_json({"plan_id": plan.plan_id, "cluster": plan.intent.cluster, "verb": plan.intent.verb,
                       "summary": plan.summary, "at": plan.at, "expires": plan.expires})  # fmt: skip
        else:
            print(f"{plan.plan_id[:8]}  {plan.at:%Y-%m-%d %H:%M}  {clean(plan.intent.cluster, 64)}  {plan.summary}")
    if not waiting and not args.json:
        print("No plan waits.")
    return DONE


async def _deny(engine: Engine, plans: PlanFiles, waiting: WaitingPlan, reason: str) -> int:
    """A no needs no plan that still holds: it is on record even where the cluster cannot be reached."""
    plans.take(waiting.plan_id)
    record_denial(engine.audit, waiting, reason)
    print("Denied; nothing was sent.")
    return DONE
