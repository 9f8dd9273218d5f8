"""The native scheduler, over its REST interface and its stream of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapters.native.reader import NativeReader
    from adapters.native.token import TokenSource
    from adapters.native.writer import NativeWriter

__all__ = ["open_native"]


def open_native(
    cluster: str,
    url: str,
    token: TokenSource,
    *,
    allow_insecure: bool = False,
    verify: bool | str = True,
    owner: str | None = None,
    poll_floor: float = 0.0,
    **more: Any,
) -> tuple[NativeReader, NativeWriter]:
    """Reader and Writer of one cluster; nothing is asked of it yet.

    Args:
        token: gives the credential for each request (`adapters.native.token`).
        allow_insecure: lets the credential go over plain HTTP to another machine.
        verify: False trusts any certificate, a path trusts those in that file.
        owner: whose jobs "mine" are, where that is not the account the server knows us by.
        poll_floor: seconds between two polls at least, where the server has no events.
        more: time limits and injected clocks, see `NativeReader`.

    Raises Invalid for a url that must not be used.
    """
    from adapters.native.reader import NativeReader
    from adapters.native.writer import NativeWriter

    shared: dict[str, Any] = {
        "allow_insecure": allow_insecure,
        "verify": verify,
        "timeouts": more.pop("timeouts", None),
    }
    reader = NativeReader(cluster, url, token, owner=owner, poll_floor=poll_floor, **shared, **more)
    return reader, NativeWriter(cluster, url, token, reader=reader, **shared)
