"""What LSF's sentences mean: typed errors for reads, and which of them say "not now".

The sentences are those of the recordings and of IBM's documentation; they come on either stream, and the exit code
alone decides nothing (`bjobs` says "No unfinished job found" with 0, 254 or 255).
"""

from __future__ import annotations

import re
from typing import Final

from adapters.base import (
    AdapterError,
    Forbidden,
    Invalid,
    NotFound,
    ProtocolError,
    Unauthenticated,
    Unavailable,
    Unreachable,
    Unsupported,
)
from adapters.lsf.decode import text_of
from adapters.text import clean

EMPTY: Final = re.compile(r"No (?:unfinished |matching |finished )?(?:job|event|reservation)s? found", re.IGNORECASE)
BUSY: Final = re.compile(
    r"concurrent (?:job )?query limit exceeded|Please wait|LSF is retrying|too many (?:requests|queries)", re.IGNORECASE
)
"""LSF asks its clients to hold back; it may still have answered."""
SILENT: Final = re.compile(r"not responding|daemon .*still trying|LSF is down|Cannot connect to LSF", re.IGNORECASE)
REFUSED_FIELD: Final = re.compile(r"<([^<>]*)>\s+in the format string is not a valid field name", re.IGNORECASE)
_REFUSED_FORM: Final = re.compile(
    r"format string|field name|invalid field|unknown field|(?:invalid|illegal|unknown|unrecognized) option|^Usage:"
    r"|: option requires|syntax error",
    re.IGNORECASE | re.MULTILINE,
)
_UNKNOWN_ID: Final = re.compile(r"Job <([^<>]+)> is not found", re.IGNORECASE)
_KNOWN: Final[tuple[tuple[re.Pattern[str], type[AdapterError], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind, hint)
    for pattern, kind, hint in (
        (r"External authentication failed|eauth", Unauthenticated, "LSF's authentication (eauth) failed on this host."),
        (r"lsf\.conf|LSF_ENVDIR", Unreachable, "Source LSF's profile.lsf in your shell, then start again."),
        (r"LIM is down|LIM .*not ready|not a (?:member|client) of", Unavailable, "LIM does not answer on this host."),
        (r"permission denied|not permitted|not authorized|must be .*administrator", Forbidden, ""),
        (r"Illegal job ID|Illegal user|Bad .* specification|bad time", Invalid, ""),
        (r"No such queue|Bad host name|is not found|No matching|unknown (?:user|host|queue)", NotFound, ""),
        (r"time ?out|try (?:again )?later|internal (?:library|system) error|mbatchd", Unavailable, ""),
    )
)


def unknown_ids(text: str) -> list[str]:
    """Ids of which LSF says that it has no such job."""
    return _UNKNOWN_ID.findall(text)


def says_nothing_found(stdout: bytes, stderr: bytes) -> bool:
    """True where LSF answered, and the answer is that there is nothing."""
    text = text_of(stdout[:4096]) + "\n" + text_of(stderr)
    return bool(EMPTY.search(text) or _UNKNOWN_ID.search(text))


def refusal(stdout: bytes, stderr: bytes) -> str | None:
    """LSF's sentence where it does not know this form of asking (an option or a field), else None."""
    for text in (text_of(stderr), text_of(stdout[:2048])):
        if _REFUSED_FORM.search(text):
            return first_line(text)
    return None


def refused_field(stdout: bytes, stderr: bytes) -> str | None:
    """The one field that LSF names as unknown, if it does."""
    match = REFUSED_FIELD.search(text_of(stderr) + text_of(stdout[:2048]))
    return match[1].lower() if match else None


def first_line(text: str) -> str:
    """The first line that says something, cleaned."""
    return next((clean(line.strip(), 200) for line in text.splitlines() if line.strip()), "")


def read_failed(program: str, rc: int, stdout: bytes, stderr: bytes) -> AdapterError:
    """The error that a failed read stands for, in LSF's words where it has any."""
    text = text_of(stderr) if stderr.strip() else text_of(stdout[:4096])
    said = first_line(text)
    for pattern, kind, hint in _KNOWN:
        if pattern.search(text):
            return kind(f"{program}: {said}", hint)
    if BUSY.search(text) or SILENT.search(text):
        return Unavailable(f"{program}: {said}", "LSF is busy or down; it is asked again later, at a slower pace.")
    if _REFUSED_FORM.search(text):
        return Unsupported(f"{program}: {said}", "This LSF does not know the option.")
    if said:
        return ProtocolError(f"{program} failed with exit code {rc}: {said}", f"Run `{program}` by hand to see more.")
    return ProtocolError(f"{program} failed with exit code {rc} and said nothing", f"Run `{program}` by hand.")
