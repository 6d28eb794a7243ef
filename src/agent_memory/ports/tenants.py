"""Tenants as a whole: for operators, who are above them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from agent_memory.ports.changes import Author


class Census(NamedTuple):
    """How much a store holds of a tenant: names of users, records with their versions and links, receipts, vectors in
    namespaces, API keys (ended ones, too)."""

    tenant: str
    users: int = 0
    records: int = 0
    versions: int = 0
    links: int = 0
    receipts: int = 0
    vectors: int = 0
    keys: int = 0


class Departed(NamedTuple):
    """What went with a tenant, and whether all of it has left the disk and every place outside."""

    census: Census
    scrubbed: bool = True


class TenantStore(Protocol):
    """A tenant's number is never used again: whoever writes in the same name afterwards begins a new one."""

    def census(self, tenant: str | None = None) -> list[Census]:
        """Of all tenants that the store holds something of, by name; or of this one, if it does."""
        ...

    def erase(self, tenant: str, author: Author, now: int) -> Departed:
        """Leave nothing of a tenant, in one transaction and whoever writes meanwhile: journal, records, all that is
        beside them, its names and its keys. `ledger.tenants.farewell` gives the lines that stay in the store's
        journal; every place outside owes it. `NotFound` when there is nothing of it."""
        ...
