"""The clauses of a sentence beside its verb: on which cluster, what to tell afterwards, and what comes one after another."""

from __future__ import annotations

import itertools
import re
from typing import Literal, NamedTuple

from console.chat.phrases import FLAGS
from console.chat.said import Heard

_WHEN = r"(?:when|once|if|as soon as|after)"
_TELL = r"(?:tell me|let me know|notify me|inform me|warn me|ping me)"
_ENDS = r"(?:has |have |is |are )?(?:ends?|ended|finish(?:es|ed)?|done|over|completes?|completed|stops?|stopped)"
_FAILS = r"(?:has |have )?(?:fails?|failed|crash(?:es|ed)?|dies|died|goes wrong)"
_STARTS = r"(?:has |is |have )?(?:starts?|started|begins?|begun|running|runs)"
_WATCH = r"(?:watch|follow|monitor|track|keep an eye on|keep track of)"
_ZH_TELL = r"(?:请)?(?:就)?(?:请)?(?:告诉|通知|提醒)\s*(?:我)?\s*(?:一声)?"
_ZH_AFTER = r"(?:了|之后|以后|后|时|的时候|的话)*"
_ZH_ENDS, _ZH_FAILS, _ZH_STARTS = r"(?:运行完|跑完|结束|完成)", r"(?:失败|出错|崩溃)", r"(?:开始(?:运行)?)"
_IT = r"(?:it|that|this|they|the job|that job|它|这个作业|作业|任务)"
_HEARD: tuple[tuple[Heard, str, str], ...] = (
    ("failed", _FAILS, _ZH_FAILS), ("started", _STARTS, _ZH_STARTS), ("finished", _ENDS, _ZH_ENDS),
)  # fmt: skip


class Wish(NamedTuple):
    """What the person wants to hear of. `subject` is the job as it was named, or nothing; `rest` the sentence without."""

    heard: Heard
    subject: str
    rest: str


def follow(sentence: str) -> Wish | None:
    """``…, and tell me when it ends``, ``watch job 12``, ``…，如果失败就告诉我``."""
    for heard, english, chinese in _HEARD:
        for pattern in (
            rf"^(?P<rest>.*?)(?:[,，;]?\s*\b(?:and|then)\b)?[,，;]?\s*\b{_TELL}\s+{_WHEN}\s+(?P<subject>.*?)\s*\b{english}$",
            rf"^(?P<rest>.*?)(?:[,，;]\s*(?:并且?|然后)?|并且?|然后)\s*(?:如果|若|要是|等|当|在)?\s*(?P<subject>{_IT})?\s*{chinese}{_ZH_AFTER}[,，]?\s*{_ZH_TELL}$",
            rf"^(?P<rest>)(?:如果|若|要是|等|当|在)?\s*(?P<subject>.*?)\s*{chinese}{_ZH_AFTER}[,，]?\s*{_ZH_TELL}$",
        ):
            if found := re.search(pattern, sentence, FLAGS):
                return Wish(heard, _subject(found["subject"]), found["rest"].strip(" ,，;"))
    for pattern in (
        rf"^(?P<rest>.+?)[,，;]?\s*\b(?:and|then)\s+{_WATCH}\s+(?P<subject>{_IT})$",
        rf"^(?P<rest>.+?)[,，;]?\s*(?:并且?|然后|再)\s*(?:盯着|盯住|关注|监视|监控|跟踪)\s*(?P<subject>{_IT})?$",
        rf"^(?P<rest>)(?:please |can you |could you )?{_WATCH}\s+(?P<subject>.+)$",
        r"^(?P<rest>)(?:请帮我|请|帮我)?\s*(?:盯着|盯住|关注|监视|监控|跟踪)\s*(?P<subject>.+)$",
    ):
        if found := re.search(pattern, sentence, FLAGS):
            return Wish("finished", _subject(found["subject"]), found["rest"].strip(" ,，;"))
    return None


def _subject(text: str | None) -> str:
    """The job as it was named; nothing for a pronoun."""
    named = (text or "").strip()
    return "" if re.fullmatch(_IT, named, FLAGS) else named


_PREPOSITION = r"(?:on|in|of|at|from|to|into|for|using)"
_CLUSTER = tuple(
    re.compile(pattern, FLAGS)
    for pattern in (
        rf"\b(?P<how>{_PREPOSITION})\s+(?:the\s+)?cluster\s+(?P<name>[A-Za-z0-9][\w.-]*)",
        rf"\b(?P<how>{_PREPOSITION})\s+(?:the\s+)?(?P<name>(?!(?:the|this|my|our|a|whole|entire)\b)[A-Za-z0-9][\w.-]*)\s+cluster\b",
        r"(?P<how>提交到|移到|转到|到|在|从|向)?\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*集群(?:上|里|中)?的?",
        r"(?P<how>提交到|移到|转到|到|在|从|向)?\s*集群\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:上|里|中)?的?",
    )
)
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|'[^']*'")


