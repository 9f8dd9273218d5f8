"""The offline grammar: common sentences, English and Chinese, to tool calls. A closed vocabulary, no guessing.

A write is only read as one when every word of the sentence has been accounted for ("do not cancel 12" is no
cancellation). Reads are more forgiving. The table `SENTENCES` is tried in order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from adapters.units import UnitError
from console.chat import phrases
from console.chat.phrases import Rest
from console.chat.said import Ask, Meaning, NotUnderstood, Said
from console.chat.submission import submission

_POLITE = (
    r"please|can you|could you|would you|i want to|i would like to|i'd like to|let'?s|now|just|the|a|an|that|job|jobs|"
    r"task|tasks|with|请帮我|请|帮我|麻烦|一下|把|将|作业|任务|掉|了|吧|的"
)


class Sentence(NamedTuple):
    """How a sentence begins (or what it holds), and who reads the rest."""

    pattern: re.Pattern[str]
    read: Callable[[Rest], Meaning]


def understand(text: str) -> Meaning:
    """What a person's sentence means. Never raises for anything typed."""
    sentence = phrases.normal(text)
    for entry in SENTENCES:
        found = entry.pattern.search(sentence)
        if found is None:
            continue
        rest = Rest(f"{sentence[: found.start()]} {sentence[found.end() :]}".strip())
        try:
            meaning = entry.read(rest)
        except UnitError as error:
            return Ask(str(error))
        if not isinstance(meaning, NotUnderstood):
            return meaning
    return NotUnderstood(text)


def _filter(rest: Rest) -> dict[str, object]:
    """The restrictions on a list of jobs that the sentence names."""
    found: dict[str, object] = {}
    if (queue := phrases.queue(rest)) is not None:
        found["queue"] = queue
    if (owner := phrases.owner(rest)) is not None:
        found["owner"] = owner
    if states := phrases.states(rest):
        found["statuses"] = states
    return found


def _on_jobs(tool: str, verb: str) -> Callable[[Rest], Meaning]:
    """A reader for a write on jobs named by id, or on all that a filter shows."""

    def read(rest: Rest) -> Meaning:
        everything = rest.take(r"\b(?:all(?: of)?|every|everything)\b|所有的?|全部的?")
        if everything:
            return _on_all(tool, verb, rest)
        ids = phrases.job_ids(rest)
        if rest.left(_POLITE):
            return Ask(f"Which job is to be {verb}? Give its id.") if _pronoun(rest) else NotUnderstood(rest.text)
        if ids is None:
            return Ask("That range of ids is empty or too long; name the jobs.")
        if not ids:
            return Ask(f"Which job is to be {verb}? Give its id.")
        return Said(tool, {"ids": ids})

    return read


def _pronoun(rest: Rest) -> bool:
    return (
        re.fullmatch(
            r"(?:it|this|that|them|this one|these|those|它|它们|这个|那个|这些)", rest.left(_POLITE), re.IGNORECASE
        )
        is not None
    )


def _on_all(tool: str, verb: str, rest: Rest) -> Meaning:
    chosen = _filter(rest)
    if rest.left(_POLITE):
        return NotUnderstood(rest.text)
    if "owner" not in chosen:
        return Ask(f"Whose jobs are to be {verb}? Say, for example: all my pending jobs.")
    return Said(tool, {}, select=chosen)


