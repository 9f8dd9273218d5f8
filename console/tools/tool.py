"""What a tool is: declared once, served to the chat, to MCP clients and to the command line."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.base import AdapterError
from adapters.intents import Intent
from console.tools.toolbox import Toolbox


class Params(BaseModel):
    """Arguments of a tool. Unknown ones are refused: a misspelt restriction must not widen what is done."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def parsed(cls, arguments: dict[str, Any], name: str = "It") -> Self:
        """The arguments, checked. Raises ToolError that names each bad one."""
        try:
            return cls.model_validate(arguments)
        except ValidationError as error:
            bad = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors())
            raise ToolError(f"{name} was called with bad arguments: {bad}.") from None

    cluster: str | None = Field(None, description="Name of the cluster; the default one if absent.", max_length=64)


class Result(BaseModel):
    """What a tool gives back. Empty lists mean that the cluster answered and there is nothing."""

    model_config = ConfigDict(frozen=True)

    cluster: str


class ToolError(AdapterError):
    """A call that cannot be carried out as it was made: bad arguments, unknown tool."""

    title: ClassVar[str] = "The call is not valid"
    code: ClassVar[str] = "invalid_call"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a write tool gives: an intent for the gate. With `dry_run` the plan is shown and nothing is proposed."""

    intent: Intent
    dry_run: bool = False


Read: TypeAlias = Callable[[Toolbox, Any], Awaitable[Result]]
Write: TypeAlias = Callable[[Toolbox, Any], Awaitable[Proposal]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `kind` read never changes anything; `write` only builds an intent, which the gate then handles.

    Args:
        destructive: what was there before is changed or ended, where not only something is added or let go on.
        idempotent: doing it twice is as doing it once.
        foreign: what it gives back holds text that other people or programs wrote.
    """

    name: str
    description: str
    params: type[Params]
    kind: Literal["read", "write"]
    read: Read | None = None
    write: Write | None = None
    destructive: bool = False
    idempotent: bool = True
    operator: bool = False
    foreign: bool = True

    @property
    def title(self) -> str:
        """``List jobs``."""
        return self.name.removeprefix("scheduler_").replace("_", " ").capitalize()

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, with keys sorted: byte-stable from run to run."""
        schema = self.params.model_json_schema()
        schema.pop("description", None)
        ordered: dict[str, Any] = json.loads(json.dumps(_without_titles(schema), sort_keys=True))
        return ordered

    def parse(self, arguments: object) -> Params:
        """The arguments, checked. Raises ToolError that names each bad one."""
        if not isinstance(arguments, dict):
            raise ToolError(f"{self.name} takes an object of arguments, not {type(arguments).__name__}.")
        return self.params.parsed(arguments, self.name)


def _without_titles(schema: Any) -> Any:
    """pydantic's generated titles repeat the field names."""
    if isinstance(schema, dict):
        return {
            key: _without_titles(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_without_titles(item) for item in schema] if isinstance(schema, list) else schema
