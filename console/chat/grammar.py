"""The offline grammar: common sentences, English and Chinese, to tool calls. A closed vocabulary, no guessing.

A write is only read as one when every word of the sentence has been accounted for ("do not cancel 12" is no
cancellation). Reads are more forgiving. The table `SENTENCES` is tried in order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from adapters.units import UnitError
from console.chat import clauses, phrases
from console.chat import grammar_acts as acts
from console.chat.phrases import Rest
from console.chat.said import Ask, Chain, Meaning, NotUnderstood, Said
from console.chat.submission import submission

MOST = 2000  # characters; what is longer is no sentence


class Sentence(NamedTuple):
    """How a sentence begins (or what it holds), and who reads the rest."""

    pattern: re.Pattern[str]
    read: Callable[[Rest], Meaning]


def understand(text: str) -> Meaning:
    """What a person's sentence means. Never raises for anything typed."""
    if len(text) > MOST:
        return NotUnderstood(text)
    sentence = phrases.normal(text)
    meaning = _whole(sentence)
    if isinstance(meaning, Ask) and not meaning.answers:
        return replace(meaning, answers=((f"{sentence} ", ""),))
    return NotUnderstood(text) if isinstance(meaning, NotUnderstood) else meaning


def _whole(sentence: str) -> Meaning:
    """The sentence with its clauses: what to tell afterwards, what comes one after another, which cluster."""
    if (wish := clauses.follow(sentence)) is not None:
        return _followed(wish)
    if (parts := clauses.chain(sentence)) is not None:
        return _chain(parts)
    where = clauses.cluster(sentence)
    if (
        where is not None
        and where.towards
        and re.search(r"^(?:please )?(?:move|migrate|transfer)\b|移到|迁移|转移|移动", sentence, phrases.FLAGS)
    ):
        return Ask(
            f"A job is moved in two steps: submit it on cluster {where.name}, then cancel it here.",
            f"作业分两步移动：先在 {where.name} 集群提交，再在这里取消。",
        )
    meaning = _single(where.rest if where is not None else sentence)
    if where is not None and isinstance(meaning, Ask):  # the answer is meant for that cluster, too
        return replace(meaning, answers=tuple((h, f"{t} on cluster {where.name}") for h, t in meaning.answers))
    if where is None or not isinstance(meaning, Said):
        return meaning
    if where.towards and meaning.tool != "scheduler_submit":
        return NotUnderstood(sentence)
    return replace(meaning, args={**meaning.args, "cluster": where.name})


def _single(sentence: str) -> Meaning:
    for entry in SENTENCES:
        found = entry.pattern.search(sentence)
        if found is None:
            continue
        rest = Rest(f"{sentence[: found.start()]} {sentence[found.end() :]}".strip())
        try:
            meaning = entry.read(rest)
        except UnitError as error:
            gap = re.split(r"\d+(?:\.\d+)?\s*[KMGT](?![A-Za-z])", sentence, maxsplit=1, flags=re.IGNORECASE)
            return Ask(str(error), f"数量的单位不明确：{error}", ((gap[0], gap[1]),) if len(gap) == 2 else ())
        if not isinstance(meaning, NotUnderstood):
            return meaning
    return NotUnderstood(sentence)


