"""How texts are kept smaller. Another package adds a codec as an entry point in `agent_memory.codecs`."""

from __future__ import annotations

from typing import Protocol


class Codec(Protocol):
    """What goes in comes out again, byte by byte. Its `name` stands beside everything that it encoded."""

    name: str

    def encode(self, data: bytes) -> bytes: ...

    def decode(self, data: bytes, most: int) -> bytes:
        """`ValueError` where this was never encoded, or would come to more than `most` bytes. It takes no more memory
        than so many need, whatever it is given."""
        ...
