"""LSF's states and reasons -> the model's. What is not known maps to `unknown` and keeps its raw text.

Sources: IBM's 10.1 documentation ("bjobs", "Host status", "Queue status", TERM reasons) and recordings; where only
a recording of a compatible scheduler has it, the comment says so.
"""

from __future__ import annotations

import re
from typing import Final

from adapters.model import JobStatus, NodeStatus, QueueStatus

JOB_STATES: Final[dict[str, JobStatus]] = {
    "PEND": "pending",
    "PROV": "pending",  # dispatched to a host that is being powered on
    "WAIT": "pending",  # member of a chunk job, waits for its turn
    "FWD_PEND": "pending",  # forwarded to another cluster
    "PSUSP": "pending",  # held: suspended before it started; the row says so as its reason
    "RUN": "running",
    "USUSP": "suspended",
    "SSUSP": "suspended",
    "DONE": "succeeded",
    "POST_DONE": "succeeded",
    "POST_ERR": "succeeded",  # the job is done, only its post-processing failed
    "EXIT": "failed",
    "ZOMBI": "unknown",  # killed while its host cannot be reached
    "UNKWN": "unknown",
}
HELD: Final = "PSUSP"

# Who ended it meant to: these make an EXIT "cancelled".
_CANCELLED: Final = frozenset(
    {
        "TERM_OWNER", "TERM_ADMIN", "TERM_FORCE_OWNER", "TERM_FORCE_ADMIN", "TERM_BUCKET_KILL", "TERM_REMOVE_HUNG_JOB",
        "TERM_REQUEUE_OWNER", "TERM_REQUEUE_ADMIN",
    }
)  # fmt: skip
TERM_REASONS: Final[dict[str, str]] = {
    "TERM_ADMIN": "killed by root or an LSF administrator",
    "TERM_BUCKET_KILL": "killed with bkill -b",
    "TERM_CHKPNT": "killed after a checkpoint",
    "TERM_CPULIMIT": "reached its CPU limit",
    "TERM_CSM_ALLOC": "killed by LSF because of an allocation error",
    "TERM_CWD_NOTEXIST": "its working directory does not exist on the host",
    "TERM_DATA": "staging its data failed",
    "TERM_DEADLINE": "reached its deadline",
    "TERM_EXTERNAL_SIGNAL": "killed by a signal from outside LSF",
    "TERM_FORCE_ADMIN": "killed by root or an LSF administrator without waiting for clean-up",
    "TERM_FORCE_OWNER": "killed by its owner without waiting for clean-up",
    "TERM_KUBE": "killed in Kubernetes",
    "TERM_LOAD": "killed because the load passed a threshold",
    "TERM_MC_RECALL": "recalled from the other cluster",
    "TERM_MEMLIMIT": "reached its memory limit",
    "TERM_ORPHAN_SYSTEM": "killed because a job it depends on failed",
    "TERM_OTHER": "member of a chunk job that was requeued, or an unknown cause",
    "TERM_OWNER": "killed by its owner",
    "TERM_PREEMPT": "killed for a job of a higher queue",
    "TERM_PRE_EXEC_FAIL": "its pre-execution command failed",
    "TERM_PROCESSLIMIT": "reached its limit of processes",
    "TERM_RC_RECLAIM": "its borrowed host was reclaimed",
    "TERM_REMOVE_HUNG_JOB": "removed because it hung",
    "TERM_REQUEUE_ADMIN": "killed and requeued by an LSF administrator",
    "TERM_REQUEUE_OWNER": "killed and requeued by its owner",
    "TERM_RMS": "killed by RMS",
    "TERM_RUNLIMIT": "reached its run limit",
    "TERM_SLURM": "killed by Slurm",
    "TERM_SWAP": "reached its swap limit",
    "TERM_THREADLIMIT": "reached its limit of threads",
    "TERM_UNKNOWN": "LSF does not know why",
    "TERM_WINDOW": "the queue's run window closed",
    "TERM_ZOMBIE": "ended as a zombie",
}
_TERM = re.compile(r"\b(TERM_[A-Z_]+)\b")

