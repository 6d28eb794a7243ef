"""How far `vectors.recall` looks, where the nearest vectors are of nothing that may be seen."""

from __future__ import annotations

from agent_memory.core.recall.near import MOST, near
from agent_memory.core.write.mirror import MirrorAnswer
from agent_memory.ports.vectors import Match


def test_a_namespace_of_what_is_hidden_is_not_read_whole() -> None:
    asked: list[int] = []

    def find(k: int) -> MirrorAnswer:
        asked.append(k)
        return MirrorAnswer([Match(str(number), 1.0) for number in range(k)], "mirror")

    seen, found = near(find, lambda ids: [], 3)
    assert seen == [] and len(found.matches) == 3 * MOST
    assert asked == [3, 12, 48, 3 * MOST]
