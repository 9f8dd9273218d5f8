"""Objects of the clusters as MCP resources. They are read by the same tools, so that each read is on record."""

from __future__ import annotations

from urllib.parse import quote, unquote

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from adapters.base import AdapterError, NotFound
from adapters.model import Ref
from console.agent import Agent
from console.tools.reads import NodeList, QueueList
from console.tools.tool import Result

JSON = "application/json"


def uri_of(ref: Ref) -> str | None:
    """The address of an object's resource; None for kinds that have none."""
    if ref.kind not in ("job", "queue", "node"):
        return None
    return f"pilothouse://{quote(ref.cluster, safe='')}/{ref.kind}/{quote(ref.id, safe='')}"


def add_resources(server: MCPServer, agent: Agent) -> None:
    """`pilothouse://CLUSTER/job|queue|node/NAME`, `…/job/ID/log/STREAM` and `pilothouse://clusters`."""

    @server.resource("pilothouse://{cluster}/job/{id}", name="job", mime_type=JSON, description="One job.")
    async def job(cluster: str, id: str) -> str:
        return (await _read(agent, "scheduler_get_job", cluster, id=unquote(id))).model_dump_json()

    @server.resource(
        "pilothouse://{cluster}/job/{id}/log/{stream}", name="job log", description="The end of a job's output."
    )
    async def log(cluster: str, id: str, stream: str) -> str:
        found = await _read(agent, "scheduler_job_logs", cluster, id=unquote(id), stream=stream, tail=200)
        return "\n".join(found.model_dump()["lines"])

    @server.resource("pilothouse://{cluster}/queue/{name}", name="queue", mime_type=JSON, description="One queue.")
    async def queue(cluster: str, name: str) -> str:
        found = await _read(agent, "scheduler_list_queues", cluster, limit=200)
        assert isinstance(found, QueueList)
        return _one({row.name: row.model_dump_json() for row in found.queues}, unquote(name), "queue")

    @server.resource("pilothouse://{cluster}/node/{name}", name="node", mime_type=JSON, description="One node.")
    async def node(cluster: str, name: str) -> str:
        following: int | None = 0
        rows: dict[str, str] = {}
        while following is not None:
            found = await _read(agent, "scheduler_list_nodes", cluster, limit=200, continuation=following)
            assert isinstance(found, NodeList)
            rows |= {row.name: row.model_dump_json() for row in found.nodes}
            following = None if unquote(name) in rows else found.continuation
        return _one(rows, unquote(name), "node")

    @server.resource("pilothouse://clusters", name="clusters", description="The clusters, and how far agents reach.")
    async def clusters() -> str:
        scope = agent.engine.gate.agents.scope.words()
        return "\n".join([*sorted(agent.engine.clusters), f"agents' scope: {scope}"])


def _one(rows: dict[str, str], name: str, kind: str) -> str:
    if name not in rows:
        raise ResourceNotFoundError(f"There is no {kind} of that name.")
    return rows[name]


async def _read(agent: Agent, tool: str, cluster: str, **arguments: object) -> Result:
    try:
        return await agent.read(tool, {"cluster": unquote(cluster), **arguments})
    except NotFound as error:
        raise ResourceNotFoundError(error.message) from error
    except AdapterError as error:
        raise ResourceError(f"{error.title}: {error.message}") from error
