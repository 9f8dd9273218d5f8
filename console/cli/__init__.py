"""The command line. `SUBCOMMANDS` is its one table; a subcommand's module is imported only when it is chosen.

A module has `configure(parser)`, which adds its arguments, and `run(args) -> int`, which returns an exit code. Both
it and everything it needs is imported only then, so that ``pilothouse --help`` stays as quick as the interpreter.
"""

from __future__ import annotations

from typing import NamedTuple


class Subcommand(NamedTuple):
    """One row of the table. `writes` marks what changes a cluster; `group` is the heading in the help."""

    name: str
    module: str
    help: str
    group: str = "Look"
    writes: bool = False


SUBCOMMANDS: tuple[Subcommand, ...] = (
    Subcommand("console", "console.cli.console", "the console in this terminal; also without any command", "Run"),
    Subcommand("demo", "console.cli.demo", "the console on an embedded cluster that runs small jobs", "Run"),
    Subcommand("replay", "console.cli.replay", "the console on a recording", "Run"),
    Subcommand("serve", "console.cli.serve", "the server of an embedded cluster", "Run"),
    Subcommand("worker", "console.cli.worker", "a worker of an embedded cluster", "Run"),
    Subcommand("mcp", "console.cli.mcp", "serve the tools to an MCP client", "Run"),
    Subcommand("jobs", "console.cli.jobs", "list jobs"),
    Subcommand("job", "console.cli.job", "one job with everything the scheduler tells"),
    Subcommand("queues", "console.cli.queues", "list queues"),
    Subcommand("nodes", "console.cli.nodes", "list nodes"),
    Subcommand("metrics", "console.cli.metrics", "totals of the cluster"),
    Subcommand("logs", "console.cli.logs", "a job's output"),
    Subcommand("why", "console.cli.why", "why a job waits or failed; without a job, why nothing starts"),
    Subcommand("efficiency", "console.cli.efficiency", "what a job used of what it asked for"),
    Subcommand("estimate", "console.cli.estimate", "how long a job will wait"),
    Subcommand("suggest", "console.cli.suggest", "what a job like this should ask for"),
    Subcommand("history", "console.cli.history", "finished jobs, from the accounting"),
    Subcommand("wait", "console.cli.wait", "wait until jobs are over; fails where one did"),
    Subcommand("submit", "console.cli.submit", "run a command as a job", "Change", True),
    Subcommand("cancel", "console.cli.cancel", "end jobs", "Change", True),
    Subcommand("hold", "console.cli.hold", "keep pending jobs from starting", "Change", True),
    Subcommand("release", "console.cli.release", "let held jobs start again", "Change", True),
    Subcommand("suspend", "console.cli.suspend", "stop running jobs where they are", "Change", True),
    Subcommand("resume", "console.cli.resume", "let suspended jobs run on", "Change", True),
    Subcommand("requeue", "console.cli.requeue", "put jobs back into their queue", "Change", True),
    Subcommand("modify", "console.cli.modify", "change what jobs ask for", "Change", True),
    Subcommand("quota", "console.cli.quota", "limit the slots of a node", "Change", True),
    Subcommand("drain", "console.cli.drain", "let nothing new start on nodes", "Change", True),
    Subcommand("undrain", "console.cli.undrain", "let jobs start on nodes again", "Change", True),
    Subcommand("approve", "console.cli.approve", "answer what agents have proposed", "Change", True),
    Subcommand("keys", "console.cli.keys", "API keys of the native scheduler", "Change", True),
    Subcommand("audit", "console.cli.audit", "the record of every change: tail, verify, export", "Check"),
    Subcommand("config", "console.cli.config", "check or show the configuration", "Check"),
    Subcommand(
        "completion", "console.cli.completion", "a script that completes the command line of your shell", "Check"
    ),
    Subcommand("doctor", "console.cli.doctor", "check the installation and the way to each cluster", "Check"),
)