def _quota(rest: Rest) -> Meaning:
    lift = rest.take(
        r"\b(?:clear|remove|lift|reset|unset|delete|cancel|drop)\b|取消|清除|解除|去掉|移除|删除|不限制?|\b(?:to\s+)?(?:none|unlimited|no limit)\b"
    )
    number = (
        None
        if lift
        else rest.take(
            r"(?:\b(?:to|at|=)\s*|设为|设置为|设成|改为|改成|调到|调整为|限制?为|为|成)\s*(?P<n>-?\d+(?:\.\d+)?)(?!\w)\s*(?:slots?|个?槽位?)?",
            r"(?P<n>(?<![\w.-])-?\d+(?:\.\d+)?)\s*(?:slots?|个?槽位?)",
        )
    )
    name = phrases.node(rest)
    if rest.left(
        _POLITE
        + r"|set|change|limit|quota|quotas|of|for|on|node|from|设置|设定|修改|调整|限制|配额|额度|节点|slot|slots"
    ):
        return NotUnderstood(rest.text)
    if name is None:
        return Ask("The quota of which node?")
    if lift:
        return Said("scheduler_set_node_quota", {"node": name, "slots": None})
    if number is None:
        return Ask(f"How many slots may {name} use? Say a number, or clear its quota.")
    if not number["n"].isdecimal():
        return Ask(f"A quota is a whole number of slots, 0 or more, not {number['n']}.")
    return Said("scheduler_set_node_quota", {"node": name, "slots": int(number["n"])})


def _drain(rest: Rest) -> Meaning:
    reason = rest.take(r"\s*(?:\b(?:because(?: of)?|for|due to|reason:?|since)\b|原因是?:?|因为|由于|:)\s*(?P<why>.+)$")
    name = phrases.node(rest)
    if rest.left(_POLITE + "|node|节点") or name is None:
        return NotUnderstood(rest.text) if rest.left(_POLITE + "|node|节点") else Ask("Drain which node?")
    if reason is None:
        return Ask(f"Why is {name} to be drained? The reason is shown to everybody.")
    return Said("scheduler_drain_node", {"node": name, "reason": reason["why"].strip(" \"'")})


def _undrain(rest: Rest) -> Meaning:
    name = phrases.node(rest)
    if rest.left(_POLITE + "|node|节点"):
        return NotUnderstood(rest.text)
    return Said("scheduler_undrain_node", {"node": name}) if name else Ask("Undrain which node?")


def _modify(rest: Rest) -> Meaning:
    """The time limit, queue, cores or memory of one job."""
    changes: dict[str, object] = {}
    if (queue := phrases.queue(rest)) is not None:
        changes["queue"] = queue
    if (cores := phrases.count(rest, r"cores?|cpus?|核心?")) is not None:
        changes["cores"] = cores
    if (memory := phrases.size(rest)) is not None:
        changes["memory_bytes"] = memory
    if (seconds := phrases.duration(rest)) is not None:
        changes["walltime_seconds"] = seconds
    ids = phrases.job_ids(rest)
    filler = r"change|set|move|switch|extend|shorten|give|time limit|walltime|limit|queue|memory|cores|of|for|to|in|its|时限|时间|限制|内存|队列|核数|改|改为|改成|设为|为|到|移|移动|调到|延长|至"
    if rest.left(f"{_POLITE}|{filler}") or not (changes or ids):
        return NotUnderstood(rest.text)
    if not ids or len(ids) != 1:
        return Ask("Which job is to be changed? Give one id.")
    if not changes:
        return Ask("What is to be changed: the time limit, the queue, the cores or the memory?")
    return Said("scheduler_modify", {"id": ids[0], "changes": changes})


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
    return Ask("Why what? Give the id of a job, or ask why nothing starts.")


def _logs(rest: Rest) -> Meaning:
    stream = "stderr" if rest.take(r"\b(?:stderr|errors?(?: output)?)\b|错误(?:输出|日志)") else "stdout"
    lines = rest.take(
        r"\b(?:last|final)\s+(?P<n>\d+)\s+lines?(?:\s+of)?",
        r"(?P<n>\d+)\s+lines?(?:\s+of)?",
        r"(?:最后|末尾)\s*(?P<n>\d+)\s*行",
    )
    ids = phrases.job_ids(rest)
    if not ids:
        return Ask("The log of which job? Give its id.")
    args: dict[str, object] = {"id": ids[0], "stream": stream}
    return Said("scheduler_job_logs", args | ({"tail": int(lines["n"])} if lines else {}))


