"""The `ReadingLog` port on a plain list, which is never cut."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from agent_memory.ports.reading import MOST_IDS, ReadLine, ReadsWanted
from agent_memory.testing.memory.world import Worlds


class MemoryReading:
    """`known` tells which records a tenant has; None, if there is no such tenant."""

    def __init__(self, room: Any, known: Callable[[Any, str], Collection[str] | None]) -> None:
        self._room = room
        self._known = known

    def keep(self, lines: Sequence[ReadLine], *, durable: bool = False) -> None:
        with self._room.writing() as world:
            there = [line for line in lines if self._known(world, line.tenant) is not None]
            world.reads += [line._replace(ids=line.ids[:MOST_IDS]) for line in there]

    def lines(self, tenant: str, wanted: ReadsWanted, limit: int) -> list[ReadLine]:
        with self._room.reading() as world:
            known = set(self._known(world, tenant) or ())
            found = [one for one in reversed(world.reads) if one.tenant == tenant and _fits(one, wanted)]
            return [one if known.issuperset(one.ids) else one._replace(why=None) for one in found[:limit]]


def _fits(line: ReadLine, wanted: ReadsWanted) -> bool:
    return (
        line.at >= wanted.since
        and wanted.id in (None, *line.ids)
        and wanted.user in (None, line.user)
        and wanted.key in (None, line.key)
    )


def records(worlds: Worlds, tenant: str) -> set[str] | None:
    """Those of the reference engine."""
    world = worlds.tenants.get(tenant)
    return {one.id for one in world.entries.values()} if world and world.lines else None
