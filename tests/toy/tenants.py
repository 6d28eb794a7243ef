"""Tenants: who there is, and erasing one whole."""

from __future__ import annotations

from tests.toy.shop import Port, Shop

from agent_memory.ledger.tenants import Leaving, farewell
from agent_memory.models.record import SHARED, Scope
from agent_memory.ports.changes import Author
from agent_memory.ports.tenants import Census, Departed
from agent_memory.ports.vectors import belongs
from agent_memory.testing.memory.erase import clear_tenant
from agent_memory.testing.memory.spending import forget_tenant


class ToyTenants(Port):
    def census(self, tenant: str | None = None) -> list[Census]:
        shop = self.shop
        known = {*shop.tenants, *(key.tenant for key in shop.keys.values())}
        known |= {place.partition("\x1f")[0] for place, _ in shop.namespaces}
        counts = [_census(shop, name) for name in sorted(known) if tenant in (None, name)]
        return [one for one in counts if _holds(shop, one)]

    def erase(self, tenant: str, author: Author, now: int) -> Departed:
        with self.base.writing() as shop:
            census, tables = _census(shop, tenant), shop.of(tenant)
            self.base.fails("read")
            keys = tuple(sorted(id for id, key in shop.keys.items() if key.tenant == tenant))
            found = Leaving(tables.number, tables.head, len(tables.lines), keys)
            self.base.fails("plan")
            lines = farewell(tenant, found if _holds(shop, census) else None, shop.head, author, now)
            self.base.fails("write")
            shop.store += lines
            del shop.tenants[tenant]
            shop.keys = {id: key for id, key in shop.keys.items() if key.tenant != tenant}
            shop.refusals = [one for one in shop.refusals if one.tenant != tenant]
            shop.reads = [one for one in shop.reads if one.tenant != tenant]
            forget_tenant(shop, tenant)
            shop.cursors = {place: one for place, one in shop.cursors.items() if place[1] != tenant}
            clear_tenant(shop, tenant)
            shop.debts = {place: one for place, one in shop.debts.items() if place[1].tenant != tenant}
            shop.debts |= {(name, Scope(tenant=tenant), None): (lines[-1].seq, now) for name in shop.places}
        return Departed(census)


def _census(shop: Shop, tenant: str) -> Census:
    tables = shop.of(tenant)
    places = {row.place for row in tables.versions.values()}
    users = {place.scope.user for place in places} - {SHARED}
    vectors = sum(belongs(place, tenant) for place, _ in shop.namespaces)
    keys = sum(key.tenant == tenant for key in shop.keys.values())
    versions, links, receipts = len(tables.versions), len(tables.links), len(tables.receipts)
    return Census(tenant, len(users), len(places), versions, links, receipts, vectors, keys)


def _holds(shop: Shop, census: Census) -> bool:
    tables = shop.of(census.tenant)
    return any((tables.lines, tables.values, tables.lists, tables.receipts, census.vectors, census.keys))
