"""What a tool gave, in the words of the person's language: short Markdown, figures from the result and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.base import AdapterError
from adapters.intents import INTENTS
from adapters.text import clean
from console.agent_answers import Proposed
from console.chat import shown
from console.chat.calls import NOT_ANSWERED, Outcome
from console.chat.causes_zh import CAUSES_ZH
from console.chat.saying import Language, literal, say, state
from console.chat.shown import MOST_ROWS, code, exit
from console.chat.words import ACTIONS_ZH, PROPOSED, WORDS
from console.diagnosis.causes import CAUSES
from console.gate import AgentScope
from console.tools.advanced import Diagnosis, Estimated, Suggested
from console.tools.reads import AuditAnswer, JobAnswer, JobList, Log, MetricsAnswer, NodeList, QueueList, Waited
from console.tools.tool import Result


def told(outcome: Outcome, lang: Language) -> str:
    """What came of one call. A failure says so with its hint, and never looks like an empty answer."""
    if outcome.note == NOT_ANSWERED:
        return say("not_answered", lang)
    if outcome.error is not None:
        return failure(outcome.error)
    assert outcome.result is not None
    return result(outcome.result, lang)


def failure(error: AdapterError) -> str:
    """``**Not found**: There is no job 77.``"""
    hint = f"\n\n{literal(error.hint, 400)}" if error.hint else ""
    return f"**{error.title}**: {literal(error.message, 600)}{hint}"


def result(found: Result, lang: Language) -> str:
    """The answer of a tool."""
    match found:
        case JobList():
            return shown.jobs(found, lang)
        case JobAnswer():
            return shown.job(found, lang)
        case QueueList():
            return shown.queues(found, lang)
        case NodeList():
            return shown.nodes(found, lang)
        case Log():
            return shown.log(found, lang)
        case MetricsAnswer():
            return shown.metrics(found, lang)
        case Waited():
            key = "reached" if found.reached else "not_reached"
            return say(key, lang, id=found.id, status=state(found.status, lang)) + exit(found.exit_code, lang)
        case Diagnosis():
            return diagnosis(found, lang)
        case Estimated():
            return shown.estimated(found, lang)
        case Suggested():
            return shown.suggested(found, lang)
        case AuditAnswer():
            return shown.audit(found, lang)
        case Proposed():
            return proposed(found, lang)
    return literal(str(found.model_dump(mode="json")), 1000)


def proposed(found: Proposed, lang: Language) -> str:
    """What became of a write."""
    key = found.state if found.result is None else f"sent_{found.result}"
    lines = [PROPOSED[key][lang].format(what=literal(_action(found, lang)))]
    if found.created:
        lines.append(say("created", lang, ids=", ".join(found.created)))
    if found.state == "shown":
        lines += ["", *code(found.requests)]
    elif found.result not in (None, "accepted"):
        lines += ["", *(f"- {literal(line, 300)}" for line in found.outcomes[:MOST_ROWS])]
    if found.note and found.state != "declined":  # the person knows what they said
        lines += ["", literal(found.note, 400)]
    return "\n".join(lines)


def _action(found: Proposed, lang: Language) -> str:
    """``Cancel 12``, ``取消 12``."""
    title = INTENTS[found.action].title
    if lang == "zh" and found.action in ACTIONS_ZH and found.summary.startswith(title):
        return f"{ACTIONS_ZH[found.action]}{found.summary[len(title) :]}"
    return found.summary


def scope_words(scope: AgentScope, lang: Language) -> str:
    """The scope in a line, as `AgentScope.words` does in English."""
    if lang == "en":
        return scope.words()
    whose = "只有我的作业" if scope.owners == "mine" else "任何人的作业"
    parts = []
    for what, names in (("队列", scope.queues), ("集群", scope.clusters)):
        listed = "、".join(clean(name, 64) for name in sorted(names or ()))
        parts.append(f"任何{what}" if names is None else f"{what} {listed}" if listed else f"没有{what}")
    return "，".join((whose, *parts))


def diagnosis(found: Diagnosis, lang: Language) -> str:
    """Cause, evidence, what would have to change."""
    title, summary, changes = _in_words(found, lang)
    lines = [say("cause", lang, cause=title, sure=WORDS[found.confidence][lang]), "", literal(summary, 600)]
    if found.blocker:
        lines += ["", say("blocker", lang, blocker=found.blocker)]
    if found.evidence:
        lines += ["", WORDS["evidence"][lang]]
        lines += [f"- {literal(e['source'], 80)}: {literal(e['quote'], 240)}" for e in found.evidence[:8]]
    if changes:
        lines += ["", WORDS["changes"][lang], *(f"- {literal(change, 300)}" for change in changes[:5])]
    return "\n".join(lines)


def _in_words(found: Diagnosis, lang: Language) -> tuple[str, str, Sequence[str]]:
    """Title, sentence and what to do; what was said of this very job stays as it was said."""
    known = CAUSES[found.cause]
    if lang == "en":
        return known.title, found.summary, found.changes
    zh = CAUSES_ZH[found.cause]
    summary = zh.sentence if found.summary == known.sentence else found.summary
    return zh.title, summary, zh.changes if tuple(found.changes) == known.changes else found.changes
