"""States of jobs, nodes and partitions."""

from __future__ import annotations

import pytest

from adapters.model import JOB_STATUSES, NODE_STATUSES
from adapters.slurm.states import JOB_STATES, job_state_of_list, job_status, node_status, queue_status


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("PENDING", "pending"), ("RUNNING", "running"), ("COMPLETED", "succeeded"), ("FAILED", "failed"),
        ("CANCELLED", "cancelled"), ("CANCELLED by 47101", "cancelled"), ("CANCELLED+", "cancelled"),
        ("TIMEOUT", "failed"), ("OUT_OF_MEMORY", "failed"), ("NODE_FAIL", "failed"), ("DEADLINE", "failed"),
        ("BOOT_FAIL", "failed"), ("PREEMPTED", "failed"), ("SUSPENDED", "suspended"), ("STOPPED", "suspended"),
        ("COMPLETING", "running"), ("CONFIGURING", "pending"), ("SPECIAL_EXIT", "pending"), ("REQUEUED", "pending"),
        ("REQUEUE_HOLD", "pending"), ("RESIZING", "running"), ("STAGE_OUT", "running"), ("SIGNALING", "running"),
        ("REVOKED", "cancelled"), ("A_STATE_OF_2030", "unknown"), ("", "unknown"),
    ],
)  # fmt: skip
def test_job_states(raw: str, status: str) -> None:
    assert job_status(raw) == status


def test_every_state_maps_into_the_model() -> None:
    assert set(JOB_STATES.values()) <= set(JOB_STATUSES)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["RUNNING"], "running"), (["PENDING", "SPECIAL_EXIT"], "pending"), (["CANCELLED", "COMPLETING"], "running"),
        (["COMPLETED"], "succeeded"), (["RUNNING", "CONFIGURING"], "pending"), (["FAILED", "LAUNCH_FAILED"], "failed"),
        (["WHAT"], "unknown"), ([], "unknown"),
    ],
)  # fmt: skip
def test_states_of_json(words: list[str], status: str) -> None:
    assert job_state_of_list(words) == (status, "+".join(words))


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("idle", "idle"), ("mixed", "busy"), ("allocated", "busy"), ("idle+drain", "drain"), ("mixed+drain", "drain"),
        ("mixed+drain+planned", "drain"), ("down", "down"), ("down+not_responding", "down"), ("down*", "down"),
        ("idle+planned", "idle"), ("mixed+planned", "busy"), ("idle~", "idle"), ("idle+cloud+powered_down", "idle"),
        ("idle+powering_down", "idle"), ("down+drain", "down"), ("idle+not_responding", "unknown"),
        ("allocated+not_responding", "unknown"), ("drained", "drain"), ("draining", "drain"), ("completing", "busy"),
        ("idle+maint", "drain"), ("reserved", "idle"), ("fail", "down"), ("future", "down"), ("unknown", "unknown"),
        ("inval", "down"), ("idle+reboot_requested", "idle"), ("a_state_of_2030", "unknown"), ("", "unknown"),
    ],
)  # fmt: skip
def test_node_states(raw: str, status: str) -> None:
    assert node_status(raw) == status and status in NODE_STATUSES


@pytest.mark.parametrize(
    ("raw", "status"), [("up", "active"), ("down", "inactive"), ("drain", "draining"), ("inact", "inactive"),
                        ("what", "unknown")],
)  # fmt: skip
def test_partition_states(raw: str, status: str) -> None:
    assert queue_status(raw) == status
