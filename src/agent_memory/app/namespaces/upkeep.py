"""`memory.upkeep`: numbers for everybody, and what an operator asks of the whole store."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from agent_memory.app import worker
from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.write.sample import sample
from agent_memory.core.write.wording import analysis, checker
from agent_memory.models.errors import InvalidInput
from agent_memory.models.model import Model
from agent_memory.models.moment import from_micros
from agent_memory.ports.changes import Mark

SCALE_BYTES = 8
OF_THE_STORE = ("store", "bytes_on_disk", "resident_bytes")


class Verification(Model):
    """`ok` when the journal's chain holds, everything in the store is what was written, and words, indexed fields and a
    sample of the vectors are what follows from it. Keep `seq` and `head` elsewhere, as `SEQ:HEAD`: `verify(expect=…)`
    then proves that a later store still contains that line."""

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

        `scrub_owed_since`: something that was forgotten then may still be on the disk; later writes and jobs
        overwrite it.
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
    def verify(self, expect: str | None = None) -> Verification:
        """Prove the journal's hash chain, every record and every key against it, and look for damage in all the rest.

        `expect` is `SEQ:HEAD` of an earlier run, noted elsewhere: a journal whose end was cut off, or that was written
        anew, no longer holds that line.
        """
        runtime = self._client.runtime
        found = runtime.store.records.verify(checker(runtime.kinds), None if expect is None else _mark(expect))
        made, strange = sample(runtime.embedding.embedder, runtime.store.index)
        problems = [*found.problems, *strange]
        return Verification(
            ok=not problems,
            seq=found.seq,
            head=found.head,
            checked={**found.checked, **({"vectors made anew": made} if made else {})},
            problems=problems,
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

        With `vectors`, all of them are made anew; another embedder's space is built beside the old one, which answers
        until it is complete. Vectors that callers brought stay, unless the space is another.
        """
        runtime = self._client.runtime
        made = dict(runtime.store.records.rebuild(analysis(runtime.kinds, runtime.store.vocabularies())))
        space = runtime.embedding.space
        if vectors:
            runtime.store.index.begin(space, anew=True)
        else:
            runtime.embedding.agree()
        before = runtime.store.index.pending(space)
        left = runtime.embedding.catch_up(None, seconds=None, now=self._client.now())
        if vectors:
            runtime.store.index.switch(space, anew=True)
            runtime.embedding.disagree()
        return {**made, "vectors": before - left, "pending_vectors": left, "space": space.fingerprint}


def _mark(text: str) -> Mark:
    seq, _, head = text.partition(":")
    if not re.fullmatch("[0-9]{1,18}", seq) or not re.fullmatch("[0-9a-fA-F]{64}", head):
        raise InvalidInput(
            f"expect: {text!r} is not SEQ:HEAD",
            hint="the number and the 64 hexadecimal digits that an earlier `agent-memory verify` printed",
            field="expect",
        )
    return Mark(int(seq), head.lower())


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
