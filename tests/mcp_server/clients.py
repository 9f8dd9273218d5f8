"""MCP clients of the official SDK, in the same process as the server, and people who answer their forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult

ERAS = ("legacy", "2026-07-28")


class Person:
    """Answers the form of an MCP client and remembers what it was shown."""

    def __init__(self, action: str = "accept", **content: Any) -> None:
        self.seen: list[str] = []
        self.action = action
        self.content: dict[str, Any] = content or {"approve": True}
        self.before: Callable[[], None] | None = None

    async def __call__(self, context: Any, params: ElicitRequestParams) -> ElicitResult:
        self.seen.append(params.message)
        if self.before is not None:
            act, self.before = self.before, None
            act()
        return ElicitResult(action=self.action, content=self.content if self.action == "accept" else None)  # type: ignore[arg-type]


def client(server: MCPServer, era: str = "auto", person: Person | None = None) -> Client:
    return Client(server, mode=era, elicitation_callback=person)  # type: ignore[arg-type]


def told(result: CallToolResult) -> str:
    """The text of a result."""
    return " ".join(getattr(part, "text", "") for part in result.content)
