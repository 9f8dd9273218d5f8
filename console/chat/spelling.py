"""A node named as people say it: ``node-2`` where the cluster's own name for it is ``node2``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from adapters.base import AdapterError
from adapters.model import Node
from console.tools.toolbox import Toolbox

_BETWEEN = re.compile(r"[\s._-]+")


def with_node_as_named(box: Toolbox, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments with the node's own name, where nothing has the name that was said and exactly one node differs
    from it by hyphens, dots, spaces or case alone. The proposal shows that name, and it is what a person types.

    Only what the console knows already is looked at; what it does not know is left as it was said.
    """
    said = arguments.get("node")
    if not isinstance(said, str):
        return arguments
    try:
        cluster = box.name(arguments.get("cluster"))
    except AdapterError:
        return arguments  # the call itself says so
    names = [row.name for row in box.engine.store.rows("node", [cluster]) if isinstance(row, Node)]
    alike = [name for name in names if _bare(name) == _bare(said)]
    return {**arguments, "node": alike[0]} if said not in names and len(alike) == 1 else arguments


def _bare(name: str) -> str:
    """Never two names of which only digits were separated otherwise: ``n1-2`` is not ``n12``."""
    return _BETWEEN.sub(lambda at: "-" if _parts_digits(at) else "", name.casefold())


def _parts_digits(at: re.Match[str]) -> bool:
    return at.string[at.start() - 1 : at.start()].isdigit() and at.string[at.end() : at.end() + 1].isdigit()
