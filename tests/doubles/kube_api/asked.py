"""A request taken apart, and whether its sender may make it."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.plan import HttpRequest
from tests.doubles.kube_api.answers import forbidden, no_such_group
from tests.doubles.kube_api.kinds import OLDER_VERSIONS, Served
from tests.doubles.kube_api.rights import Person
from tests.doubles.kube_api.server import KubeDouble

VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass
class Asked:
    """A request taken apart."""

    person: Person
    method: str
    served: Served
    version: str
    namespace: str | None
    name: str | None
    sub: str
    query: dict[str, str]
    body: bytes
    media: str

    @property
    def dry(self) -> bool:
        return is_dry(self.method, self.body, "dryRun" in self.query)


def is_dry(method: str, body: bytes | None, in_query: bool) -> bool:
    """Whether a request is a dry run. As in the real server, the options of a DELETE are those of its body where it
    has one, and its query is ignored then."""
    if method == "DELETE" and body:
        return b'"dryRun"' in body
    return in_query


def parse(
    double: KubeDouble, person: Person, method: str, parts: list[str], query: dict[str, str], body: bytes, media: str
) -> Asked:
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise no_such_group()
    namespace = None
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    served = next(
        (
            kind
            for kind in double.kinds
            if (kind.group, kind.plural) == (group, rest[0])
            and version in (kind.version, *OLDER_VERSIONS.get(group, ()))
        ),
        None,
    )
    if served is None:
        raise no_such_group()
    name = rest[1] if len(rest) > 1 else None
    sub = rest[2] if len(rest) > 2 else ""
    return Asked(person, method, served, version, namespace, name, sub, query, body, media)


def authorize(asked: Asked) -> None:
    verb = VERBS[asked.method]
    if asked.method == "GET" and asked.name is None:
        verb = "watch" if asked.query.get("watch") in ("1", "true") else "list"
    if asked.method == "DELETE" and asked.name is None:
        verb = "deletecollection"
    resource = f"{asked.served.plural}/{asked.sub}" if asked.sub else asked.served.plural
    if asked.person.allowed(verb, asked.served.group, resource, asked.namespace) is None:
        raise forbidden(asked.person.name, verb, asked.served, asked.namespace, asked.name, asked.sub)


def is_mutation(seen: HttpRequest) -> bool:
    """Whether a request may change something: no dry run, no review."""
    if seen.method in ("GET", "HEAD") or "reviews" in seen.path.partition("?")[0].rpartition("/")[2]:
        return False
    return not is_dry(seen.method, seen.body, "dryRun=" in seen.path)
