"""The table of tools as MCP tools: our own strict schemas and checks, structured results, the right annotations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, get_type_hints

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError as McpToolError
from mcp.server.mcpserver.resolve import Resolve, build_resolver_plans
from mcp.server.mcpserver.tools.base import Tool as McpTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp_types import ToolAnnotations

from adapters.base import AdapterError
from console.agent import Agent
from console.agent_answers import Proposed
from console.mcp_server.asking import Asking
from console.tools import TOOLS, Tool
from console.tools.tool import Result

T = TypeVar("T")
PROGRESS_EVERY = 5.0  # seconds between two notes of progress while a call waits


class _Raw(FuncMetadata):
    """Hands the arguments on as they came: the table's own models check them, and refuse what is unknown."""

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        return {"arguments": arguments_to_validate}


def mcp_tools(agent: Agent, asking: Asking) -> list[McpTool]:
    """Every tool of the table. What may not be done is refused when it is called, not only left out of the list."""
    return [_read(tool, agent) if tool.kind == "read" else _write(tool, asking) for tool in TOOLS.values()]


def _read(tool: Tool, agent: Agent) -> McpTool:
    async def call(arguments: dict[str, Any], ctx: Context[Any, Any]) -> Result:
        return await _told(_with_progress(agent.read(tool.name, arguments), ctx))

    return _made(tool, call, result_type(tool), ToolAnnotations(read_only_hint=True, open_world_hint=False))


def _write(tool: Tool, asking: Asking) -> McpTool:
    async def question(arguments: dict[str, Any], ctx: Context[Any, Any]) -> Any:
        return await _told(asking.question(tool.name, arguments, ctx))

    async def call(arguments: dict[str, Any], ctx: Context[Any, Any], answer: ElicitationResult[Any]) -> Proposed:
        return await _told(asking.answered(tool.name, arguments, answer))

    annotations = ToolAnnotations(
        read_only_hint=False, destructive_hint=tool.destructive, idempotent_hint=tool.idempotent, open_world_hint=False
    )
    made = _made(tool, call, Proposed, annotations)
    made.resolved_params = {"answer": (Resolve(question), True)}
    made.resolver_plans = build_resolver_plans(made.resolved_params, {"arguments"})
    return made


def _made(tool: Tool, call: Callable[..., Any], result: type[Result], annotations: ToolAnnotations) -> McpTool:
    return McpTool(
        fn=call, name=tool.name, title=tool.title, description=tool.description, parameters=tool.schema(),
        fn_metadata=_Raw(arg_model=ArgModelBase, output_model=result), is_async=True, context_kwarg="ctx",
        annotations=annotations,
    )  # fmt: skip


def result_type(tool: Tool) -> type[Result]:
    """The class of what a read gives back."""
    assert tool.read is not None
    found: type[Result] = get_type_hints(tool.read)["return"]
    return found


async def _told(work: Awaitable[T]) -> T:
    """An expected failure as one that the client's model can read: what happened and what to do, never as empty."""
    try:
        return await work
    except AdapterError as error:
        raise McpToolError(f"{error.title}: {error.message} {error.hint}".strip()) from error


async def _with_progress(work: Awaitable[Result], ctx: Context[Any, Any]) -> Result:
    """Note progress while it lasts, to clients that asked for it."""
    task = asyncio.ensure_future(work)
    waited = 0.0
    try:
        while True:
            done, _ = await asyncio.wait([task], timeout=PROGRESS_EVERY)
            if done:
                return task.result()
            waited += PROGRESS_EVERY
            await ctx.report_progress(waited, message="still waiting")
    finally:
        task.cancel()
