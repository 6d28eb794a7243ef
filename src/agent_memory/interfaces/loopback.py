"""Where a network door listens: whether it can be reached from this machine alone, and whether it is free."""

from __future__ import annotations

import ipaddress
import socket

from agent_memory.models.errors import InvalidInput


def is_local(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listening(host: str, port: int, option: str, shares: bool = False) -> socket.socket:
    """A socket that listens there; `option` is what names another port. It says that it is TCP: asyncio turns off the
    waiting for more to send (Nagle) only for those. With `shares`, others that say so may listen there, too: Linux
    deals new connections out to them."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        opened = socket.create_server((host, port), family=family, backlog=2048, reuse_port=shares)
        return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, opened.detach())
    except (OSError, OverflowError) as error:
        why = (getattr(error, "strerror", None) or str(error)).partition(" (while")[0]
        raise InvalidInput(
            f"port: cannot listen on {host}:{port}: {why}",
            hint=f"another server may run there: name another {option}",
            field="port",
        ) from None