def _followed(wish: clauses.Wish) -> Meaning:
    """A submission and what to tell of it; or a job that is there already."""
    if wish.rest and not wish.subject:
        meaning = _whole(wish.rest)
        if isinstance(meaning, Said) and meaning.tool == "scheduler_wait":
            meaning = Said("scheduler_get_job", {"id": meaning.args["id"]})
        submits = isinstance(meaning, Chain) or (isinstance(meaning, Said) and meaning.tool in _FOLLOWED)
        if isinstance(meaning, Said | Chain):
            return replace(meaning, follow=wish.heard) if submits else NotUnderstood(wish.rest)
        return meaning
    if wish.rest:
        return NotUnderstood(wish.rest)
    where = clauses.cluster(wish.subject)
    rest = Rest(where.rest if where is not None else wish.subject)
    ids = phrases.job_ids(rest)
    if rest.left(acts.POLITE):
        return NotUnderstood(wish.subject)
    if not ids or len(ids) > 1:
        told = "Which job is to be watched? Give one id.", "要关注哪个作业？请给出一个编号。"
        before = {"failed": "tell me if job ", "started": "tell me when job "}.get(wish.heard, "watch job ")
        after = {"failed": " fails", "started": " starts"}.get(wish.heard, "")
        return Ask(*told, ((before, after),), last=not ids)
    args = {"id": ids[0], **({"cluster": where.name} if where is not None else {})}
    return Said("scheduler_get_job", args, follow=wish.heard)


_FOLLOWED = ("scheduler_submit", "scheduler_get_job", "scheduler_requeue")


def _chain(parts: clauses.Parts) -> Meaning:
    steps = []
    for part in parts.parts:
        if isinstance(_whole(part), Said | Ask):  # `run a, then cancel 12` is no submission of `cancel 12`
            return NotUnderstood(part)
        quoted = f'"{part}"' if re.fullmatch(r"[\w./-]+", part) else part
        meaning = _whole(f"run {quoted} {parts.together}".strip())
        if isinstance(meaning, Ask):
            return replace(meaning, answers=())
        if not isinstance(meaning, Said) or meaning.tool != "scheduler_submit" or meaning.args.get("dry_run"):
            return NotUnderstood(part)
        if "dependencies" in meaning.args or "array" in meaning.args:
            return NotUnderstood(part)
        steps.append(meaning)
    return Chain(tuple(steps), parts.kind)


def _why(rest: Rest) -> Meaning:
    ids = phrases.job_ids(rest)
    if ids:
        failed = re.search(r"fail|crash|die|失败|出错|挂了|崩溃", rest.text, phrases.FLAGS)
        tool = "scheduler_analyze_failure" if failed else "scheduler_why"
        return Said(tool, {"id": ids[0]})
    if re.search(
        r"nothing|no jobs?\b|any(?:thing)?|cluster|没有(?:任何)?(?:作业|任务)|都不|集群", rest.text, re.IGNORECASE
    ):
        return Said("scheduler_why", {})
    return Ask(
        "Why what? Give the id of a job, or ask why nothing starts.",
        "什么的原因？请给出作业编号，或问为什么没有作业开始。",
        (("why ", ""),),
        last=True,
    )


def _logs(rest: Rest) -> Meaning:
    stream = "stderr" if rest.take(r"\b(?:stderr|errors?(?: output)?)\b|错误(?:输出|日志)") else "stdout"
    lines = rest.take(
        r"\b(?:last|final)\s+(?P<n>\d+)\s+lines?(?:\s+of)?",
        r"(?P<n>\d+)\s+lines?(?:\s+of)?",
        r"(?:最后|末尾)\s*(?P<n>\d+)\s*行",
    )
    ids = phrases.job_ids(rest)
    if not ids:
        return Ask(
            "The log of which job? Give its id.",
            "要看哪个作业的日志？请给出编号。",
            (("show the log of job ", ""),),
            last=True,
        )
    args: dict[str, object] = {"id": ids[0], "stream": stream}
    return Said("scheduler_job_logs", args | ({"tail": int(lines["n"])} if lines else {}))


def _analyze(rest: Rest) -> Meaning:
    ids = phrases.job_ids(rest)
    if not ids:
        zh = "要分析哪个作业？请给出编号。"
        return Ask("Which job is to be analysed? Give its id.", zh, (("why did job ", " fail"),), last=True)
    return Said("scheduler_analyze_failure", {"id": ids[0]})


def _suggest(rest: Rest) -> Meaning:
    what = re.sub(
        r"^(?:the )?(?:resources?|limits?)?\s*(?:for|of)?\s*(?:a |the )?(?:job |command )?|资源|给|为|建议|推荐|的",
        "",
        rest.text,
    )
    what = what.strip(" ,，\"'`“”")
    return Said("scheduler_suggest_resources", {"description": what}) if what else NotUnderstood(rest.text)


