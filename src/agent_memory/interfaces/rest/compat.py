"""The four calls of E8, exactly as `CPUMemoryEngine` has them: store, retrieve, consolidate, stats."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from agent_memory.app.operations import TABLE
from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.rest.routes import ERRORS, Given, Identify, answered
from agent_memory.models.model import Text, Unit
from agent_memory.models.moment import to_micros
from agent_memory.models.recipe import DECAY


class Store(Given):
    """One memory: a text, how much it matters, and what else belongs to it."""

    context: Text = Field(min_length=1)
    importance: Unit = 0.5
    metadata: dict[str, Any] | None = None


def compat_router(service: Service, identify: Identify) -> APIRouter:
    made = APIRouter(prefix="/memory", tags=["memory"])

    def store(given: Store, caller: Caller) -> dict[str, Any]:
        payload = {} if given.metadata is None else {"metadata": given.metadata}
        arguments = {"text": given.context, "importance": given.importance, "payload": payload}
        return {"id": service.call(TABLE["records.add"], caller, arguments).id}

    def retrieve(query: str, k: int, time_weight: float, caller: Caller) -> list[dict[str, Any]]:
        recipe = DECAY.model_copy(update={"time_weight": time_weight})
        found = service.call(TABLE["recall"], caller, {"query": query, "k": k, "recipe": recipe})
        memory = service.memory(caller)
        try:
            accesses = service.runtime.store.receipts.accesses(memory._client.view(), [hit.id for hit in found])
        finally:
            memory.close(clear=False)
        return [
            {
                "content": hit.text,
                "score": hit.score,
                "metadata": {
                    "id": hit.id,
                    "importance": hit.record.importance,
                    "timestamp": to_micros(hit.record.valid_from) / 1e6,
                    "access_count": (accesses.get(hit.id) or (0, 0))[0],
                    "compressed": False,
                    "consolidated_from": [],
                },
            }
            for hit in found
        ]

    @made.post("/store", status_code=201, responses=ERRORS, response_model=None)
    async def _store(given: Store, request: Request) -> Response:
        """Store a memory."""
        return answered(await run_in_threadpool(store, given, identify(request)), 201)

    @made.get("/retrieve", responses=ERRORS, response_model=None)
    async def _retrieve(
        request: Request,
        q: Annotated[str, Query(min_length=1)],
        k: Annotated[int, Query(ge=1, le=1000)] = 5,
        time_weight: Annotated[float, Query(ge=0, le=1e6)] = 0.1,
    ) -> Response:
        """The memories with the best E4 score: 0.5 similarity, 0.3 recency, 0.2 importance."""
        return answered(await run_in_threadpool(retrieve, q, k, time_weight, identify(request)))

    @made.post("/consolidate", responses=ERRORS, response_model=None)
    async def _consolidate(request: Request) -> Response:
        """Run the jobs that there are, and say which. Merging and pruning come with upkeep."""
        caller = identify(request)
        pending = await run_in_threadpool(service.call, TABLE["upkeep.rebuild"], caller, {})
        return answered({"merged": 0, "pruned": 0, "jobs": {"rebuild": pending}})

    @made.get("/stats", responses=ERRORS, response_model=None)
    async def _stats(request: Request) -> Response:
        """Counts, bytes on disk, resident memory, access statistics."""
        return answered(await run_in_threadpool(service.call, TABLE["upkeep.stats"], identify(request), {}))

    return made
