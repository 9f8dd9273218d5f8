"""Sentences that submit a job: what to run, and what it asks for."""

from __future__ import annotations

import re
import shlex

from console.chat import phrases
from console.chat.phrases import Rest
from console.chat.said import Ask, Meaning, NotUnderstood, Said

_SHELL = re.compile(r"[|;&<>$`\n]")
_NO_COMMAND = r"(?:(?:a|the|my|it|this|job|jobs|script|something|again|作业|任务|一个|它)\s*)+"
# a sentence that does more than submit, or whose first word is no command
_ANOTHER_VERB = r"取消|终止|杀掉|删除|排空|暂停|挂起|释放|恢复|^[\u4e00-\u9fff]+(?:\s|$)"
_KINDS = {"ok": "afterok", "any": "afterany", "not": "afternotok"}


def submission(rest: Rest) -> Meaning:
    """Read a sentence such as ``sleep 30 on 2 cores in queue short`` (the verb is gone already).

    Raises UnitError for an amount without a clear unit.
    """
    quoted = rest.take(r"`(?P<command>[^`]+)`", r"[\"“](?P<command>[^\"”]+)[\"”]", r"'(?P<command>[^']+)'")
    args: dict[str, object] = {}
    dependencies = _after(rest)
    if dependencies:
        args["dependencies"] = dependencies
    _array(rest, args)
    for name, value in (
        ("queue", phrases.queue(rest)),
        ("cores", phrases.count(rest, r"cores?|cpus?|threads?|核心?")),
        ("gpus", phrases.count(rest, r"gpus?|显卡|卡")),
        ("nodes", phrases.count(rest, r"nodes?|节点")),
        ("memory_bytes", phrases.size(rest)),
        ("walltime_seconds", _walltime(rest)),
        ("name", _name(rest)),
    ):
        if value is not None:
            args[name] = value
    if rest.take(r"\b(?:on hold|held)\b|先保持|并保持"):
        args["hold"] = True
    if rest.take(r"\b(?:as a )?dry[- ]run\b|试运行|演练"):
        args["dry_run"] = True
    return _with_command(quoted["command"] if quoted else None, rest, args)


def _with_command(quoted: str | None, rest: Rest, args: dict[str, object]) -> Meaning:
    left = re.sub(r"^(?:用|使用|在)?\s*(?:运行|提交|执行|跑)\s*", "", rest.text.strip(" ,，。"))
    left = re.sub(r"\s*(?:运行|提交|执行|跑)\s*", " ", left).strip(" ,，。")
    if quoted is not None:
        if re.sub(
            r"\b(?:a|the|job|jobs|command|script|that runs|to run|which runs|and|with)\b|作业|任务|命令|一个|个|的",
            "",
            left,
            flags=re.IGNORECASE,
        ).strip(" ,，"):
            return NotUnderstood(rest.text)
        command = quoted
    else:
        command = re.sub(
            r"^(?:a |the )?(?:job|command|script)?\s*(?:that runs|to run|which runs|:)\s+", "", left
        ).strip()
        command = re.sub(r"\s+(?:and|with|using|on|in|for|用|在)$", "", command)
    if not command or (quoted is None and re.fullmatch(_NO_COMMAND, command, re.IGNORECASE)):
        return Ask(
            "What is to be run? Give the command, in quotes if it has spaces.",
            "要运行什么？请给出命令，有空格时加引号。",
        )
    if quoted is None and re.search(_ANOTHER_VERB, command):
        return NotUnderstood(rest.text)
    if _SHELL.search(command):
        return Ask(
            "A command with |, ;, &, <, > or $ needs a shell: put it into a script and submit that.",
            "带有 |、;、&、<、> 或 $ 的命令需要 shell：请写进脚本再提交。",
        )
    try:
        argv = shlex.split(command)
    except ValueError as error:
        return Ask(f"The command cannot be split into words: {error}.", f"命令不能拆分成词：{error}。")
    if "nodes" in args and "cores" not in args:
        return Ask("How many cores does it need on all nodes together?", "所有节点一共需要多少核？")
    return Said("scheduler_submit", {"template": _template(args), "command": argv, **args})


