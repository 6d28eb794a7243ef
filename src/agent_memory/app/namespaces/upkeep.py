"""`memory.upkeep`: numbers for everybody, and what an operator asks of the whole store."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from agent_memory.app import worker
from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.write.normalise import deriver
from agent_memory.models.model import Model
from agent_memory.models.moment import from_micros

SCALE_BYTES = 8
OF_THE_STORE = ("store", "bytes_on_disk", "resident_bytes")


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
        """How much there is, for this user. Where the store is, its size and that of the process are told to operators,
        and null for others.

        `scrub_owed_since`: something that was forgotten then may still be on the disk; later writes overwrite it.
        """
        runtime = self._client.runtime
        runtime.receipts.flush()
        found = runtime.store.records.stats(self._client.view())
        for told, name in ((found["accesses"], "last"), (found, "scrub_owed_since")):
            told[name] = None if told.get(name) is None else from_micros(told[name]).isoformat()
        found = {
            "store": runtime.store.url,
            **found,
            "resident_bytes": resident_bytes(),
            "compression": _compression(found["vectors"], runtime.embedding.space.dimension),
        }
        return found if self._client.caller.operates else {**found, **dict.fromkeys(OF_THE_STORE)}

    @operation(
        "upkeep.verify", "POST /verify", permission=Permission.OPERATOR, command="verify", toolset="upkeep/verify"
    )
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

    @operation("upkeep.catch_up", "POST /catch-up", permission=Permission.WRITE)
    def catch_up(self) -> dict[str, int]:
        """Make the vectors that are still missing; says how many there were and how many are left.

        For an operator these are all of the store, for others those that they can see.
        """
        client = self._client
        client.runtime.embedding.agree()
        view = None if client.caller.operates else client.view()
        return worker.catch_up(client.runtime, client.now(), None, view)

    @operation("upkeep.run_jobs", "POST /jobs", permission=Permission.OPERATOR)
    def run_jobs(self) -> dict[str, dict[str, int]]:
        """Run every background job once, now, and say what each did. `serve` runs them by itself."""
        return worker.run_all(self._client.runtime, self._client.now())

    @operation(
        "upkeep.rebuild", "POST /rebuild", permission=Permission.OPERATOR, command="rebuild", toolset="upkeep/rebuild"
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


def resident_bytes() -> int | None:
    """How much memory this process holds right now; its peak where the system tells no more; None where nothing."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _compression(vectors: int, dimension: int) -> dict[str, Any]:
    """Vectors are kept as int8 with one scale each, against float32; texts are kept as they are."""
    plain, stored = 4 * dimension, dimension + SCALE_BYTES
    return {
        "vectors": {"float32_bytes": vectors * plain, "stored_bytes": vectors * stored},
        "vector_ratio": round(plain / stored, 2),
        "text_ratio": 1.0,
    }
