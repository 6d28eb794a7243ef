"""How it looks that something was forgotten, or would be."""

from __future__ import annotations

from collections.abc import Mapping

from agent_memory.app.namespaces.records import Forgotten
from agent_memory.app.namespaces.sweeping import Swept
from agent_memory.app.namespaces.tenants import ErasedTenant, Tenant
from agent_memory.app.registry import installed_kinds
from agent_memory.interfaces.cli.blocks import Block, Sentence
from agent_memory.models.size import counted


def forgotten(one: Forgotten) -> list[Block]:
    return _scrubbed(f"forgotten: {', '.join(one.ids)}", done=one.scrubbed)


def swept(one: Swept) -> list[Block]:
    if one.dry_run:
        kinds = f": {by_kind(one.kinds)}; nothing was erased" if one.count else ""
        return [Sentence(f"{one.count} would be forgotten{kinds}", "yellow" if one.count else "")]
    with_them = f", and {one.derived} derived from nothing else" if one.derived else ""
    kinds = f" ({by_kind(one.kinds)})" if one.count else ""
    return _scrubbed(f"forgotten: {one.count}{kinds}{with_them}", done=one.scrubbed)


def tenant(one: ErasedTenant) -> list[Block]:
    if one.dry_run:
        return [Sentence(f"would be erased: {everything(one)}; nothing was erased", "yellow")]
    return _scrubbed(f"erased: {everything(one)}", done=one.scrubbed)


def everything(one: Tenant) -> str:
    """A tenant, and what there is of it."""
    counts = [(one.records, "record"), (one.versions, "version"), (one.links, "link"), (one.users, "user")]
    counts += [(one.receipts, "receipt"), (one.vectors, "vector"), (one.keys, "API key")]
    told = [counted(number, word) for number, word in counts if number]
    return f"tenant {one.name}: {', '.join(told) or 'nothing but its name'}"


def by_kind(kinds: Mapping[str, int]) -> str:
    known = installed_kinds()
    plurals = {kind: known[kind].plural.replace("_", " ") if kind in known else None for kind in kinds}
    return ", ".join(counted(number, kind.replace("_", " "), plurals[kind]) for kind, number in kinds.items())


def _scrubbed(said: str, *, done: bool) -> list[Block]:
    late = (
        ""
        if done
        else "; out of reach, but not off every disk yet: `agent-memory doctor` says where, and what takes it off"
    )
    return [Sentence(said + late, "green" if done else "yellow")]
