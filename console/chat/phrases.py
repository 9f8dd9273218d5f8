"""The pieces sentences are made of, English and Chinese: ids, queues, amounts, times, states.

A `Rest` holds what is left of a sentence. Each reader below takes its piece out and returns its value; what nobody
took decides in the end whether the sentence was understood.
"""

from __future__ import annotations

import re
import unicodedata

from adapters.units import parse_duration, parse_size

_ZH_DIGITS = {"零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_ZH_NUMBER = re.compile(r"[零一二两三四五六七八九十百]+(?=\s*(?:个|核|小时|分钟|天|秒|块|张|台|GB|MB))")
_EN_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twelve": 12, "sixteen": 16, "half an": 0.5, "an": 1, "a": 1,
}  # fmt: skip
_EN_NUMBER = re.compile(
    r"\b(half an|one|two|three|four|five|six|seven|eight|nine|ten|twelve|sixteen|an|a)(?=\s+(?:hours?|minutes?|days?|cores?|cpus?|gpus?|nodes?|slots?)\b)",
    re.IGNORECASE,
)
STATES = {
    "pending": r"pending|waiting|queued|queueing|排队中?的?|等待中?的?|挂起等待的?",
    "running": r"running|active|正在运行的?|运行中?的?",
    "failed": r"failed|failing|crashed|失败了?的?|出错的?",
    "succeeded": r"succeeded|successful|completed|finished|done|完成了?的?|成功了?的?",
    "cancelled": r"cancell?ed|killed|已?取消了?的",
    "suspended": r"suspended|stopped|暂停了?的?|挂起的?",
}
_ID = r"\d+(?:[_.]\d+|\[\d+\])?"
_SEP = r"(?:\s*(?:,\s*and|,|，|、|and|和|与|及)\s*|(?<=[\d\]])\s+(?=\d))"
_IDS = re.compile(
    rf"(?:\b(?:jobs?|tasks?)|作业|任务)?\s*(?:numbers?|no\.?|id|ids|#|号)?\s*(?<![\w.-])(?P<ids>{_ID}(?:\s*(?:-|to|到|至)\s*\d+)?(?:{_SEP}{_ID}(?:\s*(?:-|to|到|至)\s*\d+)?)*)(?![\w%/:-]|\.\w)\s*(?:号)?",
    re.IGNORECASE | re.ASCII,
)
_NAMED_JOB = re.compile(
    r"(?:\bjobs?|作业|任务)\s+(?P<id>(?=[\w./-]*[-/])(?=[\w./-]*[A-Za-z])[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?)",
    re.IGNORECASE | re.ASCII,
)
MOST_IDS = 1000
# ASCII: a Chinese character then ends a word, as a space does
FLAGS = re.IGNORECASE | re.ASCII


def normal(text: str) -> str:
    """The sentence with full-width forms folded, number words as digits, and spaces single."""
    text = unicodedata.normalize("NFKC", text).strip().rstrip("。.!！?？").strip()
    text = _ZH_NUMBER.sub(lambda found: str(_zh_number(found[0])), text)
    text = text.replace("半小时", "30 分钟").replace("半个小时", "30 分钟")
    text = _EN_NUMBER.sub(lambda found: str(_EN_NUMBERS[found[0].lower()]), text)
    return re.sub(r"\s+", " ", text)


def _zh_number(text: str) -> int:
    total, digit = 0, 0
    for char in text:
        if char == "十":
            total, digit = total + (digit or 1) * 10, 0
        elif char == "百":
            total, digit = total + (digit or 1) * 100, 0
        else:
            digit = _ZH_DIGITS[char]
    return total + digit


class Rest:
    """A sentence that is being read: `take` cuts a piece out."""

    def __init__(self, text: str) -> None:
        self.text = text

    def take(self, *patterns: str) -> re.Match[str] | None:
        """Cut out the first place where one of the patterns stands."""
        for pattern in patterns:
            found = re.search(pattern, self.text, FLAGS)
            if found is not None:
                self.text = f"{self.text[: found.start()]} {self.text[found.end() :]}".strip()
                return found
        return None

    def left(self, filler: str) -> str:
        """What nobody took, without the filler words and punctuation."""
        rest = re.sub(rf"(?<![\w-])(?:{filler})(?![\w-])", " ", self.text, flags=FLAGS)
        rest = re.sub(r"[\s,，、;；:：.。]+", " ", rest)
        return rest.strip()


def job_ids(rest: Rest) -> list[str] | None:
    """Ids and ranges of ids: ``12``, ``12, 13 and 15``, ``100-105``, ``12_3``, ``job team/train-1``. None: too many."""
    if named := _NAMED_JOB.search(rest.text):
        rest.text = f"{rest.text[: named.start()]} {rest.text[named.end() :]}".strip()
        return [named["id"]]
    found = _IDS.search(rest.text)
    if found is None:
        return []
    rest.text = f"{rest.text[: found.start()]} {rest.text[found.end() :]}".strip()
    ids: list[str] = []
    for part in re.split(_SEP, found["ids"], flags=re.IGNORECASE):
        ends = re.split(r"\s*(?:-|to|到|至)\s*", part)
        if len(ends) == 2:
            first, last = int(ends[0]), int(ends[1])
            if last < first or last - first >= MOST_IDS:
                return None
            ids += [str(number) for number in range(first, last + 1)]
        else:
            ids.append(part)
    return list(dict.fromkeys(ids))


