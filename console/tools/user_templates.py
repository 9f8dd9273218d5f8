"""Templates of the person's and the site's own: TOML files with strict parameters.

    version = 1
    meaning = "train the model"
    command = ["python", "train.py", "--epochs", "{epochs}"]     # or: script = '''...'''
    open = ["walltime_seconds"]                                  # fields of a submission that a caller may set too

    [job]                                                        # what it asks for
    queue = "gpu"
    gpus = 1
    memory = "16GB"
    walltime = "2:00:00"

    [parameters.epochs]
    type = "integer"                                             # integer, number, choice or text
    min = 1
    max = 100
    default = 10

A value replaces `{name}` within one word of the command; in a script it is quoted for the shell, and `${name}` stays
the shell's own. A parameter that is not declared is refused.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from adapters.text import clean
from adapters.units import UnitError, parse_duration, parse_size
from console.config import SITE_FILE, ConfigError, trusted_text, user_file
from console.tools.tool import ToolError

NAME = re.compile(r"^[a-z][a-z0-9_-]{0,63}$")
_HOLE = re.compile(r"(?<!\$)\{([a-z][a-z0-9_]*)\}")
_OPEN = frozenset({"queue", "nodes", "cores", "gpus", "memory_bytes", "walltime_seconds", "array", "cwd", "account"})
Value: TypeAlias = str | int | float


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class IntegerParameter(_Strict):
    type: Literal["integer"]
    min: int | None = None
    max: int | None = None
    default: int | None = None

    def take(self, value: Value) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError("a whole number is expected")
        return _within(value, self.min, self.max)


class NumberParameter(_Strict):
    type: Literal["number"]
    min: float | None = None
    max: float | None = None
    default: float | None = None

    def take(self, value: Value) -> str:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ValueError("a number is expected")
        return _within(value, self.min, self.max)


class ChoiceParameter(_Strict):
    type: Literal["choice"]
    choices: Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
    default: str | None = None

    def take(self, value: Value) -> str:
        if value not in self.choices:
            raise ValueError(f"one of {', '.join(self.choices)} is expected")
        return str(value)


class TextParameter(_Strict):
    """`pattern` must match the whole value; without one, letters, digits and ``_ . , : / + = @ -`` are allowed."""

    type: Literal["text"]
    pattern: str = r"[A-Za-z0-9_.,:/+=@][A-Za-z0-9_.,:/+=@-]*"
    default: str | None = None

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"no regular expression: {error}") from None
        return pattern

    def take(self, value: Value) -> str:
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value) or len(value) > 1024:
            raise ValueError("the text is not of the form that the template asks for")
        if any(ord(char) < 0x20 or ord(char) == 0x7F for char in value):
            raise ValueError("the text holds a control character")
        return value


Parameter: TypeAlias = Annotated[
    IntegerParameter | NumberParameter | ChoiceParameter | TextParameter, Field(discriminator="type")
]


class Job(_Strict):
    """What a template asks for; amounts as a person types them."""

    queue: str | None = None
    nodes: int | None = Field(default=None, ge=1)
    cores: int | None = Field(default=None, ge=1)
    gpus: int | None = Field(default=None, ge=0)
    memory: str | None = None
    walltime: str | None = None
    array: str | None = None
    cwd: str | None = None
    account: str | None = None

    def fields(self) -> dict[str, Any]:
        """By the names of a submission. Raises UnitError."""
        found = self.model_dump(exclude={"memory", "walltime"}, exclude_none=True)
        if self.memory is not None:
            found["memory_bytes"] = parse_size(self.memory)
        if self.walltime is not None:
            found["walltime_seconds"] = parse_duration(self.walltime)
        return found


class UserTemplate(_Strict):
    """One file."""

    version: Literal[1]
    meaning: str = Field(min_length=1, max_length=200)
    command: Annotated[tuple[str, ...], Field(strict=False)] = ()
    script: str | None = None
    open: Annotated[frozenset[str], Field(strict=False)] = frozenset()
    job: Job = Job()
    parameters: dict[str, Parameter] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _whole(self) -> UserTemplate:
        if bool(self.command) == (self.script is not None):
            raise ValueError("a template has either a command or a script")
        if unknown := self.open - _OPEN:
            raise ValueError(f"open names {', '.join(sorted(unknown))}, which cannot be left open")
        text = " ".join(self.command) if self.script is None else self.script
        used = set(_HOLE.findall(text))
        if used != set(self.parameters):
            differ = ", ".join(sorted(used ^ set(self.parameters)))
            raise ValueError(f"parameters and {{names}} must be the same: {differ}")
        return self

    def filled(self, given: Mapping[str, Value]) -> tuple[tuple[str, ...], str | None]:
        """The command and the script with the values put in. Raises ToolError."""
        if unknown := set(given) - set(self.parameters):
            raise ToolError(f"The template has no parameter {clean(', '.join(sorted(unknown)), 80)}.", self.asks())
        values = {name: self._value(name, parameter, given) for name, parameter in self.parameters.items()}
        command = tuple(_put(word, values) for word in self.command)
        quoted = {name: shlex.quote(value) for name, value in values.items()}
        return command, _put(self.script, quoted) if self.script is not None else None

    def _value(self, name: str, parameter: Parameter, given: Mapping[str, Value]) -> str:
        value = given.get(name, parameter.default)
        if value is None:
            raise ToolError(f"The template needs a value for {name}.", self.asks())
        try:
            return parameter.take(value)
        except ValueError as error:
            raise ToolError(f"The parameter {name} cannot be {clean(str(value), 80)!r}: {error}.") from None

    def asks(self) -> str:
        """One line on its parameters."""
        return f"It takes: {', '.join(f'{name} ({p.type})' for name, p in self.parameters.items()) or 'nothing'}."


def _within(value: float, least: float | None, most: float | None) -> str:
    if (least is not None and value < least) or (most is not None and value > most):
        raise ValueError(
            f"it must be from {least if least is not None else '-'} to {most if most is not None else '-'}"
        )
    return str(value)


def _put(text: str, values: Mapping[str, str]) -> str:
    return _HOLE.sub(lambda hole: values[hole[1]], text)


def folders() -> tuple[Path, ...]:
    """The person's, then the site's."""
    return (user_file().parent / "templates", SITE_FILE.parent / "templates")


def names(where: Iterable[Path] | None = None) -> list[str]:
    """The templates there are, by name."""
    found = (path.stem for folder in where or folders() if folder.is_dir() for path in folder.glob("*.toml"))
    return sorted({name for name in found if NAME.match(name)})


def load(name: str, where: Iterable[Path] | None = None) -> UserTemplate | None:
    """The template of that name; None where there is none. Raises ToolError for a file that is none, or that others
    can change."""
    if not NAME.match(name):
        return None
    for folder in where or folders():
        path = folder / f"{name}.toml"
        if not path.is_file():
            continue
        try:
            template = UserTemplate.model_validate(tomllib.loads(trusted_text(path)))
            template.job.fields()
            return template
        except ConfigError as error:
            raise ToolError(error.message, error.hint) from None
        except ValidationError as error:
            bad = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}".lstrip(": ") for e in error.errors())
            raise ToolError(f"The template {name} is not valid: {clean(bad, 400)}.", str(path)) from None
        except (tomllib.TOMLDecodeError, UnitError) as error:
            raise ToolError(f"The template {name} is not valid: {error}", str(path)) from None
    return None
