"""What a planner is told of the state beside the transcript: clusters, what they can and cannot do, scope, watches.

The same state gives the same bytes. Whatever a cluster says of itself stands in JSON quotes: data, never instructions.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress

from adapters.base import Capabilities
from adapters.intents import INTENTS
from adapters.text import clean
from console.chat.follow import Watch
from console.cluster import Cluster
from console.engine import Engine
from console.gate import Proposal
from console.tools import TOOLS

LEARN_WITHIN = 5.0  # seconds that a cluster is given to say what it can do, before a turn goes on without
_MOST_EXTENSIONS = 60
_VERB_OF = {"drain_node": "drain", "undrain_node": "undrain"}
_VERBS = tuple(
    sorted(
        _VERB_OF.get(word, word)
        for word in (name.removeprefix("scheduler_") for name, tool in TOOLS.items() if tool.kind == "write")
    )
)


async def learn(engine: Engine) -> None:
    """Have every cluster that has not yet said what it can do say so, if it does so soon. Raises nothing."""
    unknown = [cluster for cluster in engine.clusters.values() if cluster.reader and cluster.capabilities is None]
    if unknown:
        with suppress(TimeoutError):
            async with asyncio.timeout(LEARN_WITHIN):
                await asyncio.gather(*(cluster.learn() for cluster in unknown), return_exceptions=True)


def briefing(engine: Engine, watches: Iterable[Watch], proposals: Sequence[Proposal]) -> str:
    """The text, as it is now."""
    default = engine.config.default
    lines = ["Clusters:"]
    for cluster in engine.clusters.values():
        lines += _cluster(cluster, cluster.name == default)
    lines += [
        "",
        f"Scope of what you may propose: {engine.gate.agents.scope.words()}. Only a key of the person's own widens it.",
    ]
    if watched := [watch.words() for watch in watches]:
        lines += ["", "Watches that run (each reports by itself; never ask in their place):"]
        lines += [f"- {words}" for words in watched]
    if proposals:
        lines += ["", "Proposals that wait in the inbox for the person:"]
        lines += [f"- {json.dumps(clean(p.prepared.intent.describe(), 200), ensure_ascii=False)}" for p in proposals]
    return "\n".join(lines)


def _cluster(cluster: Cluster, default: bool) -> list[str]:
    name = f"- {clean(cluster.name, 64)}{' (the default)' if default else ''}, type {cluster.profile.type}"
    if cluster.reader is None:
        return [f"{name}: cannot be opened ({cluster.error.title if cluster.error else 'not started'})."]
    if cluster.capabilities is None:
        return [f"{name}: has not said what it can do."]
    known = cluster.capabilities
    lines = [f"{name}: {_quoted(known.backend)}; changes arrive {'by themselves' if known.push else 'by polling'}."]
    can = [verb for verb in _VERBS if known.why_not(verb) is None and verb not in known.persons_only]
    lines.append(f"  can: {', '.join(can) or 'nothing but be read'}")
    lines += [f"  cannot: {verb}: {_quoted(_why_not(known, verb))}" for verb in _VERBS if verb not in can]
    if known.absent.get("job"):
        lines.append(f"  never tells of a job: {', '.join(sorted(known.absent['job']))}")
    shown = sorted(known.extensions.items())[:_MOST_EXTENSIONS]
    lines += [f"  extension {clean(field, 64)}: {_quoted(meaning)}" for field, meaning in shown]
    return lines


def _why_not(known: Capabilities, verb: str) -> str:
    if verb in known.persons_only or INTENTS[verb].persons_only:
        return "only a person may, with a key of their own"
    return known.why_not(verb) or ""


def _quoted(text: str) -> str:
    return json.dumps(clean(text, 240), ensure_ascii=False)
