"""The server's ASGI application: every route with the permission it asks for, limits, refusals in the envelope."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adapters.local import routes_access, routes_events, routes_jobs, routes_logs, routes_nodes
from adapters.local.access import Principal
from adapters.local.calls import Call, Handler, dump, json_response, refusal
from adapters.local.cluster import Cluster
from adapters.local.limits import Throttle
from adapters.local.openapi import document
from adapters.local.problem import Problem


async def openapi(call: Call) -> Response:
    """This document."""
    return json_response(dump(document(ROUTES, routes_access.installed_version())))


log = logging.getLogger("pilothouse.server")

# method, path, permission (empty: anybody), handler. The one table of what the server answers.
ROUTES: list[tuple[str, str, str, Handler]] = [
    *routes_access.ROUTES, *routes_jobs.ROUTES, *routes_logs.ROUTES, *routes_events.ROUTES, *routes_nodes.ROUTES,
    ("GET", "/xce/v1/openapi.json", "job:view", openapi),
]  # fmt: skip


def make_app(cluster: Cluster) -> Starlette:
    """The application on an open cluster; starts and stops it with the server."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await cluster.start()
        try:
            yield
        finally:
            await cluster.stop()

    throttle = Throttle(cluster.settings.requests_per_second, cluster.monotonic)
    logons = Throttle(cluster.settings.logons_per_second, cluster.monotonic)
    routes = [
        Route(path, _endpoint(cluster, throttle if permission else logons, permission, handler), methods=[method])
        for method, path, permission, handler in ROUTES
    ]
    handlers = {HTTPException: _not_routed, Exception: _broken}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)  # type: ignore[arg-type]


def _endpoint(cluster: Cluster, throttle: Throttle, permission: str, handler: Handler):  # type: ignore[no-untyped-def]
    async def endpoint(request: Request) -> Response:
        try:
            who = await _who(cluster, throttle, request, permission)
            return await handler(Call(request, cluster, who))
        except Problem as problem:
            return refusal(problem)

    return endpoint


ANYBODY = Principal("", "mcp_readonly")


async def _who(cluster: Cluster, throttle: Throttle, request: Request, permission: str) -> Principal:
    """Who asks, if they may. Raises Problem 401, 403 or 429."""
    if not permission:
        throttle.take(request.client.host if request.client else "")
        return ANYBODY
    who = await cluster.access.principal(request.headers.get("authorization"), time.time())
    throttle.take(f"{who.key_id}{who.node_id}")
    if not who.may(permission):
        raise Problem(403, f"the role {who.role} of {who.name} has no permission {permission}")
    return who


async def _not_routed(request: Request, error: HTTPException) -> Response:
    what = "there is no" if error.status_code == 404 else "not possible:"
    return refusal(Problem(error.status_code, f"{what} {request.method} {request.url.path}"))


async def _broken(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return refusal(Problem(500, f"the server failed on this request ({type(error).__name__}); see its log"))
