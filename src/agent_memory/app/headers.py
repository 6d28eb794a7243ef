"""Whose memory a request is about, as HTTP headers: what our client writes and the REST door reads.

Names may hold any Unicode text, headers only visible ASCII: everything else is percent-encoded. A name that somebody
types by hand (`curl -H 'X-Memory-User: jürgen'`) is understood, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote, unquote_to_bytes

from agent_memory.models.errors import InvalidInput

NAMES: Mapping[str, str] = MappingProxyType(
    {
        "user": "x-memory-user",
        "tenant": "x-memory-tenant",
        "agent": "x-memory-agent",
        "conversation": "x-memory-conversation",
        "why": "x-memory-why",
    }
)
_AS_THEY_ARE = "!#$&'()*+,/:;=?@[]^`{|}~\"<>\\"


def written(**said: str | None) -> dict[str, str]:
    """Headers for what is said; None says nothing."""
    return {NAMES[name]: quote(value, safe=_AS_THEY_ARE) for name, value in said.items() if value is not None}


def read(headers: Mapping[str, str]) -> dict[str, str | None]:
    """What the headers of a request say, by name."""
    return {name: _decoded(header, headers.get(header)) for name, header in NAMES.items()}


def _decoded(header: str, value: str | None) -> str | None:
    if not value:
        return None
    try:
        return unquote_to_bytes(value.encode("latin-1")).decode()
    except UnicodeError:
        raise InvalidInput(f"{header}: is not UTF-8", hint="percent-encode it", field=header) from None
