"""Record what a real Slurm answers to the very commands that the adapter runs, for tests that have none.

    python -m tests.rigs.slurm.record WORKDIR USER FILE

WORKDIR is a rig that was filled within the last minutes. Paths of the rig become /rig, separators and times get names
(tests/doubles/slurm_replay). Bytes are kept as latin-1 text, since names hold what is no UTF-8.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adapters.base import AdapterError, HistoryFilter, JobFilter
from adapters.command import Finished
from adapters.slurm.ids import parse_id
from tests.doubles.slurm_replay import normal
from tests.rigs.slurm.rig import Rig
from tests.slurm.support import open_as


async def record(rig: Rig, user: str) -> list[dict[str, Any]]:
    """All answers of one person's reads, each command line once."""
    reader, _ = open_as(rig, user)
    answers: dict[str, dict[str, Any]] = {}
    run = reader.calls.run

    async def recording(argv: Sequence[str], **options: Any) -> Finished:
        finished = await run(argv, **options)
        asked, tokens = normal(argv)
        out = finished.stdout
        for name, token in tokens.items():
            out = out.replace(token.encode(), name.encode())
        folder, host = str(rig.folder).encode(), b"/rig"
        answers[json.dumps(asked)] = {
            "argv": asked,
            "rc": finished.rc,
            "stdout": out.replace(folder, host).decode("latin-1"),
            "stderr": finished.stderr.replace(folder, host).decode("latin-1"),
        }
        return finished

    reader.calls.run = recording  # type: ignore[method-assign]
    await _ask(reader)
    return list(answers.values())


async def _ask(reader: Any) -> None:
    version = await reader.facts.version()
    jobs = await reader.list_jobs()
    await reader.list_jobs(JobFilter(mine=True))
    await reader.list_nodes()
    await reader.list_queues()
    await reader.capabilities()
    await reader.history()
    await reader.history(HistoryFilter(mine=True))
    queries = {parse_id(job.id).query for job in jobs} | {"999999"}
    for query in sorted(queries):
        try:
            await reader.detail(query)
        except AdapterError as error:
            print(f"{query}: {error}", file=sys.stderr)
    if version.has_job_state_only:
        from adapters.slurm.watch import CommandSource

        await CommandSource(reader.calls, reader.facts).states()


def main() -> None:
    rig = Rig(Path(sys.argv[1]), "")
    answers = asyncio.run(record(rig, sys.argv[2]))
    Path(sys.argv[3]).write_text(json.dumps(answers, indent=0) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
