"""Slurm, 20.11 to 26.05, by the commands that are on every login node. See docs/slurm.md."""

from __future__ import annotations

from collections.abc import Callable

from adapters.base import Reader, Writer
from adapters.polling import COMMAND_CALLS_PER_MINUTE, CallMeter
from adapters.slurm.detect import Detected, detect
from adapters.slurm.facts import login_name
from adapters.slurm.options import SlurmOptions
from adapters.slurm.reader import SlurmReader
from adapters.slurm.writer import SlurmWriter

__all__ = ["Detected", "SlurmOptions", "SlurmReader", "SlurmWriter", "detect", "open_slurm"]


def open_slurm(
    cluster: str,
    *,
    slurm_conf: str | None = None,
    slurm_cluster: str | None = None,
    bin_dir: str | None = None,
    owner: str | None = None,
    poll_floor: float | None = None,
    calls_per_minute: float | None = None,
    rest_url: str | None = None,
    rest_socket: str | None = None,
    rest_user: str | None = None,
    token: Callable[[], str | None] | None = None,
) -> tuple[Reader, Writer]:
    """Reader and Writer of a Slurm cluster; nothing is asked of it yet.

    Args:
        cluster: our name for it.
        slurm_conf: path of slurm.conf, if not that of SLURM_CONF or Slurm's default.
        slurm_cluster: Slurm's own name of the cluster, where a host reaches several (`-M`).
        bin_dir: folder of the commands, if they are not on the PATH.
        owner: whose jobs "mine" are, if not those of the person who runs this.
        poll_floor: seconds between two reads of the same thing, at least.
        calls_per_minute: calls of the controller in a minute at most; six where it is not given.
        rest_url, rest_socket: where slurmrestd listens, for a host without the commands.
        rest_user, token: who we are to it, and what gives the JWT, each time it is needed; not for a Unix socket.
    """
    if rest_url is not None or rest_socket is not None:
        return _open_rest(cluster, rest_url, rest_socket, rest_user or owner, token, poll_floor, calls_per_minute)
    options = SlurmOptions(cluster, slurm_conf, slurm_cluster, bin_dir, owner)
    meter = CallMeter(COMMAND_CALLS_PER_MINUTE if calls_per_minute is None else calls_per_minute)
    reader = SlurmReader(options, meter, floor=poll_floor or 0.0)
    return reader, SlurmWriter(reader.calls, reader.facts)


def _open_rest(
    cluster: str,
    url: str | None,
    socket: str | None,
    user: str | None,
    token: Callable[[], str | None] | None,
    floor: float | None,
    limit: float | None,
) -> tuple[Reader, Writer]:
    from adapters.slurm.rest_client import RestClient
    from adapters.slurm.rest_reader import RestReader
    from adapters.slurm.rest_writer import RestWriter

    name = user or login_name()
    meter = CallMeter(COMMAND_CALLS_PER_MINUTE if limit is None else limit)
    client = RestClient(cluster, meter, url=url, socket=socket, token=token or (lambda: None), user=name)
    reader = RestReader(client, name, floor=floor or 0.0)
    return reader, RestWriter(client, reader)
