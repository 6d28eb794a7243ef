"""A recipe: which channels a recall uses and how much each counts. A value with a name and a hash."""

from __future__ import annotations

import hashlib

from pydantic import ConfigDict, Field

from agent_memory.models.model import Model, Name


class Recipe(Model):
    """Channels are normalised to 0..1 within one recall, weighted and added.

    `pool` bounds the candidates that similarity and recency bring, whatever `k` is, so that the first five of
    ten are the five. `half_life_days` is how fast recency fades.
    """

    model_config = ConfigDict(frozen=True)

    name: Name = "default"
    vectors: float = Field(default=0.5, ge=0, le=10)
    words: float = Field(default=0.5, ge=0, le=10)
    recency: float = Field(default=0.02, ge=0, le=10)
    key: float = Field(default=1.0, ge=0, le=10)
    half_life_days: float = Field(default=30.0, gt=0)
    pool: int = Field(default=200, ge=1, le=100_000)

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


DEFAULT = Recipe()