# bhosts -w, -l or -o status. closed_Full and the load-driven ones only mean "busy".
HOST_STATES: Final[dict[str, NodeStatus]] = {
    "closed_Full": "busy",
    "closed_Excl": "busy",
    "closed_cu_Excl": "busy",
    "closed_Busy": "busy",
    "closed_Adm": "drain",
    "closed_EGO": "drain",
    "closed_Lock": "drain",
    "closed_RC": "drain",
    "closed_Wind": "drain",
    "closed_LIM": "down",
    "unreach": "down",
    "unavail": "down",
    "unlicensed": "down",
}
HOST_REASONS: Final[dict[str, str]] = {
    "closed_Adm": "closed by the administrator",
    "closed_Busy": "a load index is over its threshold",
    "closed_EGO": "EGO has not given the host to LSF",
    "closed_Excl": "an exclusive job runs here",
    "closed_Full": "all job slots are in use",
    "closed_LIM": "LIM on this host does not answer",
    "closed_Lock": "locked by an administrator or an exclusive job",
    "closed_RC": "closed by the resource connector",
    "closed_Wind": "outside its dispatch window",
    "closed_cu_Excl": "an exclusive compute unit job runs here",
    "unavail": "LIM and sbatchd do not answer",
    "unlicensed": "has no licence",
    "unreach": "sbatchd does not answer",
}


def term_reason(*texts: str | None) -> str | None:
    """The first TERM_ reason in LSF's words (exit_reason, bhist, bacct, the job's report), else None."""
    for text in texts:
        if text and (match := _TERM.search(text)):
            return match[1]
    return None


def job_status(raw: str, term: str | None = None) -> JobStatus:
    """The model's status. An EXIT that its owner or an administrator wanted is `cancelled`."""
    status = JOB_STATES.get(raw, "unknown")
    return "cancelled" if status == "failed" and term in _CANCELLED else status


def queue_status(raw: str) -> QueueStatus:
    """``Open:Active`` takes and starts jobs; ``Closed:Active`` only runs out; an inactive one starts none."""
    taking, _, starting = raw.partition(":")
    if taking not in ("Open", "Closed") or not starting.startswith(("Active", "Inact")):
        return "unknown"
    if starting.startswith("Inact"):
        return "inactive"
    return "active" if taking == "Open" else "draining"


def node_status(raw: str, jobs: int | None, slots: int | None) -> NodeStatus:
    """The model's status of a host with so many job slots in use (`jobs`) and allowed (`slots`)."""
    if raw == "closed_Full" and not jobs:
        return "idle"  # no slots are allowed at all (MAX 0): nothing runs
    if raw in HOST_STATES:
        return HOST_STATES[raw]
    if raw == "ok":
        return "busy" if jobs else "idle"
    if raw == "closed":  # plain `bhosts`: the reason is not told
        return "busy" if jobs and slots is not None and jobs >= slots else "drain"
    return "drain" if raw.startswith("closed") else "unknown"


def host_reason(raw: str, jobs: int | None) -> str | None:
    """Why a host is not simply open, in a sentence that keeps LSF's word; None for ``ok``."""
    if raw == "ok" or not raw:
        return None
    if raw == "closed_Full" and not jobs:
        return "closed_Full: no job slots are allowed here"
    text = HOST_REASONS.get(raw)
    return f"{raw}: {text}" if text else raw


def exit_cause(raw: str, term: str | None, code: int | None) -> str | None:
    """Why a finished job ended badly, as far as LSF says: its TERM reason, never a guess from the exit code.

    The same codes come from limits, signals and programs themselves (130, 140), so a code alone stays a code.
    """
    if raw != "EXIT":
        return None
    if term:
        return f"{term}: {TERM_REASONS.get(term, 'ended by LSF')}"
    return f"exit code {code}" if code else None