def queue(rest: Rest) -> str | None:
    """``in queue gpu``, ``in the gpu queue``, ``在 gpu 队列``, ``队列 gpu``."""
    found = rest.take(
        r"(?:\b(?:in|on|to|into|of|from|for|using)\s+)?(?:the\s+)?\b(?:queue|partition)\s+(?P<name>[A-Za-z0-9][\w.-]*)",
        r"\b(?:in|on|to|into|of|from|for|using)\s+(?:the\s+)?(?P<name>[A-Za-z0-9][\w.-]*)\s+(?:queue|partition)\b",
        r"(?:提交到|移到|移动到|转到|在|到|从|向)?\s*(?:队列|分区)\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:上|中|里)?",
        r"(?:提交到|移到|移动到|转到|在|到|从|向)?\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:队列|分区)\s*(?:上|中|里)?的?",
    )
    return found["name"] if found else None


def node(rest: Rest) -> str | None:
    """``node-2``, ``node n07``, ``节点 n07``: a name with a digit in it, or any name behind the word node."""
    found = rest.take(
        r"(?:\b(?:the\s+)?(?:node|host)|节点|主机)\s+(?P<name>[A-Za-z][\w.-]*|\d[\w.-]*[A-Za-z][\w.-]*)",
        r"(?<![\w.-])(?P<name>[A-Za-z][A-Za-z_.-]*\d[\w.-]*)(?![\w.-])",
    )
    return found["name"] if found else None


def states(rest: Rest) -> list[str]:
    """The states of jobs that are named."""
    return [name for name, words in STATES.items() if rest.take(rf"(?<![\w-])(?:{words})(?![\w-])")]


def owner(rest: Rest) -> str | None:
    """``me`` for my own; a name for ``alice's``, ``of user alice``, ``用户 alice 的``."""
    if rest.take(r"\b(?:of mine|my own|my|mine)\b|我自己的|我的|(?<![帮请])我(?!们)"):
        return "me"
    found = rest.take(
        r"\b(?:of|by|from|for)\s+(?:the\s+)?user\s+(?P<name>[A-Za-z_][\w.-]*)",
        r"\b(?:the\s+)?user\s+(?P<name>[A-Za-z_][\w.-]*)'s\b",
        r"\b(?P<name>[A-Za-z_][\w.-]*)'s\b",
        r"用户\s*(?P<name>[A-Za-z_][\w.-]*)\s*的?",
        r"(?P<name>[A-Za-z_][\w.-]*)\s*的(?=[^配]*(?:作业|任务))",
    )
    return found["name"] if found else None


def size(rest: Rest) -> int | None:
    """Bytes of ``16GB``, with or without the word memory. Raises UnitError for ``16G``."""
    found = rest.take(
        r"(?:\b(?:with|and|using|needs?)\s+|内存\s*)?(?P<size>\d+(?:\.\d+)?\s*[KMGT]i?B?)\b\s*(?:of\s+)?(?:memory|ram|mem\b|的?内存)?",
    )
    return parse_size(found["size"].replace(" ", "")) if found else None


_UNITS = {"s": 1, "秒": 1, "m": 60, "分": 60, "h": 3600, "小": 3600, "个": 3600, "d": 86400, "天": 86400}


def duration(rest: Rest) -> int | None:
    """Seconds of ``for 2 hours``, ``90m``, ``2:00:00``, ``2 小时``."""
    lead = r"(?:\b(?:for|within|up to|at most|(?:with |and )?a time limit of|time limit(?: of)?|limit(?: of)?|to|by)\s+)?(?:时限|限时|最多|为|到)?\s*"
    clock = rest.take(rf"{lead}(?P<clock>\b\d+(?:-\d+)?:\d\d(?::\d\d)?)\b")
    if clock:
        return parse_duration(clock["clock"])
    found = rest.take(
        rf"{lead}(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>hours?|hrs?|minutes?|mins?|seconds?|secs?|days?|小时|个小时|分钟|天|秒|[hmds](?![\w-]))"
    )
    return round(float(found["number"]) * _UNITS[found["unit"][0].lower()]) if found else None


def count(rest: Rest, unit: str) -> int | None:
    """``on 8 cores``, ``8 核``: a number before a unit of things."""
    found = rest.take(
        rf"(?:\b(?:on|with|and|using|over|needs?)\s+|用|使用|需要|要)?\s*(?P<number>\d+)\s*(?:个|块|张|台)?\s*(?:{unit})(?![\w-])"
    )
    return int(found["number"]) if found else None
