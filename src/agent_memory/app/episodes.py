"""Episodes: store a context, retrieve by similarity, recency and importance. E8 in Python, and what REST answers.

Each function takes `call`, which runs an operation by name: of a client here, or of a caller from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agent_memory.app.bounds import hold, resident
from agent_memory.app.memory import AgentMemory
from agent_memory.core.upkeep.jobs import JOBS
from agent_memory.core.upkeep.runner import Runner
from agent_memory.models.errors import InvalidInput
from agent_memory.models.merged import Consolidation, consolidated_from
from agent_memory.models.moment import to_micros
from agent_memory.models.pruned import Pruned
from agent_memory.models.recipe import DECAY
from agent_memory.ports.feed import JobOutcome

Call = Callable[[str, dict[str, Any]], Any]


def store(
    call: Call,
    context: str,
    importance: float = 0.5,
    metadata: dict[str, Any] | None = None,
    idempotency_key: str | None = None,
) -> str:
    """Store a memory; gives its id."""
    payload = {} if metadata is None else {"metadata": metadata}
    said = {"text": context, "importance": importance, "payload": payload, "idempotency_key": idempotency_key}
    id: str = call("records.add", said).id
    return id


def retrieve(call: Call, query: str, k: int = 5, time_weight: float = 0.1) -> list[dict[str, Any]]:
    """The memories with the best score: 0.5 similarity, 0.3 e^(-time_weight age), 0.2 importance 0.95^age."""
    recipe = DECAY.model_copy(update={"time_weight": time_weight})
    found = call("recall", {"query": query, "k": k, "recipe": recipe})
    times = {one.id: one.times for one in call("receipts.accesses", {"ids": [hit.id for hit in found]})}
    compressed = {*call("upkeep.compressed", {"ids": [hit.id for hit in found]})}
    return [
        {
            "content": hit.text,
            "score": hit.score,
            "metadata": {
                **(hit.record.payload.get("metadata") or {}),
                "id": hit.id,
                "importance": hit.record.importance,
                "timestamp": to_micros(hit.record.valid_from) / 1e6,
                "access_count": times.get(hit.id) or 0,
                "compressed": hit.id in compressed or consolidated_from(hit.record) > 0,
                "consolidated_from": consolidated_from(hit.record),
            },
        }
        for hit in found
    ]


def consolidate(call: Call) -> dict[str, Any]:
    """Make the vectors that are missing, merge what states the same, and prune what nobody needs: how many memories,
    and into how many."""
    embedded = call("upkeep.catch_up", {})
    done: Consolidation = call("upkeep.consolidate", {})
    pruned: Pruned = call("upkeep.prune", {"dry_run": False})
    return {"merged": done.merged, "into": done.into, "pruned": len(pruned.found), "jobs": {"catch_up": embedded}}


def stats(call: Call) -> dict[str, Any]:
    """Counts, bytes on disk, resident memory, access statistics; `compression_ratio` is that of the vectors."""
    found: dict[str, Any] = call("upkeep.stats", {})
    return {**found, "compression_ratio": found["compression"]["vector_ratio"]}


class CPUMemoryEngine:
    """Episodic memory of one user, in a process that holds no more than `max_memory_mb`: vectors stay in a file, and
    what is searched is read in slices. A bound that this machine cannot keep is refused, and the error names the
    smallest; only 90, which is the aim everywhere, is taken for the smallest then, and `stats()["within_memory"]`
    tells. What the rest of the process takes later is not part of it. E1."""

    def __init__(self, max_memory_mb: float = 90, *, user_id: str = "default", store: str | Path | None = None) -> None:
        if not max_memory_mb > 0:
            raise InvalidInput(f"max_memory_mb: {max_memory_mb} is not above 0", field="max_memory_mb")
        self.max_memory_mb = max_memory_mb
        self.memory = AgentMemory(user_id, store=store)
        try:
            if resident() is not None and not self.memory._client.settings.is_remote:
                hold(self.memory._client.runtime, max_memory_mb, "max_memory_mb")
        except BaseException:
            self.memory.close()
            raise

    def store_memory(self, context: str, importance: float = 0.5, metadata: dict[str, Any] | None = None) -> str:
        """Store a memory; gives its id."""
        return store(self._call, context, importance, metadata)

    def retrieve_memories(self, query: str, k: int = 5, time_weight: float = 0.1) -> list[dict[str, Any]]:
        """content, score and metadata of the best, the best first."""
        return retrieve(self._call, query, k, time_weight)

    def consolidate(self) -> dict[str, Any]:
        """Merge what states the same, now."""
        return consolidate(self._call)

    def stats(self) -> dict[str, Any]:
        """Counts, bytes, accesses, and whether the process is within `max_memory_mb`."""
        found = stats(self._call)
        resident = found["resident_bytes"]
        return {**found, "within_memory": None if resident is None else resident <= self.max_memory_mb * 2**20}

    def close(self) -> None:
        self.memory.close()

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        return self.memory._client.ask(name, arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class MemoryConsolidationService:
    """The jobs of an engine's store, run for as long as a coroutine waits, the same as in the server (`core/upkeep`).
    What merges is one of them: it waits until nobody has written or recalled anything for five minutes."""

    def __init__(self, memory_engine: CPUMemoryEngine) -> None:
        self.memory_engine = memory_engine
        self.consolidation_interval = 3600.0  # seconds that a job waits at most for its next run
        self.last_consolidation: datetime | None = None

    async def run_consolidation_loop(self) -> None:
        """Until it is cancelled; a job that is under way then stops at its next step."""
        import asyncio

        client = self.memory_engine.memory._client
        jobs = [job._replace(seconds=min(job.seconds, self.consolidation_interval)) for job in JOBS]

        def observe(name: str, run: JobOutcome) -> None:
            if run.error is None:
                self.last_consolidation = client.clock.now()

        runner = Runner(client.runtime.keeping(client.clock), jobs, observe)
        runner.start()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(runner.stop)