def _estimate(rest: Rest) -> Meaning:
    """``how long will job 12 wait``, ``how long would 8 cores wait in queue gpu``."""
    args: dict[str, object] = {}
    if (queue := phrases.queue(rest)) is not None:
        args["queue"] = queue
    for name, unit in (("cores", r"cores?|cpus?|核心?"), ("gpus", r"gpus?|显卡|卡")):
        if (number := phrases.count(rest, unit)) is not None:
            args[name] = number
    if not args and (ids := phrases.job_ids(rest)):
        args["id"] = ids[0]
    return Said("scheduler_estimate_wait_time", args) if args else NotUnderstood(rest.text)


def _start(rest: Rest) -> Meaning:
    ids = phrases.job_ids(rest)
    return Said("scheduler_why", {"id": ids[0]}) if ids else NotUnderstood(rest.text)


def _wait(rest: Rest) -> Meaning:
    ids = phrases.job_ids(rest)
    return (
        Said("scheduler_wait", {"id": ids[0], "until": "finished"})
        if ids
        else Ask("Wait for which job?", "等待哪个作业？", (("wait for job ", ""),), last=True)
    )


def _it(rest: Rest) -> Meaning:
    return Ask(
        "Which job is to be shown? Give its id.", "要查看哪个作业？请给出编号。", (("show job ", ""),), last=True
    )


def _show(rest: Rest) -> Meaning:
    """Nodes, queues, metrics, the audit log, one job, or a list of jobs."""
    text = rest.text
    if re.search(
        r"\bqueues\b|\bpartitions\b|(?:所有|全部|有哪些|哪些)\s*(?:队列|分区)|^(?:队列|分区)(?:列表|状态)?$",
        text,
        re.IGNORECASE,
    ):
        return Said("scheduler_list_queues", {})
    if re.search(r"\bnodes\b|\bhosts\b|节点|主机", text, re.IGNORECASE):
        return Said("scheduler_list_nodes", {})
    if re.search(r"\baudit\b|审计", text, re.IGNORECASE):
        return Said("scheduler_audit_tail", {})
    if re.search(r"\bmetrics\b|\busage\b|\bcluster\b|\bbusy\b|集群|使用率|负载", text, re.IGNORECASE):
        return Said("scheduler_cluster_metrics", {})
    history = rest.take(r"\bhistory\b|历史")
    chosen = acts.filter(rest)
    ids = phrases.job_ids(rest)
    if ids and not history:
        return Said("scheduler_get_job", {"id": ids[0]})
    if re.search(r"\b(?:jobs?|tasks?)\b|作业|任务", text, re.IGNORECASE) or chosen:
        return Said("scheduler_job_history" if history else "scheduler_list_jobs", {"filter": chosen} if chosen else {})
    return NotUnderstood(text)


def _sentence(pattern: str, read: Callable[[Rest], Meaning]) -> Sentence:
    return Sentence(re.compile(pattern, phrases.FLAGS), read)


