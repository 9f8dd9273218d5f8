"""What Slurm's commands say when something is wrong, and which error of the contract that is.

Exit codes tell little (`scancel` of a missing job is 0, `sbatch` answers 1 or 255), so the text decides; it is shown
in Slurm's own words. Source: the recorded failures of 22.05, 24.11 and 26.05.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from adapters.base import (
    AdapterError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ProtocolError,
    Unauthenticated,
    Unavailable,
    UnknownOutcome,
    Unreachable,
    Unsupported,
)
from adapters.command import Finished
from adapters.text import clean_lines


@dataclass(frozen=True, slots=True)
class _Rule:
    """`kind` for texts that match `pattern`; the first rule that matches counts."""

    pattern: re.Pattern[str]
    kind: type[AdapterError]
    hint: str = ""


def _rule(pattern: str, kind: type[AdapterError], hint: str = "") -> _Rule:
    return _Rule(re.compile(pattern, re.IGNORECASE), kind, hint)


_DOWN = "The controller (slurmctld) does not answer; the last data stays on screen."
LOST = re.compile(
    r"Socket timed out on send/recv|Zero Bytes were transmitted|Unexpected message received|Unable to (?:send|receive)"
    r"|Transport endpoint|Connection reset|Message (?:receive|send) failure|Broken pipe",
    re.IGNORECASE,
)
"""The request may have reached the controller, its answer did not reach us: after a write nothing is known."""

_RULES: tuple[_Rule, ...] = (
    _rule(
        r"cannot stat file .*slurm\.conf|Unable to process configuration file|ClusterName needs to be specified"
        r"|Could not establish a configuration source|unable to fetch config",
        Unreachable,
        "No slurm.conf was found: set SLURM_CONF, or slurm_conf in the profile.",
    ),
    _rule(
        r"Munge encode failed|munged is up|Failed to access .*munge",
        Unavailable,
        "The munge service of this host does not run; Slurm accepts nobody without it.",
    ),
    _rule(
        r"Problem talking to the database|Sending PersistInit msg|persistent connection|Unable to contact slurm ?dbd"
        r"|slurmdbd: .*(?:refused|down)|Slurm accounting storage is disabled|only works with the slurmdbd",
        Unavailable,
        "The accounting service (slurmdbd) does not answer; live views do not need it.",
    ),
    _rule(
        r"Unable to contact slurm controller|Unable to resolve|getaddrinfo\(\) failed|Unable to establish control"
        r"|Connection refused|in standby mode|temporarily unable to accept|Resource temporarily unavailable"
        r"|Slurmctld\(.*\) at .* is DOWN",
        Unavailable,
        _DOWN,
    ),
    _Rule(LOST, Unavailable, _DOWN),
    _rule(
        r"authentication error|Invalid authentication credential|Munge decode failed|auth_g_verify",
        Unauthenticated,
        "The controller does not accept the credential of this host or person.",
    ),
    _rule(r"Job dependency problem|Invalid dependency", Invalid, "Check the ids and words of the dependency."),
    _rule(r"invalid partition specified|Batch job submission failed: Invalid", Invalid),
    _rule(
        r"Invalid job id specified|Invalid node name specified|Invalid partition name specified"
        r"|Requested reservation is invalid|No jobs? (?:found|matching)",
        NotFound,
        "It may have ended and left Slurm's memory; the history may still have it.",
    ),
    _rule(
        r"Access/permission denied|Invalid user id|Permission denied|doesn't have privilege|User not permitted"
        r"|job priority are not persistent|violates accounting/QOS policy|Invalid account or account",
        Forbidden,
        "Slurm does not allow this person to do that.",
    ),
    _rule(
        r"Requested operation is presently disabled|Function not implemented|not supported",
        Unsupported,
    ),
    _rule(
        r"no longer pending execution|is pending execution|already (?:completing or completed|finished)|not suspended"
        r"|already suspended|nodes are busy|is in held state|overlaps with another|Duplicate reservation name"
        r"|Invalid node state|being requeued|is in use|requires extern step",
        Conflict,
        "Its state has changed, or does not allow this.",
    ),
    _rule(
        r"unrecognized option|Invalid |Unable to open file|does not look like a batch script|DOS line breaks"
        r"|script is empty|specification|not available|must specify|Memory required|More processors requested"
        r"|Node count|Time limit|Requested node configuration|not subset of|too long",
        Invalid,
    ),
)
_NOISE = re.compile(
    r"^(?:Try \"|Note, unless nodes|If no partition is requested|Request aborted|[\w./-]+: error: If munged is up"
    r"|slurm_suspend error:|scancel: (?:Terminating job|Signal \d|select/|auth/|cred/|.*plugin loaded))",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"^(?:[\w./-]+: )?(?:error|fatal): |^slurm_\w+(?: error)?: ?|^allocation failure: ")


def words(stderr: bytes, stdout: bytes = b"") -> str:
    """What a command said about its failure, cleaned, in one line and without its own name before it."""
    lines = [line.strip() for line in clean_lines(stderr or stdout, 500)]
    kept = [_PREFIX.sub("", line) for line in lines if line and not _NOISE.match(line)]
    kept = kept or [_PREFIX.sub("", line) for line in lines if line]
    unique = list(dict.fromkeys(kept))
    return " ".join(unique[-4:])[:1000]


def error_of(finished: Finished) -> AdapterError:
    """The error of a command that failed, by what it said; a text that no rule knows is `ProtocolError` for a read
    that said nothing, else `AdapterError` in Slurm's words."""
    said = words(finished.stderr, finished.stdout)
    program = finished.argv[0]
    details = {"command": program, "rc": finished.rc}
    if not said:
        return ProtocolError(
            f"{program} failed (exit code {finished.rc}) and said nothing.", "Try it in a shell.", details=details
        )
    full = (finished.stderr + b"\n" + finished.stdout).decode("utf-8", "replace")
    for rule in _RULES:
        if rule.pattern.search(full):
            return rule.kind(_sentence(said), rule.hint, details=details)
    return AdapterError(_sentence(said), f"{program} ended with exit code {finished.rc}.", details=details)


def write_error_of(finished: Finished) -> AdapterError:
    """The same for a write; where the answer was lost on the way the outcome is unknown."""
    text = (finished.stderr + b"\n" + finished.stdout).decode("utf-8", "replace")
    if LOST.search(text) or finished.rc < 0:
        said = words(finished.stderr, finished.stdout) or f"{finished.argv[0]} was ended by signal {-finished.rc}"
        return UnknownOutcome(
            _sentence(said),
            "The controller may or may not have done it; the target is read again.",
            details={"command": finished.argv[0], "rc": finished.rc},
        )
    error = error_of(finished)
    if isinstance(error, Unavailable):
        # Neither the controller nor munge could be reached at all: the request never left this host.
        return Unreachable(error.message, f"Nothing was sent. {error.hint}", details=error.details)
    return error


def _sentence(said: str) -> str:
    return said if said.endswith((".", "!", "?")) else f"{said}."
