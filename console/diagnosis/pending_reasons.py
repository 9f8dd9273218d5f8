"""What the backends' own words for waiting mean: one table, first match wins.

Sources: Slurm reason codes as `squeue %r` prints them (squeue(1), JOB REASON CODES); LSF sentences as `bjobs -p`
prints them; Kubernetes conditions, events and scheduler messages; the native wire's `pendreason`.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Reason(NamedTuple):
    """A pattern over a backend's reason and the cause it means."""

    pattern: re.Pattern[str]
    cause: str


def _table(*rows: tuple[str, str]) -> tuple[Reason, ...]:
    return tuple(Reason(re.compile(pattern, re.IGNORECASE), cause) for pattern, cause in rows)


REASONS: tuple[Reason, ...] = _table(
    # the native scheduler's sentences, whole
    (r"^Queue \S+ starts no jobs", "queue_closed"),
    (r"^Needs \d+ .*; (?:queue \S+ has|the largest node has) \d+$", "asks_too_much"),
    (r"^Needs \d+ slots; the quotas of the nodes allow \d+$", "node_quota_zero"),
    (r"^Queue \S+ is at its limit of \d+ slots$", "queue_limit"),
    (r" is at the limit of \d+ slots a user in queue ", "user_limit"),
    (r"^No node answers$|^No node runs jobs of |^Every node that could run it is closed", "nodes_unavailable"),
    (r"^At most \d+ elements of this array run at a time$", "array_throttle"),
    # dependencies
    (r"DependencyNeverSatisfied|dependency condition (?:invalid|never)|never (?:be )?satisf|can never (?:be met|start)", "dependency_never"),
    (r"^Dependency\b|dependency condition not satisfied|waits? for job|waiting for (?:job|dependenc)", "dependency"),
    # holds
    (r"JobHeldAdmin|suspended by (?:LSF )?admin|suspended by root|held by (?:an? )?(?:admin|operator)|launch failed requeued held", "held_by_admin"),
    (r"JobHeldUser|suspended by the user|held by (?:its |the )?(?:owner|user)|^JobHeld$|user while pending", "held_by_owner"),
    (r"requeued in held state|^held$|^SPECIAL_EXIT|At hold", "held"),
    (r"^Suspended$|JobSuspended|spec\.suspend", "held_by_owner"),
    (r"SchedulingGated|scheduling gates?", "gated"),
    # times
    (r"BeginTime|will be scheduled after|begins? (?:at|after|later)|specified (?:begin|start) time", "begin_time"),
    (r"PartitionTimeLimit|QOSTimeLimit|run ?limit (?:exceeds|above|is higher)|walltime.*(?:limit|exceeds)|exceeds? (?:the )?queue'?s? (?:run|time|walltime)", "walltime_limit"),
    # containers
    (r"ImagePullBackOff|ErrImagePull|InvalidImageName|ImageInspectError|pulling image", "image_pull"),
    (r"CreateContainerConfigError|CreateContainerError|(?:secret|configmap) .*not found", "container_config"),
    (r"CrashLoopBackOff|restarting failed container", "crash_loop"),
    # limits and quotas
    (r"exceeded quota|insufficient quota|quota.*exceed|insufficient unused quota", "namespace_quota"),
    (r"JobArrayTaskLimit|array.*(?:limit|throttle)|job array (?:has )?reached its", "array_throttle"),
    (r"Licenses?\b.*|licence", "licence"),
    (r"InvalidAccount|InvalidQOS|BadConstraints|AccountNotAllowed|AccountingPolicy|QOSNotAllowed|unknown (?:queue|account)", "invalid_request"),
    (r"queue has (?:been )?(?:reached|limit)|queue has reached|queue.*(?:slot|job) limit|PartitionJobLimit|queue limit|queue is at its limit", "queue_limit"),
    (r"Assoc\w*(?:Limit|Max|Grp)|Association\w*Limit|QOS\w*(?:Limit|Per|Grp|Max)|QOSGrp|QOSMax|MaxJobs|user has reached|user'?s? (?:limit|is at)|project.*limit|limit of (?:the )?user", "user_limit"),
    # queues
    (r"PartitionDown|PartitionInactive|queue has been (?:inactivated|closed)|queue (?:is )?(?:closed|inactive|not open|inact)|inactivated by|LocalQueue.*(?:inactive|stopped)|ClusterQueue.*(?:inactive|stopped)", "queue_closed"),
    # never
    (r"PartitionNodeLimit|PartitionConfig|MaxMemPerLimit|NodeConfig|more than (?:any|there|the)|no node (?:has|can)|never fit|larger than|cannot ever|requested node configuration", "asks_too_much"),
    # nobody would have to end for it, and still no node would do
    (r"0/(\d+) nodes are available.*\b\1 Preemption is not helpful", "asks_too_much"),
    # nodes
    (r"ReqNodeNotAvail.*reserved|^Reservation|advance reservation|may be reserved for", "reservation"),
    (r"Nodes required for job are DOWN|ReqNodeNotAvail|UnavailableNodes|NodeDown|node is (?:down|drained)|Closed by (?:LSF )?administrator: (\d+) host|all nodes (?:are )?(?:down|drained)|no node (?:is )?up|FrontEndDown", "nodes_unavailable"),
    (r"quota of .*(?:0|zero)|quotas? (?:are|is) (?:at )?(?:0|zero)|paused by (?:a )?quota|node quota", "node_quota_zero"),
    (r"untolerated taint|didn't match Pod's node affinity|no suitable hosts|not enough hosts", "resources"),
    (r"JobLaunchFailure|launch failure|Prolog|SystemFailure|FailedCreate", "launch_failed"),
    # the ordinary cases last: their words are the most general
    (r"^Resources\b|Insufficient|not enough|job slot|resource requirements? not satisfied|requirements? for reserving|no free|waiting for (?:free )?(?:slots?|cores?|resources?|memory|gpus?)|slots? (?:are )?(?:in use|busy)|Unschedulable", "resources"),
    (r"^Priority\b|higher priority|jobs? (?:before|ahead of) it|lower priority", "priority"),
    (r"^None$|new job is waiting|not (?:yet )?considered|waiting for scheduling|^ContainerCreating$|^Cleaning|^Pending$|requeued", "just_submitted"),
)  # fmt: skip


def cause_of_reason(text: str) -> str | None:
    """The cause that a backend's reason means; None for words that are not in the table."""
    for reason in REASONS:
        if reason.pattern.search(text):
            return reason.cause
    return None
