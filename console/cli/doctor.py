"""``pilothouse doctor``: check the installation, this terminal, the files, and the way to each cluster."""

from __future__ import annotations

import locale
import os
import platform
import shutil
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

from adapters.base import AdapterError, Capabilities
from adapters.intents import INTENTS
from adapters.text import clean
from console import __version__, audit, origin
from console.cli.config import clusters_of
from console.cli.exits import DONE, FAILED, UNREACHABLE, USAGE
from console.cli.opening import load_config, with_engine
from console.cli.output import emit_json
from console.cluster import Cluster
from console.config import ConfigError
from console.engine import Engine

State = Literal["ok", "note", "bad"]
LIBRARIES = ("textual", "httpx", "pydantic", "starlette", "uvicorn")
SMALLEST = (80, 24)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `hint` says what to do; `code` is the error's, where there was one."""

    name: str
    state: State
    message: str
    hint: str = ""
    code: str = ""


def configure(parser: ArgumentParser) -> None:
    told = "llm: try what the chat's model can do, in place of everything else"
    parser.add_argument("what", nargs="?", choices=("llm",), help=told)
    parser.add_argument("--offline", action="store_true", help="do not contact any cluster, nor a model")


def run(args: Namespace) -> int:
    checks: list[Check] = []

    def report(found: Iterable[Check]) -> None:
        for check in found:
            checks.append(check)
            _print(check, args.json)

    if args.what == "llm":
        from console.cli.doctor_llm import run_llm

        return run_llm(args, report, lambda: _code(checks))
    report([_program(), _terminal(), *_state_folder()])
    try:
        config = load_config(args)
    except ConfigError as error:
        report([_failed("configuration", error)])
        return USAGE
    files = ", ".join(str(path) for path in config.sources) or "no file, so what answers on this host"
    report([Check("configuration", "ok", f"{files}; clusters: {', '.join(config.clusters) or 'none'}")])

    async def look(engine: Engine) -> int:
        for name in clusters_of(config):
            if args.cluster in (None, name):
                report(await _cluster(engine.cluster(name)))
        return 0

    if args.cluster is not None or not args.offline:
        with_engine(args, look)
    return _code(checks)


def _code(checks: list[Check]) -> int:
    bad = [check for check in checks if check.state == "bad"]
    if not bad:
        return DONE
    return UNREACHABLE if all(check.code == "unreachable" for check in bad) else FAILED


def _print(check: Check, as_json: bool) -> None:
    if as_json:
        emit_json(check)
        return
    print(f"{check.state:<4}  {clean(check.name)}: {clean(check.message)}")
    if check.hint:
        print(f"      {clean(check.hint)}")


def _failed(name: str, error: AdapterError) -> Check:
    return Check(name, "bad", f"{error.title}: {error.message}", error.hint, error.code)


def _program() -> Check:
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    python = platform.python_version()
    return Check("program", "ok", f"pilothouse {__version__} in {origin.ROOT}, Python {python}, {libraries}")


def _terminal() -> Check:
    columns, lines = shutil.get_terminal_size()
    encoding = locale.getencoding()
    colours = os.environ.get("COLORTERM") or "no COLORTERM"
    told = f"TERM={os.environ.get('TERM', '')}, {colours}, {columns}x{lines}, {encoding}"
    if "NO_COLOR" in os.environ:
        told += ", NO_COLOR"
    if not sys.stdout.isatty():
        return Check("terminal", "ok", told + "; standard output is none")
    if encoding.upper().replace("-", "") != "UTF8":
        return Check("terminal", "note", told, "Set LANG to a UTF-8 locale: names that are not ASCII show wrongly.")
    if columns < SMALLEST[0] or lines < SMALLEST[1]:
        return Check("terminal", "note", told, f"The console is made for {SMALLEST[0]}x{SMALLEST[1]} and more.")
    return Check("terminal", "ok", told)


def _state_folder() -> Iterator[Check]:
    log = audit.default_log()
    try:
        log.check_writable()
        yield Check("state folder", "ok", str(audit.state_folder()))
        if not log.paths.log.stat().st_size:
            yield Check("audit log", "ok", "nothing is on record yet")
            return
        found = audit.verify(log.paths.log)
    except AdapterError as error:
        yield _failed("state folder", error)
        return
    problem = str(found.problems[0]) if found.problems else ""
    told = f"{log.paths.log}, {found.lines} lines"
    yield Check("audit log", "ok" if found.ok else "bad", f"{told}: {problem}" if problem else told)


async def _cluster(cluster: Cluster) -> list[Check]:
    """What opening and asking it came to; every failure is a line."""
    name = f"cluster {cluster.name}"
    began = time.monotonic()
    try:
        await cluster.learn()
        took = (time.monotonic() - began) * 1000
        silent = await _probed(cluster)
    except AdapterError as error:
        return [_failed(name, error)]
    who, can = cluster.identity, cluster.capabilities
    assert who is not None and can is not None
    live = "changes are pushed" if can.push else "it is polled"
    role = f" ({who.role})" if who.role else ""
    told = f"{can.backend}, answers in {took:.0f} ms; you are {who.name}{role}; {live}"
    notes = [
        *(Check(name, "note", note) for note in await _notes(cluster, can)),
        *(Check(name, "bad", failure) for failure in silent),
    ]
    return [Check(name, "ok", told), *notes]


async def _notes(cluster: Cluster, can: Capabilities) -> tuple[str, ...]:
    """What an adapter has to say about its cluster: its own report where it makes one; else what can be done here,
    and its notes."""
    report = getattr(cluster.reader, "report", None)
    if report is None:
        cannot = [verb for verb in INTENTS if verb not in can.supported]
        told = f"can: {', '.join(sorted(can.supported)) or 'nothing but look'}"
        return (f"{told}; cannot: {', '.join(cannot)}" if cannot else told, *can.notes)
    lines: tuple[str, ...] = await report()
    return lines


async def _probed(cluster: Cluster) -> tuple[str, ...]:
    """Have an adapter that learns by asking ask everything once; returns what did not answer, in a sentence each."""
    probe = getattr(cluster.reader, "probe", None)
    if probe is None or cluster.reader is None:
        return ()
    silent: tuple[str, ...] = await probe()
    cluster.capabilities = await cluster.reader.capabilities()
    return silent
