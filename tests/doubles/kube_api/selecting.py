"""Label and field selectors, and pages."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.doubles.kube_api.answers import Refusal, bad_request
from tests.doubles.kube_api.kinds import FIELD_LABELS, Served
from tests.doubles.kube_api.store import Store

Obj = dict[str, Any]


def matches(served: Served, obj: Obj, labels: str, fields: str) -> bool:
    """Whether an object is selected. Raises Refusal for a field that the kind cannot be selected by."""
    held = obj["metadata"].get("labels") or {}
    for term in filter(None, labels.split(",")):
        name, _, value = term.replace("==", "=").partition("=")
        if held.get(name) != value:
            return False
    for term in filter(None, fields.split(",")):
        name, _, value = term.replace("==", "=").partition("=")
        if name not in FIELD_LABELS.get(served.kind, {"metadata.name", "metadata.namespace"}):
            raise bad_request(f'field label "{name}" not supported for {served.kind}')
        if str(_field(obj, name)) != value:
            return False
    return True


def _field(obj: Obj, path: str) -> Any:
    if path == "status.successful":
        return obj.get("status", {}).get("succeeded", 0)
    value: Any = obj
    for name in path.split("."):
        value = value.get(name, "") if isinstance(value, dict) else ""
    return value


def page(store: Store, served: Served, rows: list[tuple[str, Obj]], query: dict[str, str]) -> tuple[list[Obj], Obj]:
    """The items of one page and the list's metadata. Raises Refusal for tokens that are bad or too old."""
    version = store.version
    if token := query.get("continue"):
        held, start = _decode(token)
        if 0 <= held < store.floor:
            raise _expired(start)
        version = held if held >= 0 else version
        low = start.lstrip("/") if held < 0 else start
        rows = [row for row in rows if (row[0].lstrip("/") if held < 0 else row[0]) >= low]
    metadata: Obj = {"resourceVersion": str(version)}
    limit = int(query.get("limit", "0") or 0)
    # From the watch cache (resourceVersion=0) a limit is ignored, as the server does.
    if limit and query.get("resourceVersion") != "0" and len(rows) > limit:
        last = rows[limit - 1][0]
        metadata["continue"] = _encode(version, last + "\0")
        if not query.get("labelSelector") and not query.get("fieldSelector"):
            metadata["remainingItemCount"] = len(rows) - limit
        rows = rows[:limit]
    return [obj for _, obj in rows], metadata


def _encode(version: int, start: str) -> str:
    raw = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


def _decode(token: str) -> tuple[int, str]:
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        parsed = json.loads(raw)
        return int(parsed["rv"]), str(parsed["start"])
    except (ValueError, KeyError, TypeError, UnicodeDecodeError):
        raise bad_request(
            "invalid continue token: continue key is not valid: "
            "invalid character '\\x81' looking for beginning of value"
        ) from None


def _expired(start: str) -> Refusal:
    return Refusal(
        410,
        "Expired",
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        metadata={"continue": _encode(-1, start.lstrip("/"))},
    )


def check_version(store: Store, query: dict[str, str]) -> None:
    """Lists at a version that is too old or not there yet. Raises Refusal."""
    match, version = query.get("resourceVersionMatch"), query.get("resourceVersion", "")
    if not match or not version.isdecimal():
        return
    if match == "Exact" and int(version) < store.version:
        raise Refusal(410, "Expired", "The resourceVersion for the provided list is too old.")
    if int(version) > store.version:
        raise Refusal(
            504,
            "Timeout",
            f"Timeout: Too large resource version: {version}, current: {store.version}",
            {
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
        )