def _start(rest: Rest) -> Meaning:
    ids = phrases.job_ids(rest)
    return Said("scheduler_why", {"id": ids[0]}) if ids else NotUnderstood(rest.text)


def _wait(rest: Rest) -> Meaning:
    ids = phrases.job_ids(rest)
    return Said("scheduler_wait", {"id": ids[0], "until": "finished"}) if ids else Ask("Wait for which job?")


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
    chosen = _filter(rest)
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
    _sentence(r"^when (?:will|does|is)\b(?=.*\bstart)|什么时候(?:能|会)?(?:开始|运行)", _start),
    _sentence(rf"{_LEAD}(?=.*(?:\bquota\b|\bslots?\b|配额|额度|槽))(?!.*(?:what|show|list|多少|查看|显示))", _quota),
    _sentence(rf"{_LEAD}(?:undrain|resume node|re-?enable|enable)\b|(?:恢复|启用|解除排空)(?=\s*(?:节点)?\s*[A-Za-z])", _undrain),
    _sentence(rf"{_LEAD}drain\b|(?:排空|停用|下线)(?=\s*(?:节点)?\s*[A-Za-z])", _drain),
    _sentence(rf"{_LEAD}(?:cancel|kill|stop|terminate|abort|delete|scancel|bkill)\b|取消|终止|杀掉|杀死|停止|删除", _on_jobs("scheduler_cancel", "cancelled")),
    _sentence(rf"{_LEAD}(?:requeue|rerun)\b|重新排队|重新入队", _on_jobs("scheduler_requeue", "requeued")),
    _sentence(rf"{_LEAD}(?:release|unhold)\b|释放|解除保持", _on_jobs("scheduler_release", "released")),
    _sentence(rf"{_LEAD}(?:hold)\b|保持住?|扣住", _on_jobs("scheduler_hold", "held")),
    _sentence(rf"{_LEAD}(?:suspend|pause)\b|暂停(?!的|中)|挂起(?!的|等待)", _on_jobs("scheduler_suspend", "suspended")),
    _sentence(rf"{_LEAD}(?:resume|continue|unpause)\b|恢复|继续运行?", _on_jobs("scheduler_resume", "resumed")),
    _sentence(rf"{_LEAD}wait (?:for|until|on)\b|等待(?!中|的)(?=.*\d)|等(?=\s*(?:作业|任务)?\s*\d)", _wait),
    _sentence(rf"{_LEAD}(?:(?:show|print|get|give|see|tail|cat|read|view)\s+(?:me\s+)?)?(?!.*(?:\baudit\b|审计))(?=.*(?:\blogs?\b|\boutput\b|\bstderr\b|\bstdout\b|日志|输出))", _logs),
    _sentence(rf"{_LEAD}(?=(?:change|set|move|switch|extend|shorten|give|把|将|修改|延长)?.*(?:\bto\b|时限|改为|改成|移到|移动到|转到|延长))(?=.*(?:\bchange|\bset|\bmove|\bswitch|\bextend|\bshorten|改|移|转到|延长))", _modify),
    _sentence(rf"{_LEAD}(?:列出|显示|查看|看看|查询|有哪些|哪些)", _show),
    _sentence(rf"{_LEAD}(?:submit|run|launch|start|execute|sbatch|bsub)\b(?!\s*(?:jobs?|tasks?)?\s*$)", submission),
    _sentence(rf"{_LEAD}(?=.*(?:运行|提交|执行|跑)(?![中的])\s*\S)", submission),
    _sentence(rf"{_LEAD}(?:list|show|get|find|display|what|which|how(?: many| busy)?|status(?: of)?|describe)\b(?:(?:'s| is| are| me)\b)?|列出|显示|查看|看看|有哪些|哪些|多少|查询|状态", _show),
    _sentence(r"^(?=(?:my |all )?(?:\w+ )?(?:jobs|nodes|queues)$|.*的(?:作业|任务)$)", _show),
)  # fmt: skip
