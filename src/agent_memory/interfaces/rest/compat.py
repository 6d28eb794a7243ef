"""The four calls of E8: store, retrieve, consolidate, stats; what they do is in `app/episodes.py`."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from agent_memory.app import episodes
from agent_memory.app.service import Service
from agent_memory.interfaces.rest.description import IDEMPOTENCY_KEY, reference
from agent_memory.interfaces.rest.entrance import known
from agent_memory.interfaces.rest.headers import HeaderArguments
from agent_memory.interfaces.rest.routes import ERRORS, Bodied, RequestBody, answered, read_object
from agent_memory.interfaces.threads import threaded
from agent_memory.models.model import Model, Text, Unit, bounded


class StoreRequest(RequestBody):
    """One memory: a text, how much it matters, and what else belongs to it."""

    context: Text = Field(min_length=1)
    importance: Unit = 0.5
    metadata: dict[str, Any] | None = None


class StoredMemory(Model):
    id: str


class Retrieved(Model):
    """`score` is the E4 score; `metadata` has id, importance, timestamp, access_count, compressed, consolidated_from,
    and what was stored with it."""

    content: str
    score: float
    metadata: dict[str, Any]


def compat_router(service: Service) -> APIRouter:
    made = APIRouter(prefix="/memory", tags=["memory"])

    async def store_memory(request: Request) -> Response:
        """Store a memory; gives its id."""
        key, raw = HeaderArguments(request.headers).idempotency_key, await request.body()

        def work() -> str:
            given = StoreRequest(**bounded(read_object(raw), StoreRequest.model_fields))
            said = (given.context, given.importance, given.metadata, key)
            return episodes.store(service.named(known(request)), *said)

        return answered({"id": await threaded(work)}, 201)

    given = inspect.Parameter("given", inspect.Parameter.KEYWORD_ONLY, annotation=StoreRequest)
    store_memory.__signature__ = inspect.Signature([given])  # type: ignore[attr-defined]
    made.add_api_route(
        "/store",
        store_memory,
        methods=["POST"],
        status_code=201,
        responses={201: {"model": StoredMemory}, **ERRORS},
        response_model=None,
        route_class_override=Bodied,
        operation_id="memory_store",
        openapi_extra={"parameters": [reference("parameters", IDEMPOTENCY_KEY)]},
    )

    @made.get(
        "/retrieve",
        operation_id="memory_retrieve",
        responses={200: {"model": list[Retrieved]}, **ERRORS},
        response_model=None,
    )
    async def retrieve_memories(
        request: Request,
        q: Annotated[str, Query(min_length=1)],
        k: Annotated[int, Query(ge=1, le=1000)] = 5,
        time_weight: Annotated[float, Query(ge=0, le=1e6)] = 0.1,
    ) -> Response:
        """The memories with the best E4 score: 0.5 similarity, 0.3 recency, 0.2 importance."""
        found = await threaded(lambda: episodes.retrieve(service.named(known(request)), q, k, time_weight))
        return answered(found)

    @made.post("/consolidate", operation_id="memory_consolidate", responses=ERRORS, response_model=None)
    async def consolidate_memory(request: Request) -> Response:
        """Merge memories that state the same fact: how many were merged, into how many, and how many were pruned."""
        return answered(await threaded(lambda: episodes.consolidate(service.named(known(request)))))

    @made.get("/stats", operation_id="memory_stats", responses=ERRORS, response_model=None)
    async def memory_stats(request: Request) -> Response:
        """Counts, bytes on disk, resident memory, compression ratio, access statistics."""
        return answered(await threaded(lambda: episodes.stats(service.named(known(request)))))

    return made