_LEAD = r"^(?:please |can you |could you |would you |i want to |i'd like to |请帮我|请|帮我|麻烦)?\s*"
SENTENCES: tuple[Sentence, ...] = (
    _sentence(r"^why\b(?:'s|\s+(?:is|are|did|does|do|has|was))?|为什么|为何|怎么(?:还|会)", _why),
    _sentence(r"^(?:show(?: me)?|describe|status of|what is|how is) (?:it|that|that job|this job)(?: doing)?$|^(?:查看|看看|显示)(?:它|这个作业)$|^它(?:的状态|怎么样了?)$", _it),
    _sentence(rf"{_LEAD}(?:analy[sz]e|diagnose)\b|^(?:请)?(?:分析|诊断)", _analyze),
    _sentence(rf"{_LEAD}(?:suggest|recommend)\b|^(?:请)?(?:建议|推荐)(?=.*资源)|(?:建议|推荐)(?:的)?资源|需要多少资源", _suggest),
    _sentence(r"^how long (?:will|would|do|does|must|shall)\b(?=.*\b(?:wait|start|queue))|(?:要|需要|会|得)?等(?:待)?多久|等待时间", _estimate),
    _sentence(r"^when (?:will|does|is)\b(?=.*\bstart)|什么时候(?:能|会)?(?:开始|运行)", _start),
    _sentence(rf"{_LEAD}(?=.*(?:\bquota\b|\bslots?\b|配额|额度|槽))(?!.*(?:what|show|list|多少|查看|显示))", acts.quota),
    _sentence(rf"{_LEAD}(?:undrain|resume node|re-?enable|enable)\b|(?:恢复|启用|解除排空)(?=\s*(?:节点)?\s*[A-Za-z])", acts.undrain),
    _sentence(rf"{_LEAD}drain\b|(?:排空|停用|下线)(?=\s*(?:节点)?\s*[A-Za-z])", acts.drain),
    _sentence(rf"{_LEAD}(?:cancel|kill|stop|terminate|abort|delete|scancel|bkill)\b|取消|终止|杀掉|杀死|停止|删除", acts.on_jobs("scheduler_cancel", "cancelled")),
    _sentence(rf"{_LEAD}(?:requeue|rerun)\b|重新排队|重新入队", acts.on_jobs("scheduler_requeue", "requeued")),
    _sentence(rf"{_LEAD}(?:release|unhold)\b|释放|解除保持", acts.on_jobs("scheduler_release", "released")),
    _sentence(rf"{_LEAD}(?:hold)\b|保持住?|扣住", acts.on_jobs("scheduler_hold", "held")),
    _sentence(rf"{_LEAD}(?:suspend|pause)\b|暂停(?!的|中)|挂起(?!的|等待)", acts.on_jobs("scheduler_suspend", "suspended")),
    _sentence(rf"{_LEAD}(?:resume|continue|unpause)\b|恢复|继续运行?", acts.on_jobs("scheduler_resume", "resumed")),
    _sentence(rf"{_LEAD}wait (?:for|until|on)\b|等待(?!中|的)(?=.*\d)|等(?=\s*(?:作业|任务)?\s*\d)", _wait),
    _sentence(rf"{_LEAD}(?:(?:show|print|get|give|see|tail|cat|read|view)\s+(?:me\s+)?)?(?!.*(?:\baudit\b|审计))(?=.*(?:\blogs?\b|\boutput\b|\bstderr\b|\bstdout\b|日志|输出))", _logs),
    _sentence(rf"{_LEAD}(?=(?:change|set|move|switch|extend|shorten|give|把|将|修改|延长)?.*(?:\bto\b|时限|改为|改成|移到|移动到|转到|延长))(?=.*(?:\bchange|\bset|\bmove|\bswitch|\bextend|\bshorten|改|移|转到|延长))", acts.modify),
    _sentence(rf"{_LEAD}(?:列出|显示|查看|看看|查询|有哪些|哪些)", _show),
    _sentence(rf"{_LEAD}(?:submit|run|launch|start|execute|sbatch|bsub)\b(?!\s*(?:jobs?|tasks?)?\s*$)", submission),
    _sentence(rf"{_LEAD}(?=.*(?:运行|提交|执行|跑)(?![中的])\s*\S)", submission),
    _sentence(rf"{_LEAD}(?:list|show|get|find|display|what|which|how(?: many| busy)?|status(?: of)?|describe)\b(?:(?:'s| is| are| me)\b)?|列出|显示|查看|看看|有哪些|哪些|多少|查询|状态", _show),
    _sentence(r"^(?=(?:my |all )?(?:\w+ )?(?:jobs|nodes|queues)$|.*的(?:作业|任务)$)", _show),
)  # fmt: skip