def _template(args: dict[str, object]) -> str:
    """The template whose rules fit what the sentence names."""
    for name, template in (("array", "array"), ("dependencies", "chain"), ("gpus", "gpu"), ("nodes", "mpi")):
        if name in args:
            return template
    return "general_serial"


def _after(rest: Rest) -> list[dict[str, str]]:
    found = rest.take(
        r"\b(?:after|once|when)\s+(?:jobs?\s+)?(?P<id>\d+(?:_\d+)?)\s*(?P<how>has (?:ended|finished|succeeded|failed)|succeeds|succeeded|completes|is done|ends|ended|finishes|finished|fails|failed)?",
        r"\bdepend(?:s|ing) on\s+(?:jobs?\s+)?(?P<id>\d+(?:_\d+)?)(?P<how>)",
        r"(?:在|等)?\s*(?:作业|任务)\s*(?P<id>\d+(?:_\d+)?)\s*(?P<how>成功|结束|完成|失败)?\s*(?:之后|以后|后)",
    )
    if found is None:
        return []
    how = (found["how"] or "").lower()
    kind = "not" if re.search(r"fail|失败", how) else "any" if re.search(r"end|结束", how) else "ok"
    return [{"id": found["id"], "kind": _KINDS[kind]}]


def _array(rest: Rest, args: dict[str, object]) -> None:
    """``as an array 0-99``, ``as an array of 100``, and how many at once."""
    throttle = rest.take(
        r",?\s*\b(?:at most|max(?:imum)?|no more than)\s+(?P<n>\d+)\s+(?:at once|at a time|at the same time|in parallel|concurrently)",
        r"[,，]?\s*(?:最多)?同时(?:最多)?(?:运行)?\s*(?P<n>\d+)\s*个?",
        r"[,，]?\s*每次最多\s*(?P<n>\d+)\s*个?",
    )
    found = rest.take(
        r"\b(?:as\s+)?(?:an?\s+)?(?:job\s+)?array\s+(?:of\s+(?:tasks\s+)?|with\s+(?:indices\s+)?|over\s+)?(?P<range>\d+-\d+(?::\d+)?(?:,\d+(?:-\d+)?)*)(?:%(?P<limit>\d+))?",
        r"\b(?:as\s+)?(?:an?\s+)?(?:job\s+)?array\s+(?:of|with)\s+(?P<number>\d+)(?:\s+(?:tasks|elements|jobs))?",
        r"(?:作为)?数组\s*(?P<range>\d+-\d+(?::\d+)?)(?:%(?P<limit>\d+))?",
        r"(?P<number>\d+)\s*个(?:任务|元素|作业)?的?数组",
    )
    if found is None:
        return
    groups = found.groupdict()
    indices = groups.get("range") or f"0-{int(groups['number']) - 1}"
    limit = groups.get("limit") or (throttle["n"] if throttle else None)
    args["array"] = f"{indices}%{limit}" if limit else indices


def _walltime(rest: Rest) -> int | None:
    """A duration that is meant as a limit: only behind a word that says so, so that ``sleep 30 s`` keeps its own."""
    if re.search(
        r"\b(?:for|within|time limit|limit|at most|up to)\s+(?:of\s+)?\d|时限|限时|\d\s*(?:小时|分钟|天|个小时)|\d+:\d\d",
        rest.text,
        re.IGNORECASE,
    ):
        return phrases.duration(rest)
    return None


def _name(rest: Rest) -> str | None:
    found = rest.take(r"(?:\b(?:and\s+)?(?:named|called|name it)|名为|名叫|命名为)\s+(?P<name>[A-Za-z0-9][\w.-]*)")
    return found["name"] if found else None
