"""``pilothouse doctor llm``: what the endpoint of the chat's model can do, and what to set for it."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import Callable, Iterable

from adapters.text import clean
from console.audit.redact import redact_text
from console.chat.endpoint import Endpoint, endpoint_for
from console.chat.probe import probe
from console.cli.doctor import Check
from console.cli.exits import USAGE
from console.config import ConfigError, load

Report = Callable[[Iterable[Check]], None]


def run_llm(args: Namespace, report: Report, code: Callable[[], int]) -> int:
    """Report the endpoint and every trial; `code` gives the exit code for what was reported."""
    try:
        config = load(args.config)
    except ConfigError as error:
        report([Check("configuration", "bad", f"{error.title}: {error.message}", error.hint, error.code)])
        return USAGE
    endpoint = endpoint_for(config, os.environ)
    if endpoint is None:
        report([Check("model", "bad", *_none(config.chat.enabled))])
        return code()
    key = f"the key comes from {endpoint.key_from}" if endpoint.key_from != "none is sent" else "no key is sent"
    where = clean(redact_text(endpoint.base_url), 300)
    report([Check("model", "ok", f"{clean(endpoint.model, 200)} at {where}; {key}")])
    if not args.offline:
        asyncio.run(_try(endpoint, report))
    return code()


def _none(enabled: bool) -> tuple[str, str]:
    if not enabled:
        return "turned off by [chat] enabled = false; the chat's own grammar answers", ""
    told = "no model, or no key for it, is configured; the chat's own grammar answers"
    return told, "Set [chat] model, and key_file or ANTHROPIC_API_KEY; base_url for another endpoint than Anthropic's."


async def _try(endpoint: Endpoint, report: Report) -> None:
    wanted: list[str] = []
    async for found in probe(endpoint):
        report([Check(found.name, found.state, found.message, found.hint, found.code)])
        wanted += [found.set] if found.set else []
    if wanted:
        report([Check("to set", "note", f"[chat] {', '.join(wanted)}")])
