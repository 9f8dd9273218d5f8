"""The double's writes, and what they do to its world. The sentences are those of the recorded answers (w_*, d_*)."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.doubles.lsf.queries import complain
from tests.doubles.lsf.world import FINISHED, host_status, job_ref, new_job

World = dict[str, Any]
_BSUB_FLAGS = {"-H", "-x", "-r"}


def _options(argv: list[str], flags: set[str]) -> tuple[dict[str, str], list[str]]:
    """Options up to the first word that is none; bsub and bmod take a value for every other option."""
    found: dict[str, str] = {}
    waiting = list(argv)
    while waiting and waiting[0].startswith("-"):
        option = waiting.pop(0)
        found[option] = "" if option in flags else waiting.pop(0)
    return found, waiting


def bsub(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    options, command = _options(argv, _BSUB_FLAGS)
    queue = options.get("-q", "normal")
    if queue not in world["queues"]:
        return complain(f"{queue}: No such queue. Job not submitted.")
    if not world["queues"][queue]["open"]:
        return complain(f"{queue}: Queue has been closed. Job not submitted.")
    text = " ".join(command) or (stdin or "").strip()
    if not text:
        return complain("No command is specified. Job not submitted.")
    name, indices = options.get("-J", text), [0]
    if match := re.match(r"^(.*)\[(\d+)-(\d+)\](?:%\d+)?$", name):
        name, indices = match[1], list(range(int(match[2]), int(match[3]) + 1))
    hours, minutes = ("0", "0") if "-W" not in options else tuple(options["-W"].split(":"))
    job = new_job(
        world, user=me, name=name, queue=queue, command=text, stat="PSUSP" if "-H" in options else "PEND",
        submit=int(time.time()), slots=int(options.get("-n", "1")), project=options.get("-P", "default"),
        description=options.get("-Jd", ""), dependency=options.get("-w", ""), output=options.get("-o", ""),
        error=options.get("-e", ""), runlimit=int(hours) * 60 + int(minutes), memlimit=_megabytes(options.get("-M")),
    )  # fmt: skip
    world["jobs"] += [job | {"index": index} for index in indices]
    world["next"] += 1
    default = "" if "-q" in options else "default "
    print(f"Job <{job['id']}> is submitted to {default}queue <{queue}>.")
    return 0


def _megabytes(text: str | None) -> int:
    match = re.match(r"^(\d+)([KMG])?B?$", text or "0")
    assert match is not None
    return int(match[1]) * {"K": 1, "M": 1024, "G": 1024**2, None: 1024}[match[2]] // 1024


def _targets(world: World, id: str) -> list[dict[str, Any]]:
    return [job for job in world["jobs"] if job_ref(job) == id or str(job["id"]) == id]


def on_jobs(world: World, ids: list[str], me: str, done: str, act: Callable[[dict[str, Any]], str | None]) -> int:
    """Do something to each job; successes on stdout, failures on stderr, 255 if there was one."""
    rc = 0
    for id in ids:
        if not re.match(r"^\d+(\[\d+\])?$", id):
            return complain(f"{id}: Illegal job ID.")
        jobs = [job for job in _targets(world, id) if job["stat"] not in FINISHED]
        if not _targets(world, id):
            told: str | None = "No matching job found"
        elif not jobs:
            told = "Job has already finished"
        elif any(job["user"] != me and me not in world["admins"] for job in jobs):
            told = "User permission denied"
        else:
            told = next((text for text in [act(job) for job in jobs] if text), None)
        if told:
            rc = complain(f"Job <{id}>: {told}")
        else:
            print(f"Job <{id}> {done}")
    return rc


def bkill(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    signal = argv[1] if argv[:1] == ["-s"] else None
    ids = argv[2:] if signal else argv

    def act(job: dict[str, Any]) -> str | None:
        if job["unreachable"]:
            return "Operation is in progress"
        if signal is None or signal in ("KILL", "TERM", "INT"):
            started = bool(job["start"])
            job |= {"stat": "EXIT", "end": int(time.time()), "exit": 130 if started else 0}
            job["exit_reason"] = "TERM_OWNER: job killed by owner"
        return None

    return on_jobs(world, ids, me, "is being signaled" if signal else "is being terminated", act)


def bstop(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    def act(job: dict[str, Any]) -> str | None:
        if job["stat"] in ("USUSP", "PSUSP"):
            return "Operation is in progress"
        job["stat"] = "PSUSP" if job["stat"] == "PEND" else "USUSP"
        return None

    return on_jobs(world, argv, me, "is being stopped", act)


def bresume(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    def act(job: dict[str, Any]) -> str | None:
        job["stat"] = {"PSUSP": "PEND", "USUSP": "RUN", "SSUSP": "RUN"}.get(job["stat"], job["stat"])
        return None

    return on_jobs(world, argv, me, "is being resumed", act)


def brequeue(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    ids = [word for word in argv if not word.startswith("-")]
    for id in ids:
        for job in _targets(world, id):
            if job["stat"] == "PEND":
                return complain(f"Job <{id}> : Job has not started yet")
            job |= {"stat": "PEND", "hosts": [], "start": 0, "end": 0, "exit": 0, "exit_reason": ""}
        print(f"Job <{id}> is being requeued ")
    return 0


def bchkpnt(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    return on_jobs(world, argv, me, "is being checkpointed", lambda job: None)


def bmod(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    options, ids = _options(argv, set())
    jobs = _targets(world, ids[0])
    if not jobs:
        return complain(f"{ids[0]}: No matching job found. Job not modified.")
    if any(job["user"] != me and me not in world["admins"] for job in jobs):
        return complain("User permission denied. Job not modified.")
    if any(job["stat"] == "RUN" for job in jobs):
        return complain("Job parameters cannot be changed now; non-repetitive job is running. Job not modified.")
    for job in jobs:
        job["name"] = options.get("-J", job["name"])
        job["project"] = options.get("-P", job["project"])
        job["slots"] = int(options.get("-n", job["slots"]))
        job["memlimit"] = _megabytes(options["-M"]) if "-M" in options else job["memlimit"]
        if "-W" in options:
            hours, minutes = options["-W"].split(":")
            job["runlimit"] = int(hours) * 60 + int(minutes)
    print(f"Parameters of job <{ids[0]}> are being changed")
    return 0


def bswitch(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    queue, ids = argv[0], argv[1:]
    if queue not in world["queues"]:
        return complain(f"{queue}: No such queue")

    def act(job: dict[str, Any]) -> str | None:
        job["queue"] = queue
        return None

    return on_jobs(world, ids, me, f"is switched to queue <{queue}>", act)


def btop(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    return complain(f"Job <{argv[0]}> has been moved to position 1 from top.", 0)


def bbot(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    return complain(f"Job <{argv[0]}> has been moved to position 1 from bottom.", 0)


def badmin(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    command, rest = argv[0], argv[1:]
    comment = ""
    if rest[:1] == ["-C"]:
        comment, rest = rest[1], rest[2:]
    if command in ("hclose", "hopen"):
        return _hosts(world, command, rest, comment, me)
    rc = 0
    for name in rest:
        if name not in world["queues"]:
            rc = complain(f"{name}: No such queue")
        elif me not in world["admins"]:
            rc = complain(f"{name}: User permission denied")
        else:
            key, value, word = {
                "qopen": ("open", True, "opened"),
                "qclose": ("open", False, "closed"),
                "qact": ("active", True, "activated"),
                "qinact": ("active", False, "inactivated"),
            }[command]
            world["queues"][name][key] = value
            print(f"Queue <{name}> is {word}")
    return rc


def _hosts(world: World, command: str, names: list[str], comment: str, me: str) -> int:
    word, rc = ("Close", 0) if command == "hclose" else ("Open", 0)
    for name in names:
        if name not in world["hosts"]:
            rc = complain("Bad host name, host group name or cluster name")
        elif me not in world["admins"]:
            rc = complain(f"{word} <{name}> ...... Host control failed.: User permission denied")
        else:
            world["hosts"][name] |= {"closed": command == "hclose", "comment": comment}
            full = command == "hopen" and host_status(world, name) == "closed_Full"
            print(
                f"{word} <{name}> ...... done" + (" : host remains closed due to job limit;  " if full else ""),
                file=sys.stderr,
            )
    return rc


def bconf(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    """Invented but for its syntax: no recording of an answer is known."""
    host, value = argv[1].removeprefix("host="), argv[2].removeprefix("MXJ=")
    if me not in world["admins"]:
        return complain("bconf: User permission denied. Request for host rejected")
    if host not in world["hosts"]:
        return complain(f"bconf: host <{host}> does not exist. Request rejected")
    world["hosts"][host]["max"] = None if value == "-" else int(value)
    print(f"bconf: Request for host <{host}> accepted")
    return 0


def brsvadd(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    options, _ = _options(argv, {"-s"})
    if me not in world["admins"]:
        return complain("User permission denied")
    name = options["-N"]
    window = f"{options['-b']}-{options['-e']}"
    made = {"user": options.get("-u", "system"), "slots": options.get("-n", "8"), "hosts": options["-m"]}
    world["reservations"][name] = made | {"window": window}
    print(f'Reservation "{name}" is created')
    return 0


def brsvdel(world: World, argv: list[str], me: str, stdin: str | None) -> int:
    if argv[0] not in world["reservations"]:
        return complain(f"{argv[0]}: No such reservation")
    del world["reservations"][argv[0]]
    print(f"Reservation {argv[0]} is being deleted")
    return 0
