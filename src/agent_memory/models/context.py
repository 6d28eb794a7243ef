"""What `assemble_context` gives: a text within a budget of tokens, and an account of what is in it and what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from agent_memory.models.model import Model, Moment

Tier = Literal["operational", "working", "longterm", "knowledge"]
TIERS: tuple[Tier, ...] = ("operational", "working", "longterm", "knowledge")
Format = Literal["markdown", "xml", "json"]
Counting = str | SkipJsonSchema[Callable[[str], int]]
Reason = Literal["budget", "repeat", "conversation", "relevance"]


class Chunk(Model):
    """One piece of the text. `source` is its tier, or `untrusted`: from the web, another agent, or a page that nobody
    here has trusted. `id` is the record it came from (none: the desk); `cut` says that only the stretch nearest to the
    task is shown; `tokens` is what it costs with its date and id. `held_until`: it does not hold any more, since then.
    A rule's `id` is its own."""

    model_config = ConfigDict(frozen=True)

    source: str
    content: str
    relevance: float
    id: str | None = None
    kind: str | None = None
    version: int | None = None
    at: Moment | None = None
    by: str | None = None
    tokens: int = 0
    cut: bool = False
    held_until: Moment | None = None


class ContextLeftOut(Model):
    """What was considered and is not in the text. `budget`: no room; `repeat`: another chunk says it; `conversation`:
    enough turns of its conversation are there; `relevance`: too far from the task."""

    model_config = ConfigDict(frozen=True)

    source: str
    id: str | None
    reason: Reason
    relevance: float
    tokens: int = 0


class Context(Model):
    """`text` is ready for a prompt, and `total_tokens` is what the caller's counter says of it: never more than asked
    for. `rules` stand first, then `preferences`, then the `chunks`. `damaged` rows of the store could not be read.
    `valid_at` and `as_of` are the moments that were asked for."""

    model_config = ConfigDict(frozen=True)

    text: str
    total_tokens: int
    max_tokens: int
    chunks: list[Chunk]
    preferences: list[Chunk] = Field(default_factory=list)
    rules: list[Chunk] = Field(default_factory=list)
    left_out: list[ContextLeftOut] = Field(default_factory=list)
    receipt_id: str = ""
    counter: str = "estimate"
    milliseconds: float = 0.0
    untrusted: str | None = None
    """The repository whose pages are only quoted here, since nobody has trusted it."""
    damaged: int = 0
    valid_at: Moment | None = None
    as_of: Moment | None = None
