"""What four versions of Slurm said when something was wrong, and which error that is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.command import Finished
from adapters.slurm.errors import error_of, words, write_error_of

DATA = Path(__file__).parent.parent / "data" / "slurm"
VERSIONS = ("20.11", "22.05", "24.11", "26.05")
EXPECTED = {
    "sbatch_test_only_bad": "invalid", "sbatch_bad_partition": "invalid", "sbatch_bad_time": "invalid",
    "sbatch_bad_account": "invalid", "sbatch_bad_qos": "invalid", "sbatch_bad_option": "invalid",
    "sbatch_bad_mem": "invalid", "sbatch_too_many_cpus": "invalid", "sbatch_bad_gres": "invalid",
    "sbatch_bad_feature": "invalid", "sbatch_bad_node": "invalid", "sbatch_bad_dependency": "invalid",
    "sbatch_bad_dep_syntax": "invalid", "sbatch_no_file": "invalid", "sbatch_no_shebang": "invalid",
    "sbatch_crlf": "invalid", "sbatch_empty": "invalid", "sbatch_bad_array": "invalid",
    "sbatch_array_too_large": "invalid", "sbatch_submit_limit_4": "forbidden", "sbatch_no_assoc": "invalid",
    "scancel_other_user": "forbidden", "scancel_other_user_v": "forbidden", "scancel_garbage": "invalid",
    "scancel_signal": "not_found", "hold_other": "forbidden", "release_admin_held_as_user": "forbidden",
    "hold_missing": "not_found", "upd_time_over_partition_user": "forbidden", "upd_time_up_user_running": "forbidden",
    "upd_time_plus_user_running": "forbidden", "upd_time_bad": "invalid", "upd_partition_bad": "not_found",
    "upd_partition_running": "conflict", "upd_comment_other": "forbidden", "upd_priority_user": "forbidden",
    "upd_qos_denied": "invalid", "upd_mem_running": "conflict", "upd_two_one_bad": "not_found",
    "upd_unknown_key": "unsupported", "upd_missing": "not_found", "upd_admincomment_user": "forbidden",
    "upd_finished": "conflict", "upd_finished_comment": "conflict", "suspend_user": "forbidden",
    "resume_user": "forbidden", "resume_root": "conflict", "resume_not_suspended": "conflict",
    "suspend_pending": "conflict", "requeue_other": "forbidden", "requeue_pending": "conflict",
    "requeue_missing": "not_found", "requeue_not_allowed": "unsupported", "top_other": "forbidden",
    "node_drain_user": "forbidden", "node_drain_no_reason": "invalid", "node_resume_not_drained": "conflict",
    "node_drain_oper": "forbidden", "node_resume_oper": "forbidden", "node_missing": "not_found",
    "node_bad_state": "invalid", "node_weight_user": "forbidden", "node_features_bad": "invalid",
    "node_reboot_user": "forbidden", "node_power_down_user": "forbidden", "part_down_user": "forbidden",
    "part_missing": "not_found", "sacctmgr_modify_user": "forbidden",
    "ctld_frozen_squeue": "unavailable", "ctld_frozen_scontrol_ping": "unavailable",
    "ctld_frozen_sbatch": "unavailable",
    "dbd_down_sacct": "unavailable", "dbd_down_sacctmgr": "unavailable", "munge_down_squeue": "unavailable",
    "munge_down_squeue_json": "unavailable", "munge_down_scontrol_ping": "unavailable",
    "munge_down_scancel": "unavailable", "munge_down_sbatch": "unavailable", "munge_down_sacct": "unavailable",
    "ctld_down_squeue": "unavailable", "ctld_down_squeue_json": "unavailable", "ctld_down_sinfo": "unavailable",
    "ctld_down_scontrol_show_job": "unavailable", "ctld_down_scontrol_ping": "unavailable",
    "ctld_down_scancel": "unavailable", "ctld_down_sbatch": "unavailable", "ctld_down_sdiag": "unavailable",
    "ctld_down_sprio": "unavailable", "ctld_down_sshare": "unavailable", "ctld_down_hold": "unavailable",
    "ctld_unreachable_squeue": "unavailable", "ctld_unresolvable_squeue": "unavailable",
    "no_conf_squeue": "unreachable",
}  # fmt: skip
EXPECTED_OF = {
    ("20.11", "munge_down_squeue_json"): "invalid", ("20.11", "ctld_down_squeue_json"): "invalid",
}  # fmt: skip
"""Where one release differs: 20.11 has no `squeue --json` at all."""
LOST = {"ctld_frozen_sbatch", "ctld_down_hold", "ctld_frozen_squeue"}
"""Failures after which a write may have happened."""


def failures() -> list[Any]:
    found = []
    for version in VERSIONS:
        for kind in ("writes", "dead"):
            for entry in json.loads((DATA / version / f"{kind}.json").read_text()):
                if entry["rc"] and entry["argv"][0] != "curl":
                    expected = EXPECTED_OF.get((version, entry["name"])) or EXPECTED[entry["name"]]
                    found.append(pytest.param(entry, expected, id=f"{version}-{entry['name']}"))
    return found


def finished(entry: dict[str, Any]) -> Finished:
    out, err = entry.get("stdout", ""), entry["stderr"]
    return Finished(tuple(entry["argv"]), entry["rc"], out.encode(), err.encode(), entry["seconds"])


def test_there_is_something_to_test() -> None:
    assert len(failures()) > 330


@pytest.mark.parametrize(("entry", "expected"), failures())
def test_a_failure_is_its_error_in_slurms_words(entry: dict[str, Any], expected: str) -> None:
    error = error_of(finished(entry))
    assert error.code == expected, error
    said = " ".join((entry["stderr"] or entry["stdout"]).split())
    assert error.message and all(word in said for word in error.message.rstrip(".").split()), error.message
    assert "scancel: Terminating" not in error.message and "error:" not in error.message.split(":")[0]


@pytest.mark.parametrize(("entry", "expected"), failures())
def test_a_write_is_unknown_only_where_its_answer_was_lost(entry: dict[str, Any], expected: str) -> None:
    error = write_error_of(finished(entry))
    written = "unknown" if entry["name"] in LOST else "unreachable" if expected == "unavailable" else expected
    assert error.code == written, error


def test_a_write_ended_by_a_signal_is_unknown() -> None:
    assert write_error_of(Finished(("scontrol",), -9, b"", b"", 1.0)).code == "unknown"


def test_silence_is_said() -> None:
    assert "said nothing" in error_of(Finished(("squeue",), 1, b"", b"", 0.1)).message


def test_hostile_words_are_cleaned_and_bounded() -> None:
    said = words(b"squeue: error: \x1b[2J\xff" + b"x" * 100_000)
    assert "\x1b" not in said and len(said) <= 1000 and said.startswith("␛[2J\\xff")
