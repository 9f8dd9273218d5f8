"""Which hosts are this machine: to them a key may go without TLS."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether the name or address of a host can only be this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
