"""Records by one of their embeddings: the nearest vectors of a namespace whose records this reader may see."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_memory.core.write.mirror import MirrorAnswer
from agent_memory.models.record import Record
from agent_memory.ports.vectors import Match

MORE = 4  # times as many are asked for, where some are of nothing that may be seen
MOST = 50  # times as many as are wanted; who has more that are hidden gets fewer


def near(
    find: Callable[[int], MirrorAnswer], read: Callable[[Sequence[str]], Sequence[Record]], k: int
) -> tuple[list[tuple[Record, Match]], MirrorAnswer]:
    """The nearest `k` that can be read, though nearer ones cannot: archived ones, say, or ids of no record. Fewer where
    there are not `k` among the nearest `MOST * k`: a namespace is not read whole for one question."""
    wanted = k
    while True:
        found = find(wanted)
        known = {record.id: record for record in read([match.id for match in found.matches])}
        seen = [(known[match.id], match) for match in found.matches if match.id in known]
        if len(seen) >= k or len(found.matches) < wanted or wanted == MOST * k:
            return seen[:k], found
        wanted = min(MORE * wanted, MOST * k)
