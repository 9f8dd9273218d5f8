"""Templates of submissions: what each one needs and may have, so that a wrong combination is refused with a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.model import Dependency, JobSpec
from console.arrays import elements
from console.tools import user_templates
from console.tools.tool import Params, ToolError

Name = Literal["general_serial", "mpi", "gpu", "array", "chain"]


class After(BaseModel):
    """A condition on another job."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, max_length=128)
    kind: Literal["afterok", "afterany", "afternotok", "after"] = "afterok"


class Submission(Params):
    template: Name | str = Field(
        "general_serial",
        description="general_serial, mpi, gpu, array, chain, or a template of the user's own.",
        max_length=64,
    )
    command: tuple[str, ...] = Field((), max_length=4096, description="The command as a list of words; no shell.")
    script: str | None = Field(None, max_length=1_000_000, description="Text of a batch script, instead of a command.")
    name: str | None = Field(None, min_length=1, max_length=256)
    queue: str | None = Field(None, min_length=1, max_length=256)
    nodes: int | None = Field(None, ge=1, le=100_000)
    cores: int | None = Field(None, ge=1, le=10_000_000)
    gpus: int | None = Field(None, ge=0, le=1_000_000)
    memory_bytes: int | None = Field(None, ge=1, description="Bytes; 4 GB = 4000000000.")
    walltime_seconds: int | None = Field(None, ge=1, description="Seconds.")
    array: str | None = Field(
        None,
        pattern=r"^\d+(?:-\d+(?::\d+)?)?(?:,\d+(?:-\d+(?::\d+)?)?)*(?:%\d+)?$",
        description="Indices of an array, such as 0-99%10 (ten at once).",
    )
    dependencies: tuple[After, ...] = Field((), max_length=100)
    cwd: str | None = Field(None, max_length=4096)
    hold: bool = False
    account: str | None = Field(None, min_length=1, max_length=256)
    parameters: dict[str, str | int | float] = Field(
        default_factory=dict, max_length=64, description="Values for a template of the user's own; no other takes any."
    )
    dry_run: bool = Field(False, description="Show the plan and propose nothing.")


class Template(NamedTuple):
    """`needs` must be given, `refuses` must not be."""

    meaning: str
    needs: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()


TEMPLATES: Mapping[str, Template] = {
    "general_serial": Template("one process on one node", refuses=("nodes", "array")),
    "mpi": Template("many processes, maybe on several nodes", needs=("cores",), refuses=("array",)),
    "gpu": Template("a job that uses GPUs", needs=("gpus",), refuses=("array",)),
    "array": Template("the same job for many indices", needs=("array",)),
    "chain": Template("a job that waits for others", needs=("dependencies",), refuses=("array",)),
}
MOST_ELEMENTS = 100_000


_ALWAYS = {"cluster", "template", "parameters", "name", "dependencies", "hold", "dry_run"}


def spec_of(params: Submission) -> JobSpec:
    """The job that a submission means. Raises ToolError where the template does not allow it."""
    template = TEMPLATES.get(params.template)
    if template is None:
        params = _resolved(params)
    else:
        _check(params, template)
    if params.array is not None and elements(params.array) > MOST_ELEMENTS:
        raise ToolError(f"The array {params.array} has more than {MOST_ELEMENTS} elements.")
    return JobSpec(
        command=params.command, script=params.script, name=params.name, queue=params.queue, nodes=params.nodes,
        cores=params.cores, gpus=params.gpus, memory_bytes=params.memory_bytes,
        walltime_seconds=params.walltime_seconds, array=params.array,
        dependencies=tuple(Dependency(after.id, after.kind) for after in params.dependencies), cwd=params.cwd,
        hold=params.hold, account=params.account,
    )  # fmt: skip


def _check(params: Submission, template: Template) -> None:
    if params.parameters:
        raise ToolError(f"The template {params.template} takes no parameters.", "Only a template of your own does.")
    for name in template.needs:
        if not getattr(params, name):
            raise ToolError(f"The template {params.template} ({template.meaning}) needs {name}.")
    for name in template.refuses:
        if getattr(params, name) is not None:
            raise ToolError(f"The template {params.template} ({template.meaning}) has no {name}.")


def _resolved(params: Submission) -> Submission:
    """The submission that a template of the user's own makes of its parameters."""
    own = user_templates.load(params.template)
    if own is None:
        known = ", ".join([*TEMPLATES, *user_templates.names()])
        raise ToolError(f"There is no template {params.template!r}.", f"There are: {known}.")
    given = params.model_dump(exclude_defaults=True, exclude=_ALWAYS)
    if closed := set(given) - own.open:
        told = f"The template {params.template} ({own.meaning}) sets {', '.join(sorted(closed))} by itself."
        raise ToolError(told, own.asks())
    command, script = own.filled(params.parameters)
    fields = {**own.job.fields(), **given, "command": command, "script": script}
    kept = params.model_dump(include=_ALWAYS - {"parameters"}, exclude_defaults=True)
    try:
        return Submission.model_validate({**kept, **fields})
    except ValidationError as error:
        bad = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ToolError(f"The template {params.template} makes no valid job: {bad}.") from None
