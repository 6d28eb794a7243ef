"""The four calls of E8: store, retrieve, consolidate, stats; what they do is in `app/episodes.py`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from agent_memory.app import episodes
from agent_memory.app.service import Service
from agent_memory.interfaces.rest.headers import Said
from agent_memory.interfaces.rest.routes import ERRORS, Given, Identify, answered
from agent_memory.interfaces.threads import threaded
from agent_memory.models.model import Model, Text, Unit


class Store(Given):
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


def compat_router(service: Service, identify: Identify) -> APIRouter:
    made = APIRouter(prefix="/memory", tags=["memory"])

    @made.post("/store", status_code=201, responses={201: {"model": StoredMemory}, **ERRORS}, response_model=None)
    async def store_memory(given: Store, request: Request) -> Response:
        """Store a memory; gives its id."""
        key = Said(request.headers).idempotency_key
        said = (given.context, given.importance, given.metadata, key)
        id = await threaded(lambda: episodes.store(service.named(identify(request)), *said))
        return answered({"id": id}, 201)

    @made.get("/retrieve", responses={200: {"model": list[Retrieved]}, **ERRORS}, response_model=None)
    async def retrieve_memories(
        request: Request,
        q: Annotated[str, Query(min_length=1)],
        k: Annotated[int, Query(ge=1, le=1000)] = 5,
        time_weight: Annotated[float, Query(ge=0, le=1e6)] = 0.1,
    ) -> Response:
        """The memories with the best E4 score: 0.5 similarity, 0.3 recency, 0.2 importance."""
        found = await threaded(lambda: episodes.retrieve(service.named(identify(request)), q, k, time_weight))
        return answered(found)

    @made.post("/consolidate", responses=ERRORS, response_model=None)
    async def consolidate_memory(request: Request) -> Response:
        """Make the vectors that are still missing. Merging and pruning come with upkeep."""
        return answered(await threaded(lambda: episodes.consolidate(service.named(identify(request)))))

    @made.get("/stats", responses=ERRORS, response_model=None)
    async def memory_stats(request: Request) -> Response:
        """Counts, bytes on disk, resident memory, compression ratio, access statistics."""
        return answered(await threaded(lambda: episodes.stats(service.named(identify(request)))))

    return made
