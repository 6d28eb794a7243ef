"""The `AccessStore` port on plain dicts."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.testing.memory.world import KEY, OURSELVES, ToyRoom, ToySignature, Worlds, sealed


class MemoryAccess:
    def __init__(self, room: ToyRoom) -> None:
        self._room = room

    def add(self, key: KeyRow, *, instead: str | None = None) -> bool:
        with self._room.writing() as world:
            if instead is not None:
                if instead not in world.keys or world.keys[instead].ended_at is not None:
                    return False
                _note(world, world.keys[instead]._replace(ended_at=key.created_at), key.created_at)
            _note(world, key, key.created_at)
            return True

    def find(self, id: str) -> KeyRow | None:
        with self._room.reading() as world:
            return world.keys.get(id)

    def keys(self, tenant: str | None = None) -> list[KeyRow]:
        with self._room.reading() as world:
            found = [key for key in world.keys.values() if tenant in (None, key.tenant)]
            return sorted(found, key=lambda key: (key.created_at, key.id), reverse=True)

    def guarded(self) -> bool:
        with self._room.reading() as world:
            return any(line.operation == KEY for line in world.lines)

    def end(self, id: str, at: int) -> bool:
        with self._room.writing() as world:
            key = world.keys.get(id)
            if key is None or key.ended_at is not None:
                return False
            _note(world, key._replace(ended_at=at), at)
            return True

    def refuse(self, lines: Sequence[Refusal]) -> None:
        with self._room.writing() as world:
            world.refusals += lines

    def refused(self, tenant: str, limit: int, *, keyed: bool) -> list[Refusal]:
        with self._room.reading() as world:
            found = [one for one in reversed(world.refusals) if one.tenant == tenant]
            return [one for one in found if (one.key is not None) is keyed][:limit]


def _note(world: Worlds, key: KeyRow, at: int) -> None:
    """A key as it stands from now on, and its line."""
    world.keys[key.id] = key
    world.note(ToySignature(at, OURSELVES, key.id), KEY, None, None, sealed(b"", repr(key)))