class Where(NamedTuple):
    """The cluster that a sentence names. `towards`: something is to go there (a submission, never a move)."""

    name: str
    towards: bool
    rest: str


def cluster(sentence: str) -> Where | None:
    """``on cluster lsf``, ``on the lsf cluster``, ``在 lsf 集群``; not within quotes."""
    quoted = [found.span() for found in _QUOTED.finditer(sentence)]
    for pattern in _CLUSTER:
        for found in pattern.finditer(sentence):
            if any(begin < found.end() and found.start() < end for begin, end in quoted):
                continue
            rest = f"{sentence[: found.start()]} {sentence[found.end() :]}"
            towards = (found["how"] or "").lower() in ("to", "into", "到", "向", "提交到", "移到", "转到")
            return Where(found["name"], towards, re.sub(r"\s+", " ", rest).strip(" ,，"))
    return None


class Parts(NamedTuple):
    """The submissions of a chain, as text, and how each waits for the one before."""

    parts: tuple[str, ...]
    kind: Literal["afterok", "afterany"]
    together: str = ""


_ONE_AFTER = (
    r"[,，]?\s*\b(?:each|every one)\s+(?:only\s+)?(?:after|once|when)\s+(?:the one before(?: it)?|the previous one)(?: has)?\s+(?P<how>succeed(?:s|ed)|end(?:s|ed)|finish(?:es|ed)|is done)",
    r"[,，]?\s*(?:one after (?:another|the other)|in (?:this )?(?:order|sequence)|sequentially)",
    r"[,，]?\s*(?:只有)?(?:[前上](?:一|1)?\s*个|前面的)(?P<how>成功|结束|完成)(?:之?后|以后|了)*[,，]?\s*(?:再|才)?\s*(?:运行|执行|提交|开始|跑)?\s*(?:[下后](?:一|1)?\s*个)?",
)
_ALL_IN = (
    r"[,，]?\s*\b(?:all(?: of them)?|each|everything)\s+(?P<where>(?:in|on)\s+.+)$",
    r"[,，]?\s*(?:都|全部|均)\s*(?P<where>(?:在|提交到)\s*[\w.-]+\s*(?:队列|分区))",
)


def chain(sentence: str) -> Parts | None:
    """``run a, then b, then c``, ``run a, b and c one after another``, ``依次运行 a、b、c``; None for one submission."""
    kind: Literal["afterok", "afterany"] = "afterok"
    listed = False
    for pattern in _ONE_AFTER:
        if found := re.search(pattern, sentence, FLAGS):
            if re.match(r"end|finish|is done|结束|完成", found.groupdict().get("how") or "", FLAGS):
                kind = "afterany"
            sentence, listed = f"{sentence[: found.start()]} {sentence[found.end() :]}".strip(" ,，"), True
    together = next((found for pattern in _ALL_IN if (found := re.search(pattern, sentence, FLAGS))), None)
    if together:
        sentence = f"{sentence[: together.start()]} {sentence[together.end() :]}".strip()
    lead = re.match(r"^(?:please |can you |could you )?(?:run|submit|launch|execute)\s+", sentence, FLAGS)
    zh = re.match(r"^(?:请帮我|请|帮我)?(?P<order>依次|按顺序|顺序|先后|先)(?:运行|执行|提交|跑)\s*", sentence, FLAGS)
    start = lead or zh
    if start is None:
        return None
    between = (
        r"[,，;；]?\s*(?:\bthen\b|然后|接着|最后|再)\s*(?:\b(?:run|submit|launch|execute)\b|运行|执行|提交|跑)?\s*"
    )
    if listed or (zh is not None and zh["order"] != "先"):
        between = rf"{between}|\s*(?:,\s*and\b|,|，|、|\band\b|和)\s*"
    parts = [part.strip(" ,，;；") for part in _split_outside(sentence[start.end() :], between)]
    parts = [part for part in parts if part]
    if len(parts) < 2:
        return None
    named = [parts[0], *(_without_after(part, before) for before, part in itertools.pairwise(parts))]
    return Parts(tuple(named), kind, together["where"] if together else "")


def _split_outside(text: str, between: str) -> list[str]:
    """Split where the pattern stands outside of quotes."""
    quoted = [found.span() for found in _QUOTED.finditer(text)]
    parts, at = [], 0
    for found in re.finditer(between, text, FLAGS):
        if found.group().strip() and not any(begin < found.end() and found.start() < end for begin, end in quoted):
            parts.append(text[at : found.start()])
            at = found.end()
    return [*parts, text[at:]]


def _without_after(part: str, before: str) -> str:
    """``b after a succeeds`` behind ``a``: that is what the chain says already."""
    named = re.escape(before.split(" after ")[0].strip())
    return re.sub(
        rf"\s+(?:after|once|when)\s+(?:{named}|it|that|the one before)(?:\s+(?:has\s+)?(?:succeeds|succeeded))?$", "", part,
        flags=FLAGS,
    )  # fmt: skip
