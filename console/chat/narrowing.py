"""Sentences about how far the chat may reach: `only look at queue gpu`, `只看我的作业`. They narrow; none of them widens."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from console.chat.phrases import FLAGS, normal
from console.gate import AgentScope

_NAME = r"(?!(?:my|the|all|every|any|and|or)\b)[A-Za-z0-9][\w.-]*"
_NAMES = rf"{_NAME}(?:\s*(?:,\s*and|,|，|、|\band\b|\bor\b|和|与|或)\s*{_NAME})*"
_OBJECTS = (
    ("mine", r"(?:my own|my)\s+(?:own\s+)?(?:jobs?|tasks?|ones|work)\b|\bmine\b|我(?:自己)?的(?:作业|任务)?"),
    ("queues", rf"(?:the\s+)?(?:queues|partitions)\s+(?P<names>{_NAMES})"),
    ("queues", rf"(?:the\s+)?(?:queue|partition)\s+(?P<names>{_NAME})"),
    ("queues", rf"(?:the\s+)?(?P<names>{_NAMES})\s+(?:queues|partitions)\b"),
    ("queues", rf"(?:the\s+)?(?P<names>{_NAME})\s+(?:queue|partition)\b"),
    ("queues", rf"(?:队列|分区)\s*(?P<names>{_NAMES})(?:\s*(?:里|上|中))?(?:\s*的?(?:作业|任务))?"),
    ("queues", rf"(?P<names>{_NAMES})\s*(?:队列|分区)(?:里|上|中)?(?:的?(?:作业|任务))?"),
    ("clusters", rf"(?:the\s+)?clusters\s+(?P<names>{_NAMES})"),
    ("clusters", rf"(?:the\s+)?cluster\s+(?P<names>{_NAME})"),
    ("clusters", rf"(?:the\s+)?(?P<names>{_NAME})\s+cluster\b"),
    ("clusters", rf"集群\s*(?P<names>{_NAMES})(?:\s*(?:里|上|中))?(?:\s*的?(?:作业|任务))?"),
    ("clusters", rf"(?P<names>{_NAMES})\s*集群(?:里|上|中)?(?:的?(?:作业|任务))?"),
)
_FILLER = r"(?:(?:jobs?|tasks?|in|on|of|within|and|the|作业|任务|在|里|中|上|的|和|以及|,|，)\s*)*"
_LOOK = r"(?:look (?:at|in|into)|work (?:on|in|with)|act (?:on|in)|touch|consider|use|deal with|handle|care about)"
_LEAD = re.compile(
    r"^(?:please |from now on,? |for now,? |now,? )*(?:"
    rf"(?:only|just) (?:{_LOOK}|stay (?:in|on|within))\s+"
    r"|(?:look|work|act) only (?:at|on|in|with)\s+|(?:use|touch) only\s+|only\s+"
    r"|(?:limit|restrict|narrow|keep) (?:yourself|(?:the |your )?scope|it) to\s+|stay (?:in|on|within)\s+)"
    r"|^(?:请|从现在起|从现在开始|以后|接下来|现在|，|,|\s)*(?:只|仅)(?:能|准|许|要|允许|可以)?"
    r"(?:看|关注|处理|操作|动|管|用|使用|考虑|在|限于)\s*"
    r"|^(?:请)?(?:把|将)?(?:范围|操作范围)(?:限制|缩小|限定|收窄)(?:到|为|在|成|至)?\s*",
    FLAGS,
)
_END = re.compile(
    r"^\s*(?:操作|工作|活动)?\s*(?:$|[,;，；。.:：]|\band\b|\bthen\b|然后|再|并)\s*(?:and |then |然后|再|并且|并)*",
    FLAGS,
)
_WIDER = re.compile(
    r"\b(?:widen|extend|broaden|reset|lift|remove|clear|enlarge|expand)\b.*\bscope\b"
    rf"|^(?:please |now |also |you may )*(?:also )?{_LOOK} (?:also )?"
    r"(?:(?:all|every|any) (?:the )?(?:queues?|clusters?|users?|owners?)\b|(?:everybody|everyone|anybody|anyone|other people|others)\b)"
    rf"|^(?:please |now |you may )*also {_LOOK}\s+"
    r"|(?:扩大|放宽|放开|解除|取消|重置|恢复).*范围|^(?:请|现在)*(?:也|还)(?:可以)?(?:看|处理|操作|动|用|使用)",
    FLAGS,
)


_MOST = 2000  # characters in which a word on the scope must stand, whatever was pasted behind it


@dataclass(frozen=True, slots=True)
class ScopeSaid:
    """What a sentence says about the scope.

    Args:
        scope: what it narrows to; None where it asks for more than there is, which only a key of the person gives.
        rest: what else it says.
    """

    scope: AgentScope | None
    rest: str = ""


def scope_said(text: str) -> ScopeSaid | None:
    """Whether the sentence begins with, or is, a word on the scope; None where it is not."""
    sentence = normal(text)
    head, tail = sentence[:_MOST], sentence[_MOST:]
    if (lead := _LEAD.match(head)) is not None:
        found = _objects(head[lead.end() :])
        if found is not None:
            return replace(found, rest=f"{found.rest}{tail}")
    return ScopeSaid(None) if _WIDER.search(head) else None


def scope_words(words: str) -> ScopeSaid | None:
    """The words behind ``/scope``: ``my jobs queue gpu``. None where they name nothing that a scope is made of."""
    found = scope_said(words) or _objects(normal(words))
    return found if found is not None and not found.rest else None


def _objects(text: str) -> ScopeSaid | None:
    """``my jobs in queue gpu``, then the end of the clause."""
    mine, named, rest = False, {"queues": set[str](), "clusters": set[str]()}, text
    while found := _object(rest):
        kind, names, rest = found
        if kind == "mine":
            mine = True
        else:
            named[kind].update(names)
    end = _END.match(rest)
    if end is None or not (mine or any(named.values())):
        return None
    queues, clusters = named["queues"], named["clusters"]
    scope = AgentScope("mine" if mine else "all", frozenset(queues) or None, frozenset(clusters) or None)
    return ScopeSaid(scope, rest[end.end() :].strip())


def _object(text: str) -> tuple[str, list[str], str] | None:
    for kind, pattern in _OBJECTS:
        found = re.match(rf"\s*{_FILLER}(?:{pattern})", text, FLAGS)
        if found is not None:
            names = found.groupdict().get("names") or ""
            listed = [
                name for name in re.split(r"\s*(?:,|，|、|\band\b|\bor\b|和|与|或)\s*", names, flags=FLAGS) if name
            ]
            return kind, listed, text[found.end() :]
    return None
