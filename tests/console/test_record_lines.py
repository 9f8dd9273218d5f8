"""Lines of the audit log for people."""

from __future__ import annotations

import pytest

from console.record_lines import field, matcher, outcome, targets, whole

LINE = {
    "seq": 3, "kind": "intent", "action": "cancel", "origin": "mcp", "targets": [{"id": "4100\x1b[2J"}, {"id": "4101"}],
    "mac": "aa", "prev": "bb", "v": 1, "decision": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True), ("CANCEL", True), ("4101", True), ("drain", False), ("!drain", True), ("origin:mcp cancel", True),
        ("origin:key", False), ("!origin:key", True), ("nofield:x", False), ("!", False),
    ],
)  # fmt: skip
def test_a_filter(text: str, holds: bool) -> None:
    assert matcher(text)(LINE) is holds


def test_its_columns_are_clean_and_what_ties_it_to_others_comes_last() -> None:
    assert field(LINE, "decision") == "-" and field(LINE, "action") == "cancel"
    assert "\x1b" not in targets(LINE) and targets(LINE).endswith("4101")
    assert outcome({"rule": "scope"}) == "scope" and outcome({}) == "-"
    lines = whole(LINE)
    assert not any("\x1b" in line for line in lines)
    assert [line.split('"')[1] for line in lines if line.startswith('  "')][-3:] == ["mac", "prev", "v"]
