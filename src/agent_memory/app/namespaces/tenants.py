"""`memory.tenants`: which there are, and erasing one of them whole."""

from __future__ import annotations

from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.write.tenants import erase_tenant
from agent_memory.ledger.tenants import missing
from agent_memory.models.model import Model, Name


class Tenant(Model):
    """How much the store holds of a tenant: users with records, records, their versions and links, receipts, vectors in
    namespaces, API keys (ended ones, too)."""

    name: str
    users: int
    records: int
    versions: int
    links: int
    receipts: int
    vectors: int
    keys: int


class ErasedTenant(Tenant):
    """What went with a tenant; with `dry_run` it is all still there. `scrubbed` as in `Forgotten`."""

    dry_run: bool
    scrubbed: bool = True


class Tenants(Namespace):
    """The tenants of the whole store, for operators."""

    @operation("tenants.list", "GET /tenants", permission=Permission.OPERATOR)
    def list(self) -> list[Tenant]:
        """Every tenant that has something in the store, by name, and how much."""
        return [Tenant(**_told(one._asdict())) for one in self._client.runtime.store.tenants.census()]

    @operation("tenants.erase", "POST /tenants/erase", permission=Permission.OPERATOR, erases=True)
    def erase(self, name: Name, dry_run: bool = False, reason: str | None = None) -> ErasedTenant:
        """Erase everything of a tenant for good: records with their history, journal, working sets, vectors, receipts,
        names and API keys, of all its users. With `dry_run` it is only counted.

        A line in the store's own journal stays, with a number and never the name; so does the `reason`. Whoever writes
        in the same name afterwards begins a new tenant. All others wait until it is done.
        """
        client = self._client
        tenants = client.runtime.store.tenants
        if dry_run:
            for one in tenants.census(name):
                return ErasedTenant(**_told(one._asdict()), dry_run=True)
            raise missing(name)
        client.runtime.refusals.flush()
        client.runtime.reads.flush()
        client.runtime.rings.drop(name)
        gone = erase_tenant(client.runtime.writing, tenants, name, client.author(reason), client.now())
        return ErasedTenant(**_told(gone.census._asdict()), dry_run=False, scrubbed=gone.scrubbed)


def _told(census: dict[str, object]) -> dict[str, object]:
    return {"name": census.pop("tenant"), **census}
