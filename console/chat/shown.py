"""What reads give, as short Markdown: tables and facts, figures from the result and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from adapters.text import clean_lines
from adapters.units import exact_duration, show_duration, show_size
from console.chat.saying import Language, literal, say, state
from console.chat.words import WORDS
from console.tools.advanced import Estimated, Suggested
from console.tools.reads import AuditAnswer, JobAnswer, JobList, Log, MetricsAnswer, NodeList, QueueList
from console.tools.rows import JobRow

MOST_ROWS, MOST_LOG = 15, 30
_CELL = 48


def jobs(found: JobList, lang: Language) -> str:
    if not found.total:
        return say("no_jobs", lang)
    head = _total("jobs", found.total, lang) + _counts(found.by_status, lang)
    rows = [
        (job.id, job.name, state(job.status, lang), job.queue, job.owner, job.cores, _span(job.elapsed_seconds))
        for job in found.jobs[:MOST_ROWS]
    ]
    return f"{head}\n\n{_table('job_columns', rows, lang)}{_more(found.total, len(rows), lang)}"


def job(found: JobAnswer, lang: Language) -> str:
    job = found.job
    pairs = [(WORDS[f"field_{name}"][lang], value) for name, value in _facts(job, lang) if value not in (None, "", "-")]
    pairs += [(WORDS["field_dependencies"][lang], f"{d['kind']} {d['id']}") for d in job.dependencies[:5]]
    lines = [say("job", lang, id=job.id, name=job.name, status=state(job.status, lang)) + exit(job.exit_code, lang)]
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


def queues(found: QueueList, lang: Language) -> str:
    if not found.total:
        return say("no_queues", lang)
    rows = [
        (q.name, state(q.status, lang), q.running_jobs, q.pending_jobs, show_duration(q.max_walltime_seconds))
        for q in found.queues[:MOST_ROWS]
    ]
    head = _total("queues", found.total, lang)
    return f"{head}\n\n{_table('queue_columns', rows, lang)}{_more(found.total, len(rows), lang)}"


def nodes(found: NodeList, lang: Language) -> str:
    if not found.total:
        return say("no_nodes", lang)
    rows = [
        (n.name, state(n.status, lang), n.slots_used, n.slots_quota, n.slots_total, n.reason)
        for n in found.nodes[:MOST_ROWS]
    ]
    head = _total("nodes", found.total, lang) + _counts(found.by_status, lang)
    return f"{head}\n\n{_table('node_columns', rows, lang)}{_more(found.total, len(rows), lang)}"


def log(found: Log, lang: Language) -> str:
    if not found.lines:
        return say("no_log", lang, stream=found.stream, id=found.id)
    shown = found.lines[-MOST_LOG:]
    return "\n".join([say("log", lang, stream=found.stream, id=found.id), "", *code(shown)])


def metrics(found: MetricsAnswer, lang: Language) -> str:
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


def estimated(found: Estimated, lang: Language) -> str:
    if found.expected_seconds is None:
        return f"{say('no_estimate', lang)} {literal(found.note, 300)}".strip()
    spread = show_duration(found.low_seconds), show_duration(found.high_seconds)
    line = say("estimate", lang, about=show_duration(found.expected_seconds), low=spread[0], high=spread[1])
    return f"{line} {say('basis', lang, basis=found.basis, sample=found.sample)} {literal(found.note, 300)}".strip()


def suggested(found: Suggested, lang: Language) -> str:
    if not found.resources:
        return say("no_suggestion", lang)
    shown = {"memory_bytes": show_size, "walltime_seconds": exact_duration}
    lines = [say("suggestion", lang, sample=found.sample)]
    for name, value in found.resources.items():
        field = WORDS[f"field_{name.removesuffix('_bytes').removesuffix('_seconds')}"][lang]
        because = f" ({literal(found.because[name], 200)})" if name in found.because else ""
        lines.append(f"- {field}: {shown.get(name, str)(value)}{because}")
    return "\n".join(lines)


def audit(found: AuditAnswer, lang: Language) -> str:
    if not found.records:
        return say("no_records", lang)
    rows = [
        tuple(record.get(name) for name in ("time", "kind", "origin", "action", "decision"))
        for record in found.records[-MOST_ROWS:]
    ]
    return _table("audit_columns", rows, lang)


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


def exit(code: int | None, lang: Language) -> str:
    return f" {say('exit', lang, code=code)}" if code is not None else ""


def _span(seconds: int | None) -> str | None:
    return show_duration(seconds) if seconds is not None else None


def _time(at: datetime | None) -> str | None:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at is not None else None


def code(lines: Sequence[str]) -> list[str]:
    """Lines as they are, in a block that none of them can end."""
    fence = "`" * (max((len(run) for line in lines for run in re.findall(r"`{3,}", line)), default=2) + 1)
    return [fence, *(part for line in lines for part in clean_lines(line, 400)), fence]
