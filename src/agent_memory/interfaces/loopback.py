"""Whether an address can be reached from this machine alone. Every network door asks before it listens."""

from __future__ import annotations

import ipaddress


def is_local(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
