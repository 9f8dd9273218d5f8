"""What `doctor` shows of a Kubernetes cluster: version, identity, rights, what is watched and what is not."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from adapters.base import AdapterError, Forbidden
from adapters.intents import INTENTS
from adapters.kubernetes.access import Right
from adapters.kubernetes.credentials import warnings_of
from adapters.kubernetes.discovery import Offer
from adapters.kubernetes.reader import KubernetesReader
from adapters.kubernetes.resources import OPTIONAL_GROUPS, RESOURCES, Resource


@dataclass(frozen=True, slots=True)
class Report:
    """Sentences for a person, and the figures in them.

    Args:
        backend: name and version.
        lines: everything, in order; failures are among them.
        failures: what did not answer, in the server's words.
        watched: what is followed, and where: the whole cluster, or these namespaces.
        unwatched: what is not, and why.
    """

    backend: str
    lines: tuple[str, ...]
    failures: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    unwatched: tuple[str, ...] = ()


async def report(reader: KubernetesReader) -> Report:
    """Ask the server once about everything. Raises nothing that it said."""
    config = reader.api.config
    where = f"Context {config.context}, server {config.server}, namespace {config.namespace}."
    try:
        offer = await reader.offer()
        identity = await reader.whoami()
        found = await reader.capabilities()
    except AdapterError as error:
        lines = (where, *warnings_of(config), error.message, error.hint)
        return Report("kubernetes", tuple(line for line in lines if line), (error.message,))
    watched, unwatched = await _watched(reader, offer)
    missing = [f"{INTENTS[verb].title or verb}: {found.why_not(verb)}" for verb in INTENTS if found.why_not(verb)]
    lines = (
        f"{found.backend}; {where}",
        f"Signed in as {identity.name} ({identity.role or 'no groups'}).",
        *found.notes,
        f"Can: {', '.join(sorted(found.supported)) or 'nothing but look'}.",
        *(f"Cannot: {reason}" for reason in missing),
        f"Watched: {'; '.join(watched) or 'nothing'}.",
        *(f"Not watched: {reason}" for reason in unwatched),
    )
    return Report(found.backend, lines, (), tuple(watched), tuple(unwatched))


async def _watched(reader: KubernetesReader, offer: Offer) -> tuple[list[str], list[str]]:
    """What may be followed, asked by the rights to list and to watch it."""
    kinds = list(offer.kinds.values())
    answers = await asyncio.gather(*(_follow(reader, kind) for kind in kinds))
    watched = [f"{kind.title} ({place})" for kind, (place, _) in zip(kinds, answers, strict=True) if place]
    unwatched = [f"{kind.title}: {why}" for kind, (place, why) in zip(kinds, answers, strict=True) if not place]
    absent = {RESOURCES[key].group for key in RESOURCES} & set(OPTIONAL_GROUPS) - offer.groups
    return watched, unwatched + [f"{group}: this cluster does not have it." for group in sorted(absent)]


async def _follow(reader: KubernetesReader, kind: Resource) -> tuple[str, str]:
    """Where a kind is followed, or why it is not."""
    reason = await _refused(reader, kind, "")
    if reason is None:
        return "the whole cluster", ""
    if not kind.namespaced:
        return "", reason
    try:
        namespaces = await reader.narrow(kind)
    except Forbidden as error:
        return "", error.message
    readable = [name for name in namespaces if await _refused(reader, kind, name) is None]
    return ", ".join(readable[:10]), reason


async def _refused(reader: KubernetesReader, kind: Resource, namespace: str) -> str | None:
    for verb in ("list", "watch"):
        reason = await reader.access.why_not(Right(verb, kind.group, kind.plural, namespace))
        if reason is not None:
            return reason
    return None
