"""What a tool gave, in the words of the person's language: short Markdown, figures from the result and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from adapters.base import AdapterError
from adapters.intents import INTENTS
from adapters.text import clean, clean_lines
from adapters.units import show_duration, show_size
from console.agent_answers import Proposed
from console.chat.calls import NOT_ANSWERED, Outcome
from console.chat.causes_zh import CAUSES_ZH
from console.chat.words import ACTIONS_ZH, PROPOSED, STATES_ZH, WORDS
from console.diagnosis.causes import CAUSES
from console.gate import AgentScope
from console.tools.advanced import Diagnosis, Estimated, Suggested
from console.tools.reads import AuditAnswer, JobAnswer, JobList, Log, MetricsAnswer, NodeList, QueueList, Waited
from console.tools.rows import JobRow
from console.tools.tool import Result

Language: TypeAlias = Literal["en", "zh"]
MOST_ROWS, MOST_LOG = 15, 30
_CELL = 48


def language(text: str) -> Language:
    """Chinese where the sentence holds a Chinese character, else English."""
    return "zh" if re.search(r"[\u3400-\u9fff]", text) else "en"


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


def say(key: str, lang: Language, **values: object) -> str:
    """A fixed sentence with its values, which are shown literally."""
    return WORDS[key][lang].format(**{name: literal(str(value)) for name, value in values.items()})


def literal(text: str, limit: int = 200) -> str:
    """Text from outside, so that nothing in it is markup."""
    return re.sub(r"([\\`*_\[\]<>|~#&!])", r"\\\1", clean(text, limit))


def result(found: Result, lang: Language) -> str:
    """The answer of a tool."""
    match found:
        case JobList():
            return _jobs(found, lang)
        case JobAnswer():
            return _job(found, lang)
        case QueueList():
            return _queues(found, lang)
        case NodeList():
            return _nodes(found, lang)
        case Log():
            return _log(found, lang)
        case MetricsAnswer():
            return _metrics(found, lang)
        case Waited():
            key = "reached" if found.reached else "not_reached"
            return say(key, lang, id=found.id, status=state(found.status, lang)) + _exit(found.exit_code, lang)
        case Diagnosis():
            return diagnosis(found, lang)
        case Estimated():
            return _estimated(found, lang)
        case Suggested():
            return _suggested(found, lang)
        case AuditAnswer():
            return _audit(found, lang)
        case Proposed():
            return proposed(found, lang)
    return literal(str(found.model_dump(mode="json")), 1000)


def state(status: str, lang: Language) -> str:
    return STATES_ZH.get(status, status) if lang == "zh" else status


def proposed(found: Proposed, lang: Language) -> str:
    """What became of a write."""
    key = found.state if found.result is None else f"sent_{found.result}"
    lines = [PROPOSED[key][lang].format(what=literal(_action(found, lang)))]
    if found.created:
        lines.append(say("created", lang, ids=", ".join(found.created)))
    if found.state == "shown":
        lines += ["", *_code(found.requests)]
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


def _jobs(found: JobList, lang: Language) -> str:
    if not found.total:
        return say("no_jobs", lang)
    head = _total("jobs", found.total, lang) + _counts(found.by_status, lang)
    rows = [
        (job.id, job.name, state(job.status, lang), job.queue, job.owner, job.cores, _span(job.elapsed_seconds))
        for job in found.jobs[:MOST_ROWS]
    ]
    return f"{head}\n\n{_table('job_columns', rows, lang)}{_more(found.total, len(rows), lang)}"


def _job(found: JobAnswer, lang: Language) -> str:
    job = found.job
    pairs = [(WORDS[f"field_{name}"][lang], value) for name, value in _facts(job, lang) if value not in (None, "", "-")]
    pairs += [(WORDS["field_dependencies"][lang], f"{d['kind']} {d['id']}") for d in job.dependencies[:5]]
    lines = [say("job", lang, id=job.id, name=job.name, status=state(job.status, lang)) + _exit(job.exit_code, lang)]
    return "\n".join([*lines, "", *(f"- {name}: {literal(str(value), 240)}" for name, value in pairs)])


def _facts(job: JobRow, lang: Language) -> Iterable[tuple[str, Any]]:
    yield "reason", job.reason
    yield "owner", job.owner
    yield "queue", job.queue
    yield "nodes", " ".join(job.node_names)
    yield "cores", job.cores
    yield "gpus", job.gpus
    yield "memory", show_size(job.memory_bytes)
    yield "walltime", show_duration(job.walltime_seconds)
    yield "elapsed", _span(job.elapsed_seconds)
    yield "submitted", _time(job.submission_time)
    yield "started", _time(job.start_time)
    yield "ended", _time(job.end_time)


def _queues(found: QueueList, lang: Language) -> str:
    if not found.total:
        return say("no_queues", lang)
    rows = [
        (q.name, state(q.status, lang), q.running_jobs, q.pending_jobs, show_duration(q.max_walltime_seconds))
        for q in found.queues[:MOST_ROWS]
    ]
    head = _total("queues", found.total, lang)
    return f"{head}\n\n{_table('queue_columns', rows, lang)}{_more(found.total, len(rows), lang)}"


def _nodes(found: NodeList, lang: Language) -> str:
    if not found.total:
        return say("no_nodes", lang)
    rows = [
        (n.name, state(n.status, lang), n.slots_used, n.slots_quota, n.slots_total, n.reason)
        for n in found.nodes[:MOST_ROWS]
    ]
    head = _total("nodes", found.total, lang) + _counts(found.by_status, lang)
    return f"{head}\n\n{_table('node_columns', rows, lang)}{_more(found.total, len(rows), lang)}"


def _log(found: Log, lang: Language) -> str:
    if not found.lines:
        return say("no_log", lang, stream=found.stream, id=found.id)
    shown = found.lines[-MOST_LOG:]
    return "\n".join([say("log", lang, stream=found.stream, id=found.id), "", *_code(shown)])


def _metrics(found: MetricsAnswer, lang: Language) -> str:
    figures = found.metrics
    lines = [say("metrics", lang, cluster=found.cluster)]
    for name in ("jobs", "nodes"):
        counts = {key: count for key, count in (figures.get(name) or {}).items() if count}
        told_ = ", ".join(f"{count} {literal(state(key, lang))}" for key, count in counts.items())
        lines.append(f"- {WORDS[f'many_{name}'][lang]}: {told_ or '0'}")
    for name in ("cores", "gpus", "slots"):
        used, total = figures.get(f"{name}_used"), figures.get(f"{name}_total")
        if total is not None:
            lines.append(f"- {WORDS[f'many_{name}'][lang]}: {'-' if used is None else used} / {total}")
    if figures.get("memory_bytes_total") is not None:
        used, total = figures.get("memory_bytes_used"), figures["memory_bytes_total"]
        lines.append(f"- {WORDS['field_memory'][lang]}: {show_size(used)} / {show_size(total)}")
    return "\n".join(lines)


def _estimated(found: Estimated, lang: Language) -> str:
    if found.expected_seconds is None:
        return f"{say('no_estimate', lang)} {literal(found.note, 300)}".strip()
    spread = show_duration(found.low_seconds), show_duration(found.high_seconds)
    line = say("estimate", lang, about=show_duration(found.expected_seconds), low=spread[0], high=spread[1])
    return f"{line} {say('basis', lang, basis=found.basis, sample=found.sample)} {literal(found.note, 300)}".strip()


def _suggested(found: Suggested, lang: Language) -> str:
    if not found.resources:
        return say("no_suggestion", lang)
    shown = {"memory_bytes": show_size, "walltime_seconds": show_duration}
    lines = [say("suggestion", lang, sample=found.sample)]
    for name, value in found.resources.items():
        field = WORDS[f"field_{name.removesuffix('_bytes').removesuffix('_seconds')}"][lang]
        because = f" ({literal(found.because[name], 200)})" if name in found.because else ""
        lines.append(f"- {field}: {shown.get(name, str)(value)}{because}")
    return "\n".join(lines)


def _audit(found: AuditAnswer, lang: Language) -> str:
    if not found.records:
        return say("no_records", lang)
    rows = [
        tuple(record.get(name) for name in ("time", "kind", "origin", "action", "decision"))
        for record in found.records[-MOST_ROWS:]
    ]
    return _table("audit_columns", rows, lang)


# -- pieces


def _table(columns: str, rows: Sequence[Sequence[Any]], lang: Language) -> str:
    names = WORDS[columns][lang].split("|")
    lines = [names, ["---"] * len(names), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    return "-" if value is None or value == "" else literal(str(value), _CELL)


def _total(what: str, total: int, lang: Language) -> str:
    return say(f"{what}_one" if total == 1 else what, lang, total=total)


def _more(total: int, shown: int, lang: Language) -> str:
    return f"\n\n{say('more', lang, shown=shown, total=total)}" if total > shown else ""


def _counts(counts: Mapping[str, int], lang: Language) -> str:
    shown = ", ".join(f"{count} {state(name, lang)}" for name, count in counts.items() if count)
    return f" ({shown})" if shown else ""


def _exit(code: int | None, lang: Language) -> str:
    return f" {say('exit', lang, code=code)}" if code is not None else ""


def _span(seconds: int | None) -> str | None:
    return show_duration(seconds) if seconds is not None else None


def _time(at: datetime | None) -> str | None:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at is not None else None


def _code(lines: Sequence[str]) -> list[str]:
    """Lines as they are, in a block that none of them can end."""
    fence = "`" * (max((len(run) for line in lines for run in re.findall(r"`{3,}", line)), default=2) + 1)
    return [fence, *(part for line in lines for part in clean_lines(line, 400)), fence]
