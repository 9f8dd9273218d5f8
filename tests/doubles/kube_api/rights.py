"""Who may do what: the people of the recordings, by bearer token."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.doubles.kube_api.answers import Refusal

READ = frozenset({"get", "list", "watch"})
ALL = frozenset({"*"})


@dataclass(frozen=True)
class Rule:
    """Verbs on resources (``pods``, ``pods/log``, ``jobs``) of groups, in one namespace or (None) everywhere."""

    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    namespace: str | None = None
    binding: str = ""

    def allows(self, verb: str, group: str, resource: str) -> bool:
        return (
            bool(self.verbs & {verb, "*"})
            and bool(self.groups & {group, "*"})
            and bool(self.resources & {resource, "*"})
        )


@dataclass(frozen=True)
class Person:
    name: str
    groups: tuple[str, ...] = ("system:authenticated",)
    uid: str = ""
    rules: tuple[Rule, ...] = field(default=())

    def allowed(self, verb: str, group: str, resource: str, namespace: str | None) -> Rule | None:
        return next(
            (
                rule
                for rule in self.rules
                if rule.allows(verb, group, resource) and rule.namespace in (None, namespace or "")
            ),
            None,
        )


def _rule(verbs: frozenset[str], group: str, *resources: str, namespace: str | None = None, binding: str = "") -> Rule:
    return Rule(verbs, frozenset({group}), frozenset(resources), namespace, binding)


_EDIT = READ | {"create", "update", "patch", "delete", "deletecollection"}
_EDITOR = 'RoleBinding "job-editors/team-a" of Role "job-editor" to Group "team-a-editors"'
_OWN = (
    _rule(frozenset({"create"}), "authorization.k8s.io", "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
    _rule(frozenset({"create"}), "authentication.k8s.io", "selfsubjectreviews"),
)
"""What everybody who is signed in may do: ask about themselves."""
PEOPLE = {
    "admin": Person("admin", ("system:masters", "system:authenticated"), rules=(Rule(ALL, ALL, ALL), *_OWN)),
    "viewer": Person(
        "vera",
        uid="1002",
        rules=(
            _rule(READ, "", "pods", "pods/log", "events", "resourcequotas", "limitranges", "nodes", "namespaces"),
            _rule(READ, "batch", "jobs", "cronjobs"),
            _rule(READ, "scheduling.k8s.io", "priorityclasses"),
            *_OWN,
        ),
    ),
    "editor": Person(
        "eddy",
        ("team-a-editors", "system:authenticated"),
        "1003",
        (
            _rule(
                READ,
                "",
                "pods",
                "pods/log",
                "events",
                "resourcequotas",
                "limitranges",
                namespace="team-a",
                binding=_EDITOR,
            ),
            _rule(frozenset({"create", "delete"}), "", "pods", namespace="team-a", binding=_EDITOR),
            _rule(_EDIT, "batch", "jobs", "cronjobs", namespace="team-a", binding=_EDITOR),
            *_OWN,
        ),
    ),
    "lister": Person(
        "lisa", rules=(_rule(READ - {"watch"}, "", "pods", "nodes"), _rule(READ - {"watch"}, "batch", "jobs"), *_OWN)
    ),
    "operator": Person("otto", rules=(_rule(READ | {"patch"}, "", "nodes"), *_OWN)),
    "many": Person(
        "mona",
        rules=(
            _rule(READ, "", "namespaces"),
            *(_rule(READ, "batch", "jobs", namespace=f"team-{i:02}") for i in range(40)),
            *(_rule(READ, "", "pods", namespace=f"team-{i:02}") for i in range(40)),
            *_OWN,
        ),
    ),
    "nobody": Person("nobody", rules=_OWN),
}
ANONYMOUS = Person("system:anonymous", ("system:unauthenticated",))


def person_of(authorization: str | None, revoked: set[str]) -> Person:
    """Bearer tokens are ``<person>-token``, or ``<person>-token.<anything>``. Raises Refusal for others."""
    if authorization is None:
        return ANONYMOUS
    scheme, _, token = authorization.partition(" ")
    name = token.partition("-token")[0]
    if scheme != "Bearer" or name not in PEOPLE or not token.startswith(f"{name}-token") or token in revoked:
        raise Refusal(401, "Unauthorized", "Unauthorized")
    return PEOPLE[name]
