"""The closed vocabulary of causes: every answer a diagnosis can give, in words, with what would have to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

Question: TypeAlias = Literal["pending", "failed", "cluster", "any"]


class Cause(NamedTuple):
    """One cause: the question it answers, a title, a sentence, and what to do."""

    question: Question
    title: str
    sentence: str
    changes: tuple[str, ...] = ()


CAUSES: Mapping[str, Cause] = {
    "unknown": Cause("any", "not known", "The evidence at hand does not say why."),
    # -- why pending ---------------------------------------------------------------------------------------------
    "just_submitted": Cause("pending", "not looked at yet", "The scheduler has not considered it yet.", ("Wait a minute and look again.",)),
    "resources": Cause("pending", "waiting for resources", "What it asks for is not free now.", ("Ask for less, or wait for running jobs to end.",)),
    "priority": Cause("pending", "others go first", "Jobs with a higher priority stand before it.", ("Wait, or use a queue with fewer jobs before it.",)),
    "dependency": Cause("pending", "waiting for another job", "It waits for a job it depends on.", ("Nothing: it starts when the other job has ended as asked.",)),
    "dependency_never": Cause("pending", "dependency can never be met", "A job it depends on has ended in the wrong way: it will never start.", ("Cancel it, and submit it again without that dependency.",)),
    "held_by_owner": Cause("pending", "held by its owner", "Its owner holds it.", ("Release it.",)),
    "held_by_admin": Cause("pending", "held by an administrator", "An administrator holds it; its owner cannot release it.", ("Ask an administrator to release it.",)),
    "held": Cause("pending", "held", "It is held; the scheduler does not say by whom.", ("Release it; if that is refused, ask an administrator.",)),
    "begin_time": Cause("pending", "begins later", "It was submitted to begin at a later time.", ("Wait, or change its begin time.",)),
    "queue_closed": Cause("pending", "queue is not open", "Its queue starts no jobs now.", ("Move it to an open queue, or wait until the queue is opened.",)),
    "queue_limit": Cause("pending", "queue is at its limit", "Its queue runs as much as it may.", ("Wait, or use another queue.",)),
    "user_limit": Cause("pending", "limit of the user or account", "Its owner, account or quality of service has reached a limit.", ("Wait for own jobs to end, or ask for a higher limit.",)),
    "asks_too_much": Cause("pending", "asks for more than there is", "No node or queue can ever give what it asks for.", ("Change what it asks for: cores, memory, GPUs, nodes or features.",)),
    "walltime_limit": Cause("pending", "time limit above the queue's", "It asks for more time than its queue allows.", ("Lower its time limit, or move it to a queue for longer jobs.",)),
    "nodes_unavailable": Cause("pending", "nodes are down or drained", "The nodes it needs are down, drained or reserved.", ("Wait for the nodes, or ask for other ones.",)),
    "reservation": Cause("pending", "a reservation stands in the way", "The nodes are reserved, or its own reservation has not begun.", ("Wait for the reservation, or ask for other nodes.",)),
    "licence": Cause("pending", "waiting for a licence", "A software licence it needs is in use.", ("Wait for a licence to come free.",)),
    "array_throttle": Cause("pending", "array limits itself", "As many elements of its array run as the array allows at once.", ("Raise the array's limit, or wait.",)),
    "namespace_quota": Cause("pending", "quota of the namespace or queue", "The quota of its namespace or queue is used up.", ("Wait, ask for less, or have the quota raised.",)),
    "image_pull": Cause("any", "image cannot be pulled", "The container's image cannot be pulled.", ("Check the image's name and the pull secret.",)),
    "container_config": Cause("any", "container cannot be set up", "The container refers to something that does not exist (secret, config map, volume).", ("Create what it refers to, or correct the reference.",)),
    "crash_loop": Cause("any", "container keeps crashing", "The container ends at once each time it is started.", ("Look at its log; correct the command or its input.",)),
    "gated": Cause("pending", "held by a scheduling gate", "A scheduling gate keeps it from being considered.", ("Whatever set the gate must remove it.",)),
    "node_quota_zero": Cause("any", "node quotas leave nothing", "The quotas on the nodes leave no slot free.", ("Raise or lift the quota of a node.",)),
    "invalid_request": Cause("pending", "request cannot be met", "The scheduler cannot make sense of what it asks for (account, quality of service, constraint).", ("Correct the request; submit it again.",)),
    "launch_failed": Cause("any", "could not be started", "The scheduler tried to start it and could not.", ("Ask an administrator to look at the node.",)),
    # -- why failed ----------------------------------------------------------------------------------------------
    "out_of_memory": Cause("failed", "out of memory", "It used more memory than it was given.", ("Ask for more memory, or make it use less.",)),
    "gpu_out_of_memory": Cause("failed", "GPU out of memory", "The GPU's memory was not enough.", ("Use a smaller batch, more GPUs, or GPUs with more memory.",)),
    "walltime": Cause("failed", "time limit reached", "It ran as long as its time limit allows and was ended.", ("Ask for more time, or save and continue from checkpoints.",)),
    "cpu_limit": Cause("failed", "CPU time limit reached", "It used as much CPU time as it may and was ended.", ("Ask for a higher CPU time limit.",)),
    "node_failure": Cause("failed", "node failed", "The node it ran on failed or was lost.", ("Submit it again; the fault was not its own.",)),
    "evicted": Cause("failed", "evicted from its node", "The node was short of a resource and evicted it.", ("Ask for what it really uses, so that it is placed where there is room.",)),
    "preempted": Cause("failed", "preempted", "It had to make room for another job.", ("Submit it again, or use a queue that is not preempted.",)),
    "cancelled_by_owner": Cause("failed", "cancelled by its owner", "Its owner cancelled it."),
    "cancelled_by_admin": Cause("failed", "cancelled by an administrator", "An administrator cancelled it.", ("Ask the administrators why.",)),
    "cancelled": Cause("failed", "cancelled", "Somebody cancelled it; the scheduler does not say who.", ("Ask whoever may have cancelled it.",)),
    "command_not_found": Cause("failed", "command not found", "The command it was to run does not exist there.", ("Check the command's name, the modules loaded and the PATH.",)),
    "not_executable": Cause("failed", "command cannot be executed", "The command exists but cannot be executed.", ("Make it executable; check its first line and its architecture.",)),
    "missing_file": Cause("failed", "file not found", "A file or folder it needs is not there.", ("Check the path and the working directory.",)),
    "permission_denied": Cause("failed", "permission denied", "It was not allowed to read or write a file.", ("Check the owner and mode of the file.",)),
    "missing_library": Cause("failed", "module or library missing", "A module or shared library it needs is not there.", ("Load the module or environment the program was built with.",)),
    "disk_full": Cause("failed", "disk full", "There was no space left to write to.", ("Make room, or write elsewhere.",)),
    "disk_quota": Cause("failed", "disk quota exceeded", "The disk quota of its owner is used up.", ("Make room, or ask for a higher quota.",)),
    "segmentation_fault": Cause("failed", "segmentation fault", "The program read or wrote memory that is not its own: a fault in the program.", ("Run it under a debugger; check array bounds and library versions.",)),
    "aborted": Cause("failed", "aborted itself", "The program found an error in itself and aborted.", ("Read what it printed before it aborted.",)),
    "arithmetic_error": Cause("failed", "arithmetic error", "The program divided by zero or did another forbidden calculation.", ("Check the input and the program.",)),
    "illegal_instruction": Cause("failed", "illegal instruction", "The program was built for another kind of processor.", ("Build it for these nodes, or ask for nodes of the kind it was built for.",)),
    "application_error": Cause("failed", "error in the application", "The program reported an error of its own.", ("Read the quoted lines.",)),
    "network": Cause("failed", "network failure", "It could not reach another machine or service.", ("Check the address; try again if it was passing.",)),
    "mpi_failure": Cause("failed", "MPI failure", "The parallel run broke down in MPI.", ("Find the rank that failed first.",)),
    "deadline": Cause("failed", "deadline passed", "It could not be done before its deadline.", ("Give it a later deadline, or ask for less time.",)),
    "input_killed": Cause("failed", "ended from outside", "It was ended by a signal from outside; who sent it is not on record.", ("Ask whoever may have ended it; look at its memory and time use.",)),
    # -- why nothing starts --------------------------------------------------------------------------------------
    "controller_silent": Cause("cluster", "scheduler does not answer", "The scheduler does not answer, so nothing can be said about its jobs.", ("Ask an administrator to look at the scheduler.",)),
    "no_heartbeat": Cause("cluster", "nodes are silent", "No node reports: nothing can run.", ("Look at the nodes and the network between them and the scheduler.",)),
    "all_drained": Cause("cluster", "all nodes drained", "Every node that is up is drained.", ("Undrain nodes.",)),
    "all_down": Cause("cluster", "all nodes down", "Every node is down.", ("Bring nodes up.",)),
    "all_queues_closed": Cause("cluster", "all queues closed", "No queue starts jobs.", ("Open a queue.",)),
    "all_busy": Cause("cluster", "the cluster is full", "Every slot is in use; jobs start as others end.", ("Wait.",)),
    "jobs_wait_for_themselves": Cause("cluster", "nothing wants to start", "All waiting jobs are held or wait for other jobs.", ("Release held jobs.",)),
    "nothing_waits": Cause("cluster", "nothing is waiting", "No job is pending."),
    "starting_normally": Cause("cluster", "jobs do start", "Jobs have started recently; nothing is stuck."),
}  # fmt: skip


def titles(question: Question) -> dict[str, str]:
    """Cause -> title, of the causes that can answer a question."""
    return {name: cause.title for name, cause in CAUSES.items() if cause.question in (question, "any")}
