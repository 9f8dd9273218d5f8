"""A real Slurm for the tests that need one. SLURMRIG_ROOT names a Debian tree with another release."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rigs.slurm.rig import Rig, running_rig, why_not

SETTINGS = {"SLURMRIG_DEFER": "", "SLURMRIG_MESSAGETIMEOUT": "3"}
"""Jobs start at once, and commands wait three seconds for a controller that is not there, not ten."""


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """One cluster for all tests, filled with jobs in every state that can be made quickly."""
    reason = why_not()
    if reason is not None:
        pytest.skip(f"no real Slurm here: {reason}")
    root = os.environ.get("SLURMRIG_ROOT")
    # Slurm's users must be able to reach it, which pytest's own temporary folders forbid.
    folder = Path("/tmp") / f"slurm-rig-{os.getpid()}"
    with running_rig(folder, root=Path(root) if root else None, settings=SETTINGS) as started:
        started.fill()
        yield started
