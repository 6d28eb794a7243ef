"""Receipts of many recalls, in short: who asked what, how long it took, and what it cost."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from agent_memory.models.model import Model, Moment

By = Literal["day", "user", "agent"]


class Told(Model):
    """One recall. `query` is None once what it asked was forgotten; `money` is None where no price is known.
    `trace_id` leads to its spans, where it was traced; `run_id` is the run that it
    was a part of."""

    model_config = ConfigDict(frozen=True)

    receipt_id: str
    at: Moment
    user: str
    agent: str
    recipe: str
    hits: int
    milliseconds: float
    tokens: int | None
    money: float | None
    context_tokens: int | None
    query: str | None
    trace_id: str | None = None
    run_id: str | None = None


class Cost(Model):
    """Recalls of one day, user or agent together. `unpriced` of them have no known price, and are not in `money`."""

    model_config = ConfigDict(frozen=True)

    of: str
    recalls: int
    contexts: int
    tokens: int
    money: float
    unpriced: int
    p50_ms: float
    p95_ms: float
