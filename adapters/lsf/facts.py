"""What seldom changes and is asked once an hour: LSF's version, its hosts' hardware, its queues' limits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from adapters.base import AdapterError
from adapters.lsf.decode import text_of
from adapters.lsf.failures import read_failed
from adapters.lsf.longform_hosts import QueueDetail, read_queues
from adapters.lsf.session import Session
from adapters.lsf.site import Identification, identify, read_conf
from adapters.lsf.tables import JOBS, LIM_HOSTS, Record

LIFE: Final = 3600.0
"""Seconds after which hardware and limits are asked again."""


class Facts:
    """Remembers slow facts of one session. The optional ones never fail: without them fields stay unknown."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._identification: Identification | None = None
        self._lims: tuple[float, Sequence[Record]] | None = None
        self._queues: tuple[float, dict[str, QueueDetail]] | None = None
        self.conf = read_conf(session.environment)

    async def identification(self) -> Identification:
        """LSF's product and version. Raises Unreachable without `lsid`, Unavailable where LIM is down."""
        if self._identification is None:
            done = await self._session.run(["lsid"])
            found = identify(text_of(done.stdout))
            if done.rc != 0 or found.cluster is None:
                raise read_failed("lsid", done.rc, b"" if done.stderr.strip() else done.stdout, done.stderr)
            self._identification = found
        return self._identification

    @property
    def lims(self) -> Sequence[Record]:
        """Records of lshosts, as far as they have been read."""
        return self._lims[1] if self._lims else ()

    @property
    def lims_due(self) -> bool:
        return self._lims is None or self._session.clock() - self._lims[0] > LIFE

    @property
    def queues(self) -> dict[str, QueueDetail]:
        """Details of queues, as far as they have been read."""
        return self._queues[1] if self._queues else {}

    @property
    def queues_due(self) -> bool:
        return self._queues is None or self._session.clock() - self._queues[0] > LIFE

    async def read_lims(self) -> None:
        """Read the hosts' hardware if it is due."""
        if self.lims_due:
            records: Sequence[Record] = self.lims
            with suppress(AdapterError):
                records = (await self._session.table(LIM_HOSTS)).records
            self._lims = (self._session.clock(), records)

    async def read_queues(self) -> None:
        """Read the queues' limits and descriptions if they are due."""
        if self.queues_due:
            details = self.queues
            with suppress(AdapterError):
                details = read_queues(await self._session.text(["bqueues", "-l"]))
            self._queues = (self._session.clock(), details)

    def understands_units(self) -> bool:
        """True where ``-M 2GB`` is understood: IBM's 10.1.0.2, which is also the first with ``-json``. A cluster may
        report 10.1.0.0 for years, so an answer in JSON counts as much as the number."""
        found = self._identification
        if found is None or not found.ibm:
            return False
        jobs = self._session.dialects[JOBS]
        return found.version >= (10, 1, 0, 2) or (found.version >= (10, 1) and jobs.settled and jobs.tier == "A")

    def limit_unit(self) -> str | None:
        """The unit of a bare limit (LSF_UNIT_FOR_LIMITS); None where it is not known. KB is LSF's default, but only
        where lsf.conf could be read and says nothing else."""
        told = self._session.options.unit_for_limits or (self.conf or {}).get("LSF_UNIT_FOR_LIMITS")
        if told:
            return told[:1].upper() if told[:1].upper() in "KMGTPE" else None
        return "K" if self.conf is not None else None
