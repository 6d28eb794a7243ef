"""Consolidation on demand, and taking it back: a part of `memory.upkeep`. E3, E7."""

from __future__ import annotations

from itertools import chain, islice

from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.upkeep.merging import Merging, merged_in, taken_apart
from agent_memory.ledger.request import own
from agent_memory.models.merged import Consolidation
from agent_memory.models.model import Model

SHOWN = 100  # groups of one answer


class TakenApart(Model):
    """The merged record is gone, and its `originals` hold again."""

    id: str
    originals: list[str]


class Consolidating(Namespace):
    """Memories that state the same."""

    @operation(
        "upkeep.consolidate",
        "POST /consolidate",
        permission=Permission.WRITE,
        mcp=[ToolSlot("upkeep", "consolidate")],
        shows=True,
    )
    def consolidate(self, dry_run: bool = False) -> Consolidation:
        """Merge memories of this user's own that state the same fact into one; the originals are archived, and `undo`
        brings them back. Nothing is merged in a scope with fewer than 100 memories.

        Two are the same when their vectors are more than 0.85 similar and their texts agree on every name, number,
        date, negation and direction. With `dry_run` it only shows what would be done."""
        client, made = self._client, Consolidation(dry_run=dry_run)
        client.runtime.receipts.flush()
        merging = Merging(client.runtime.store, client.runtime.writing, client.now(), dry_run=dry_run)
        for scope in own(client.scope):
            groups = chain.from_iterable(merged_in(merging, scope))
            for one in islice(groups, SHOWN - len(made.groups)):
                made.groups.append(one)
                made.merged, made.into = made.merged + len(one.sources), made.into + 1
            for one in groups:
                made.merged, made.into = made.merged + len(one.sources), made.into + 1
        return made

    @operation(
        "upkeep.undo",
        "POST /records/{id}/undo",
        permission=Permission.WRITE,
        mcp=[ToolSlot("upkeep", "undo")],
        erases=True,
    )
    def undo(self, id: str) -> TakenApart:
        """Take a merged record apart: its originals hold again as they were, it is gone, and they are not merged again.

        What somebody edited since it was merged, or what was merged again, is refused."""
        client = self._client
        view, author = client.view(), client.author()
        originals = taken_apart(client.runtime.store, client.runtime.writing, view, author, id)
        return TakenApart(id=id, originals=originals)
