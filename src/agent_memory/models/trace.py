"""What a recall considered and did not show. Ids and numbers only, and a bounded number of them: texts are
elsewhere, and forgetting finds every id that is named here."""

from __future__ import annotations

from pydantic import ConfigDict

from agent_memory.models.model import Model


class Candidate(Model):
    """A record as one channel saw it: `value` is what the channel added to its score, `place` where it came in the
    end, among all candidates."""

    model_config = ConfigDict(frozen=True)

    id: str
    version: int
    value: float
    place: int


class TraceLeftOut(Model):
    """A candidate that was not shown. `reason` is the limit that it ran into: `min_relevance`, `per_conversation`,
    `k`, or `repeat`: a hit says the same."""

    model_config = ConfigDict(frozen=True)

    id: str
    version: int
    place: int
    score: float
    relevance: float
    reason: str


class Trace(Model):
    """`channels`: the candidates that each one put first. `left_out`: the best of those that were not shown, and
    `reasons`: how many there were of each sort. `hidden`: how many versions in the reader's scopes were no candidates,
    by the clock (`recorded`, `valid`) or the part of the filter that hid them."""

    model_config = ConfigDict(frozen=True)

    channels: dict[str, list[Candidate]]
    left_out: list[TraceLeftOut]
    reasons: dict[str, int]
    hidden: dict[str, int]
