"""Asks a person on the terminal whether a plan is to be carried out."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from contextlib import suppress

from adapters.intents import Plan
from adapters.text import clean, clean_lines
from console.gate import Prepared

MOST_TARGETS = 20


def can_ask() -> bool:
    """A person sits at a terminal and sees what we write to standard error."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def answered_yes(prepared: Prepared) -> str | None:
    """Put the question; returns what was typed where it answers it, None for no. What was typed ahead is dropped."""
    confirm = prepared.confirm
    if confirm.how == "key":
        question = "Do it? [y/N] "
    else:
        why = f"{clean(confirm.why)}. " if confirm.why else ""
        question = f"{why}Type {clean(confirm.asks or confirm.expected)} to go on: "
    with suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    print(question, end="", file=sys.stderr, flush=True)
    typed = (await _line()).strip()
    if confirm.how == "key":
        return "y" if typed.lower() in ("y", "yes") else None
    return typed if confirm.accepts(typed) else None


async def _line() -> str:
    """One line of the terminal; the loop goes on and Ctrl-C ends the wait. Empty at the end of input."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    descriptor = sys.stdin.fileno()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, 4096).decode("utf-8", "replace")


def plan_lines(plan: Plan, notes: tuple[str, ...] = ()) -> list[str]:
    """Everything a person is asked to agree to: the targets, what changes, the exact requests, warnings, undo."""
    lines = [clean(plan.intent.describe()), *(f"  note: {clean(note)}" for note in notes)]
    targets = plan.targets
    for target in targets[:MOST_TARGETS]:
        owner = f", of {clean(target.owner)}" if target.owner else ""
        label = f" {clean(target.label)}" if target.label and target.label != target.ref.id else ""
        lines.append(f"  target: {clean(str(target.ref))}{label} ({clean(target.state)}{owner})")
    if len(targets) > MOST_TARGETS:
        lines.append(f"  and {len(targets) - MOST_TARGETS} more targets: {len(targets)} in all")
    for change in plan.changes:
        where = f"{clean(change.ref.id)} " if change.ref else ""
        lines.append(f"  change: {where}{clean(change.field)}: {clean(change.before)} -> {clean(change.after)}")
    for step in plan.steps:
        request = [cleaned for line in step.request.lines() for cleaned in clean_lines(line)]
        lines += [f"  send:   {request[0]}", *(f"          {line}" for line in request[1:])]
    lines += [f"  warning: {clean(warning)}" for warning in plan.warnings]
    if plan.undo:
        lines.append(f"  undo:   {clean(plan.undo)}")
    return lines
