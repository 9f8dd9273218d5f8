"""The one table of tools: declared once, served by the chat, the MCP server and the command line.

There is no tool for confirming, approving, scope or autopilot, and none takes an address or a file path to read.
"""

from __future__ import annotations

from collections.abc import Mapping

from console.tools.advanced import ADVANCED
from console.tools.reads import READS
from console.tools.tool import Proposal, Tool, ToolError
from console.tools.toolbox import Toolbox
from console.tools.writes import WRITES

__all__ = ["TOOLS", "Proposal", "Tool", "ToolError", "Toolbox", "tool"]

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in sorted((*READS, *WRITES, *ADVANCED), key=lambda t: t.name)}


def tool(name: str) -> Tool:
    """The tool of that name. Raises ToolError: a name that is not in the table is never guessed at."""
    found = TOOLS.get(name)
    if found is None:
        raise ToolError(f"There is no tool {name!r}.", f"There are: {', '.join(TOOLS)}.")
    return found
