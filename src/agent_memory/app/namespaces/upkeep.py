"""`memory.upkeep`: what an operator asks of a store."""

from __future__ import annotations

from typing import Any

from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.write.normalise import deriver
from agent_memory.models.model import Model


class Verification(Model):
    """`ok` when the journal's chain holds, everything in the store is what was written, and words and indexed fields
    are what follows from it. Keep `seq` and `head` elsewhere: a later store must still contain that line."""

    ok: bool
    seq: int
    head: str
    checked: dict[str, int]
    problems: list[str]


class Upkeep(Namespace):
    """Numbers, proofs and repairs."""

    @operation("upkeep.stats", "GET /stats", command="stats", toolset="upkeep/stats memory://stats")
    def stats(self) -> dict[str, Any]:
        """How much there is, for this user, and how large the store is."""
        runtime = self._client.runtime
        return {"store": runtime.store.url, **runtime.store.records.stats(self._client.view())}

    @operation("upkeep.verify", "POST /verify", permission=Permission.ADMIN, command="verify", toolset="upkeep/verify")
    def verify(self) -> Verification:
        """Prove the journal's hash chain and every record against it."""
        runtime = self._client.runtime
        again, kinds = deriver(runtime.kinds), runtime.kinds
        found = runtime.store.records.verify(
            lambda kind, text, payload: again(kind, text, payload) if kind in kinds else None
        )
        return Verification(
            ok=not found.problems,
            seq=found.seq,
            head=found.head,
            checked=dict(found.checked),
            problems=list(found.problems),
        )

    @operation(
        "upkeep.rebuild", "POST /rebuild", permission=Permission.ADMIN, command="rebuild", toolset="upkeep/rebuild"
    )
    def rebuild(self, vectors: bool = False) -> dict[str, Any]:
        """Make everything derived again: words, fields, views and missing vectors.

        With `vectors`, another embedder's space is built beside the old one, which answers until it is complete.
        """
        runtime = self._client.runtime
        made = dict(runtime.store.records.rebuild(deriver(runtime.kinds)))
        space = runtime.embedding.space
        if vectors:
            runtime.store.index.begin(space)
        else:
            runtime.embedding.agree()
        before = runtime.store.index.pending(space)
        left = runtime.embedding.catch_up(None, seconds=None, now=self._client.now())
        if vectors:
            runtime.store.index.switch(space)
            runtime.embedding.disagree()
        return {**made, "vectors": before - left, "pending_vectors": left, "space": space.fingerprint}
