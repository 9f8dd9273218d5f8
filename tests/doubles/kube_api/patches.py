"""JSON patch (RFC 6902), merge patch (RFC 7386) and as much of the strategic merge patch as the recordings use."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.doubles.kube_api.answers import Refusal, bad_request, patch_refused

MERGE_KEYS = {"containers": "name", "initContainers": "name", "env": "name", "taints": "key", "conditions": "type"}


def apply(kind: str, body: Any, obj: dict[str, Any], *, builtin: bool) -> dict[str, Any]:
    """The object after a patch of that media type. Raises Refusal."""
    accepted = ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"]
    if builtin:
        accepted.insert(2, "application/strategic-merge-patch+json")
    if kind == "application/json":
        raise Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    if kind not in accepted:
        listed = ", ".join(accepted)
        text = f"the body of the request was in an unknown format - accepted media types include: {listed}"
        raise Refusal(415, "UnsupportedMediaType", text)
    if kind == "application/json-patch+json":
        return json_patch(body, obj)
    if not isinstance(body, dict):
        raise bad_request("the patch is no object")
    if kind == "application/strategic-merge-patch+json":
        return strategic(deepcopy(obj), body)
    return merge(deepcopy(obj), body)


def merge(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def strategic(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, list) and name in MERGE_KEYS:
            result[name] = _by_key(result.get(name) or [], value, MERGE_KEYS[name])
        else:
            result[name] = strategic(result.get(name), value)
    return result


def _by_key(held: list[Any], patch: list[Any], key: str) -> list[Any]:
    result = list(held)
    for item in patch:
        at = next((i for i, one in enumerate(result) if one.get(key) == item.get(key)), None)
        if at is None:
            result.append(item)
        else:
            result[at] = strategic(result[at], item)
    return result


def json_patch(ops: Any, obj: dict[str, Any]) -> dict[str, Any]:
    result: Any = deepcopy(obj)
    if not isinstance(ops, list):
        raise bad_request("a JSON patch is a list of operations")
    for op in ops:
        names = [part.replace("~1", "/").replace("~0", "~") for part in op["path"].split("/")[1:]]
        try:
            parent = result
            for name in names[:-1]:
                parent = parent[int(name)] if isinstance(parent, list) else parent[name]
            _operate(parent, names[-1], op)
        except (KeyError, IndexError, ValueError, TypeError):
            raise patch_refused() from None
    assert isinstance(result, dict)
    return result


def _operate(parent: Any, name: str, op: dict[str, Any]) -> None:
    where: Any = (len(parent) if name == "-" else int(name)) if isinstance(parent, list) else name
    if op["op"] == "test":
        if parent[where] != op["value"]:
            raise patch_refused()
    elif op["op"] == "remove":
        del parent[where]
    elif op["op"] == "replace":
        _ = parent[where]  # it must exist
        parent[where] = op["value"]
    elif isinstance(parent, list):
        parent.insert(where, op["value"])
    else:
        parent[where] = op["value"]
