"""Embeddings of a record beside the one that recall uses: each in a namespace, by one model. L5."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from agent_memory.models.model import Model, Moment
from agent_memory.models.record import Record

Source = Literal["store", "mirror"]


class MemoryIndex(Model):
    """One embedding of a record. `score` is the last that a query or a recall gave it, at `scored_at`; `vector` is
    there where it was asked for."""

    model_config = ConfigDict(frozen=True)

    id: str
    namespace: str
    model: str | None
    dimension: int
    metadata: dict[str, Any] = Field(default_factory=dict)
    score: float | None = None
    scored_at: Moment | None = None
    vector: list[float] | None = None


class VectorNamespace(Model):
    """A namespace: so many vectors, of one model (null: nobody said which) and one dimension."""

    model_config = ConfigDict(frozen=True)

    name: str
    model: str | None
    dimension: int
    vectors: int


class VectorMatch(Model):
    """`score` is the cosine similarity. `source`: who answered, the vector store or the mirror of it here; `trouble`
    tells why it was the mirror, where there is a vector store."""

    id: str
    score: float
    metadata: dict[str, Any]
    source: Source = "mirror"
    trouble: str | None = None


class VectorHit(Model):
    """A record, and how near its embedding is: `score` is the cosine similarity."""

    model_config = ConfigDict(frozen=True)

    record: Record
    score: float
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def text(self) -> str:
        return self.record.text


class VectorRecalled(Model):
    """Records by one of their embeddings, the nearest first. `source`: who answered, the vector store or the mirror of
    it here, which has all the same vectors; `trouble` tells why it was the mirror, where there is a vector store."""

    model_config = ConfigDict(frozen=True)

    query: str
    namespace: str
    hits: list[VectorHit]
    source: Source
    trouble: str | None = None
    model: str | None = None
    receipt_id: str | None = None
