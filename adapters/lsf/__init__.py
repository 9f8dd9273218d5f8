"""IBM Spectrum LSF and the schedulers of its command family, by their commands."""

from __future__ import annotations

from typing import Any

from adapters.base import Reader, Writer

__all__ = ["detect", "open_lsf"]


def open_lsf(cluster: str, **options: Any) -> tuple[Reader, Writer]:
    """Reader and Writer of one LSF; nothing is asked of it yet.

    `options` are the fields of `adapters.lsf.options.Options`; an unknown one is a TypeError.
    """
    from adapters.lsf.facts import Facts
    from adapters.lsf.options import Options
    from adapters.lsf.reader import LsfReader
    from adapters.lsf.session import Session
    from adapters.lsf.writer import LsfWriter

    session = Session(cluster, Options(**options))
    facts = Facts(session)
    return LsfReader(session, facts), LsfWriter(session, facts)


async def detect(**options: Any) -> str | None:
    """The product and version where an LSF answers here (`lsid`, one call to LIM), else None.

    An LSF that is there and does not answer counts: its first line names it even while LIM is down.
    """
    from adapters.base import AdapterError
    from adapters.lsf.decode import text_of
    from adapters.lsf.options import Options
    from adapters.lsf.session import Session
    from adapters.lsf.site import identify

    session = Session("detect", Options(**options))
    if not session.has("lsid") or not session.has("bjobs"):
        return None
    try:
        done = await session.run(["lsid"])
    except AdapterError:
        return None
    found = identify(text_of(done.stdout))
    return found.line if found.version else None
