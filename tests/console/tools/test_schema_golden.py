"""The schemas that models and MCP clients see, held byte for byte: a change of them is a change of the interface.

After a wanted change write the golden anew: python -m tests.console.tools.test_schema_golden
"""

from __future__ import annotations

import json
from pathlib import Path

from console.tools import TOOLS

GOLDEN = Path(__file__).parent / "schemas.json"


def schemas() -> str:
    tools = [
        {"name": tool.name, "kind": tool.kind, "description": tool.description, "schema": tool.schema()}
        for tool in TOOLS.values()
    ]
    return json.dumps(tools, indent=1, ensure_ascii=False) + "\n"


def test_the_schemas_are_those_of_the_golden() -> None:
    assert schemas() == GOLDEN.read_text(), "the interface of the tools changed; see the docstring"


def test_every_argument_of_an_amount_names_its_unit() -> None:
    for tool in TOOLS.values():
        for name, schema in tool.schema()["properties"].items():
            if name.endswith(("_bytes", "_seconds")) or name in ("seconds", "tail", "since"):
                assert schema.get("description"), f"{tool.name}.{name}"


if __name__ == "__main__":
    GOLDEN.write_text(schemas())
