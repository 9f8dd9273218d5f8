"""What a profile says about a Slurm cluster, and the environment its commands run in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from adapters.command import READ_TIMEOUT, WRITE_TIMEOUT, clean_environment

PREFIXES = ("SLURM_", "SQUEUE_", "SINFO_", "SACCT_", "SCANCEL_", "SBATCH_", "SALLOC_", "SRUN_", "SCONTROL_", "SPRIO_",
            "SSHARE_", "SDIAG_", "SACCTMGR_")  # fmt: skip
"""A person's defaults for formats, filters and submissions: none of them may change what the console reads or sends."""
KEPT = ("SLURM_CONF", "SLURM_JWT")


@dataclass(frozen=True, slots=True)
class SlurmOptions:
    """How a cluster is reached by its commands.

    Args:
        cluster: our name for it.
        slurm_conf: path of slurm.conf; None keeps SLURM_CONF of the environment, else Slurm's default.
        slurm_cluster: Slurm's name of the cluster (`-M`), for hosts that reach several.
        bin_dir: folder of the commands, before those of PATH.
        owner: whose jobs "mine" are, where not of the account the commands run as.
        login: the account the commands run as, where the folder's commands change it (`sudo -u`).
        read_timeout, write_timeout: seconds.
        quota_wait: seconds that a step of a quota waits for cores to fall free.
    """

    cluster: str
    slurm_conf: str | None = None
    slurm_cluster: str | None = None
    bin_dir: str | None = None
    owner: str | None = None
    login: str | None = None
    read_timeout: float = READ_TIMEOUT
    write_timeout: float = WRITE_TIMEOUT
    quota_wait: float = 600.0
    base: Mapping[str, str] | None = None

    def _clean(self, extra: Mapping[str, str], *, c_locale: bool) -> dict[str, str]:
        base = dict(os.environ if self.base is None else self.base)
        if self.bin_dir is not None:
            base["PATH"] = f"{self.bin_dir}{os.pathsep}{base.get('PATH', os.defpath)}"
        environment = clean_environment(base, PREFIXES, keep=KEPT, extra=extra, c_locale=c_locale)
        if self.slurm_conf is not None:
            environment["SLURM_CONF"] = self.slurm_conf
        return environment

    def read_environment(self) -> dict[str, str]:
        """Times come as seconds of the epoch, so that no zone or format is guessed."""
        return self._clean({"SLURM_TIME_FORMAT": "%s"}, c_locale=True)

    def write_environment(self) -> dict[str, str]:
        """The person's own locale and variables: `sbatch` hands them on to the job."""
        return self._clean({}, c_locale=False)

    def argv(self, program: str, *arguments: str) -> tuple[str, ...]:
        """A command line for this cluster."""
        return (program, *(("-M", self.slurm_cluster) if self.slurm_cluster else ()), *arguments)
