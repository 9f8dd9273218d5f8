"""``pilothouse submit [options] -- CMD ...``: run a command as a job."""

from __future__ import annotations

import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from adapters.intents import Intent, SubmitJob
from adapters.model import JobSpec
from console.cli.amounts import count, duration, size
from console.cli.exits import USAGE, CommandFailed
from console.cli.writing import build, change_on
from console.cluster import Cluster

LARGEST_SCRIPT = 4 * 1024 * 1024


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--name", help="name of the job")
    parser.add_argument("--queue", help="queue or partition")
    parser.add_argument("--nodes", type=count, metavar="N")
    parser.add_argument("--cores", type=count, metavar="N")
    parser.add_argument("--gpus", type=count, metavar="N")
    parser.add_argument("--memory", type=size, metavar="SIZE", help="such as 4GB (decimal) or 4GiB (binary)")
    parser.add_argument("--walltime", type=duration, metavar="TIME", help="HH:MM, HH:MM:SS, or such as 90m, 2d")
    parser.add_argument("--array", metavar="RANGE", help="indices of an array, such as 1-100%%4")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="may be given repeatedly")
    parser.add_argument(
        "--cwd",
        metavar="DIR",
        help="folder the job runs in; without it, where you are (in a container: where its image says)",
    )
    parser.add_argument("--output", metavar="FILE", help="file for its standard output")
    parser.add_argument("--error", metavar="FILE", help="file for its error output")
    parser.add_argument("--account", help="account or project it is charged to")
    parser.add_argument("--hold", action="store_true", help="do not let it start before it is released")
    parser.add_argument("--script", metavar="FILE", help="a batch script instead of a command; - reads it from a pipe")
    parser.add_argument("--template", metavar="NAME", help="a template of your own, or general_serial, mpi, gpu, ...")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the template; repeatable"
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")
    parser.add_argument("command", nargs=REMAINDER, metavar="-- CMD ...", help="the command and its arguments")


def run(args: Namespace) -> int:
    make = job_spec if args.template is None else template_spec
    spec = make(args, str(Path.cwd()))  # wrong usage is told before anything is opened

    def intent(cluster: Cluster) -> Intent:
        # A folder of this machine means nothing inside an image: there the image says where its command begins.
        own = spec if cluster.profile.shares_folders else make(args, None)
        return build(SubmitJob, cluster=cluster.name, spec=own)

    return change_on(args, intent)


def job_spec(args: Namespace, here: str | None) -> JobSpec:
    """What the options ask for; `here` is the folder without `--cwd`. Raises CommandFailed (usage) for a pair without
    `=` or a script that cannot be read."""
    command = tuple(args.command[1:] if args.command[:1] == ["--"] else args.command)
    return JobSpec(
        command=command,
        script=_script(args.script) if args.script else None,
        name=args.name,
        queue=args.queue,
        nodes=args.nodes,
        cores=args.cores,
        gpus=args.gpus,
        memory_bytes=args.memory,
        walltime_seconds=args.walltime,
        array=args.array,
        env=dict(_pair(text) for text in args.env),
        cwd=args.cwd or here,
        output=args.output,
        error=args.error,
        hold=args.hold,
        account=args.account,
    )


def template_spec(args: Namespace, here: str | None) -> JobSpec:
    """The job that a template makes of the options. Raises CommandFailed, ToolError."""
    from console.tools.templates import Submission, spec_of

    if args.env or args.output or args.error:
        raise CommandFailed("a template takes no --env, --output or --error", code=USAGE)
    own = job_spec(args, here)
    given = {
        "template": args.template, "command": own.command, "script": own.script, "name": own.name, "queue": own.queue,
        "nodes": own.nodes, "cores": own.cores, "gpus": own.gpus, "memory_bytes": own.memory_bytes,
        "walltime_seconds": own.walltime_seconds, "array": own.array, "cwd": args.cwd, "account": own.account,
        "hold": own.hold, "parameters": {name: _value(text) for name, text in map(_pair, args.set)},
    }  # fmt: skip
    spec = spec_of(Submission.parsed({name: value for name, value in given.items() if value not in (None, ())}))
    return spec if spec.cwd else replace(spec, cwd=own.cwd)


def _value(text: str) -> str | int | float:
    """A number where it is one."""
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not (name and separator):
        raise CommandFailed(f"{text!r} is not NAME=VALUE", code=USAGE)
    return name, value


def _script(name: str) -> str:
    try:
        data = sys.stdin.buffer.read(LARGEST_SCRIPT + 1) if name == "-" else Path(name).read_bytes()
        text = data.decode()
    except OSError as error:
        raise CommandFailed(f"cannot read the script {name}: {error.strerror}", code=USAGE) from None
    except UnicodeDecodeError:
        raise CommandFailed(f"the script {name} is not text in UTF-8", code=USAGE) from None
    if len(data) > LARGEST_SCRIPT:
        raise CommandFailed(f"the script {name} is larger than {LARGEST_SCRIPT} bytes", code=USAGE)
    return text
