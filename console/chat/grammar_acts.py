"""Readers of the sentences that change something: each word is accounted for, or nothing is proposed."""

from __future__ import annotations

import re
from collections.abc import Callable

from console.chat import phrases
from console.chat.phrases import Rest
from console.chat.said import Ask, Meaning, NotUnderstood, Said

POLITE = (
    r"please|can you|could you|would you|i want to|i would like to|i'd like to|let'?s|now|just|the|a|an|that|job|jobs|"
    r"task|tasks|with|请帮我|请|帮我|麻烦|一下|把|将|作业|任务|掉|了|吧|的"
)


def filter(rest: Rest) -> dict[str, object]:
    """The restrictions on a list of jobs that the sentence names."""
    found: dict[str, object] = {}
    if (queue := phrases.queue(rest)) is not None:
        found["queue"] = queue
    if (owner := phrases.owner(rest)) is not None:
        found["owner"] = owner
    if states := phrases.states(rest):
        found["statuses"] = states
    return found


def _which_job(tool: str, verb: str) -> Ask:
    imperative = tool.removeprefix("scheduler_")
    zh = f"要{_ZH_VERBS[imperative]}哪个作业？请给出编号。"
    return Ask(f"Which job is to be {verb}? Give its id.", zh, ((f"{imperative} job ", ""),))


_ZH_VERBS = {
    "cancel": "取消", "requeue": "重新排队", "release": "释放", "hold": "保持", "suspend": "暂停", "resume": "恢复",
}  # fmt: skip


def on_jobs(tool: str, verb: str) -> Callable[[Rest], Meaning]:
    """A reader for a write on jobs named by id, or on all that a filter shows."""

    def read(rest: Rest) -> Meaning:
        everything = rest.take(r"\b(?:all(?: of)?|every|everything)\b|所有的?|全部的?")
        if everything:
            return _on_all(tool, verb, rest)
        ids = phrases.job_ids(rest)
        if rest.left(POLITE):
            return _which_job(tool, verb) if _pronoun(rest) else NotUnderstood(rest.text)
        if ids is None:
            zh = "编号的范围是空的或太长；请逐个给出作业。"
            return Ask("That range of ids is empty or too long; name the jobs.", zh, _which_job(tool, verb).answers)
        if not ids:
            return _which_job(tool, verb)
        return Said(tool, {"ids": ids})

    return read


def _pronoun(rest: Rest) -> bool:
    return (
        re.fullmatch(
            r"(?:it|this|that|them|this one|these|those|它|它们|这个|那个|这些)", rest.left(POLITE), re.IGNORECASE
        )
        is not None
    )


def _on_all(tool: str, verb: str, rest: Rest) -> Meaning:
    chosen = filter(rest)
    if rest.left(POLITE):
        return NotUnderstood(rest.text)
    if "owner" not in chosen:
        imperative = tool.removeprefix("scheduler_")
        zh = f"要{_ZH_VERBS[imperative]}谁的作业？例如：我的所有排队作业。"
        named = "".join(f" {word}" for word in chosen.get("statuses", ()))  # type: ignore[attr-defined]
        where = f" in queue {chosen['queue']}" if "queue" in chosen else ""
        answers = (
            (f"{imperative} all ", f"{named} jobs{where}"),
            (f"{imperative} all ", where),
            (f"{imperative} ", where),
        )
        return Ask(f"Whose jobs are to be {verb}? Say, for example: all my pending jobs.", zh, answers)
    return Said(tool, {}, select=chosen)


def quota(rest: Rest) -> Meaning:
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
        POLITE
        + r"|set|change|limit|quota|quotas|of|for|on|node|from|设置|设定|修改|调整|限制|配额|额度|节点|slot|slots"
    ):
        return NotUnderstood(rest.text)
    if name is None:
        return Ask("The quota of which node?", "要设置哪个节点的配额？")
    if lift:
        return Said("scheduler_set_node_quota", {"node": name, "slots": None})
    if number is None:
        return Ask(
            f"How many slots may {name} use? Say a number, or clear its quota.",
            f"{name} 可以使用多少个槽位？请给出数字，或清除配额。",
            ((f"set the quota of {name} to ", ""),),
        )
    if not number["n"].isdecimal():
        return Ask(
            f"A quota is a whole number of slots, 0 or more, not {number['n']}.",
            f"配额是 0 或更大的整数，不能是 {number['n']}。",
            ((f"set the quota of {name} to ", ""),),
        )
    return Said("scheduler_set_node_quota", {"node": name, "slots": int(number["n"])})


def drain(rest: Rest) -> Meaning:
    reason = rest.take(r"\s*(?:\b(?:because(?: of)?|for|due to|reason:?|since)\b|原因是?:?|因为|由于|:)\s*(?P<why>.+)$")
    name = phrases.node(rest)
    if rest.left(POLITE + "|node|节点") or name is None:
        return (
            NotUnderstood(rest.text)
            if rest.left(POLITE + "|node|节点")
            else Ask("Drain which node?", "要排空哪个节点？")
        )
    if reason is None:
        return Ask(
            f"Why is {name} to be drained? The reason is shown to everybody.",
            f"为什么要排空 {name}？原因会显示给所有人。",
            ((f"drain {name} because ", ""),),
        )
    return Said("scheduler_drain_node", {"node": name, "reason": reason["why"].strip(" \"'")})


def undrain(rest: Rest) -> Meaning:
    name = phrases.node(rest)
    if rest.left(POLITE + "|node|节点"):
        return NotUnderstood(rest.text)
    return Said("scheduler_undrain_node", {"node": name}) if name else Ask("Undrain which node?", "要恢复哪个节点？")


def modify(rest: Rest) -> Meaning:
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
    if rest.left(f"{POLITE}|{filler}") or not (changes or ids):
        return NotUnderstood(rest.text)
    if not ids or len(ids) != 1:
        return Ask("Which job is to be changed? Give one id.", "要修改哪个作业？请给出一个编号。")
    if not changes:
        return Ask(
            "What is to be changed: the time limit, the queue, the cores or the memory?",
            "要修改什么：时限、队列、核数还是内存？",
            ((f"set job {ids[0]} ", ""), (f"set job {ids[0]} to ", ""), ("set the ", f" of job {ids[0]}")),
        )
    return Said("scheduler_modify", {"id": ids[0], "changes": changes})
