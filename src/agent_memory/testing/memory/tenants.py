"""The `TenantStore` port on plain dicts: a world that is thrown away."""

from __future__ import annotations

from agent_memory.models.errors import NotFound
from agent_memory.models.record import SHARED, Scope
from agent_memory.ports.changes import Author
from agent_memory.ports.tenants import Census, Departed
from agent_memory.ports.vectors import belongs
from agent_memory.testing.memory.erase import clear_tenant
from agent_memory.testing.memory.spending import forget_tenant
from agent_memory.testing.memory.world import DEPARTED, KEY, OURSELVES, ToyRoom, ToySignature, Worlds, named


class MemoryTenants:
    def __init__(self, room: ToyRoom) -> None:
        self._room = room

    def census(self, tenant: str | None = None) -> list[Census]:
        with self._room.reading() as worlds:
            known = {*worlds.tenants, *(key.tenant for key in worlds.keys.values())}
            known |= {place.partition("\x1f")[0] for place, _ in worlds.namespaces}
            found = (_census(worlds, name) for name in sorted(known) if tenant in (None, name))
            return [one for one in found if _holds(worlds, one)]

    def erase(self, tenant: str, author: Author, now: int) -> Departed:
        with self._room.writing() as worlds:
            census = _census(worlds, tenant)
            if not _holds(worlds, census):
                raise NotFound(f"there is no tenant {tenant!r}", field="tenant")
            for id in sorted(id for id, key in worlds.keys.items() if key.tenant == tenant):
                worlds.note(ToySignature(now, OURSELVES, id), KEY, None, None, b"")
                del worlds.keys[id]
            seq = worlds.note(ToySignature(now, author.actor, author.reason), DEPARTED, None, None, named(tenant))
            worlds.tenants.pop(tenant, None)
            worlds.refusals = [one for one in worlds.refusals if one.tenant != tenant]
            worlds.reads = [one for one in worlds.reads if one.tenant != tenant]
            forget_tenant(worlds, tenant)
            worlds.cursors = {place: one for place, one in worlds.cursors.items() if place[1] != tenant}
            clear_tenant(worlds, tenant)
            worlds.debts = {place: one for place, one in worlds.debts.items() if place[1].tenant != tenant}
            worlds.debts |= {(name, Scope(tenant=tenant), None): (seq, now) for name in worlds.places}
        return Departed(census)


def _census(worlds: Worlds, tenant: str) -> Census:
    world = worlds.of(tenant)
    users = {entry.scope.user for entry in world.entries.values()} - {SHARED}
    vectors = sum(belongs(place, tenant) for place, _ in worlds.namespaces)
    keys = sum(key.tenant == tenant for key in worlds.keys.values())
    records, versions, links = len(world.entries), len(world.versions), len(world.edges)
    return Census(tenant, len(users), records, versions, links, len(world.receipts), vectors, keys)


def _holds(worlds: Worlds, census: Census) -> bool:
    world = worlds.of(census.tenant)
    return any((world.lines, world.values, world.lists, world.receipts, census.vectors, census.keys))
