"""Erasing a tenant whole: like every change it passes the gate; like every erasure it finds the receipts that wait, and
places outside are told."""

from __future__ import annotations

from agent_memory.core.write.commit import Writing
from agent_memory.models.errors import StoreError
from agent_memory.ports.changes import Author, EraseTenant
from agent_memory.ports.spans import span
from agent_memory.ports.tenants import Departed, TenantStore


def erase_tenant(writing: Writing, tenants: TenantStore, tenant: str, author: Author, now: int) -> Departed:
    """`author` is the operator, who may be of any tenant."""
    change = EraseTenant(tenant)
    if [*writing.gate.decide([change], author)] != [change]:
        raise StoreError("the gate did not decide about the tenant", hint="nothing was erased: this is its mistake")
    writing.receipts.flush()
    with span("write.erase_tenant"):
        departed = tenants.erase(tenant, author, now)
    writing.embedding.forget()
    return departed if writing.debts.pay() else departed._replace(scrubbed=False)
