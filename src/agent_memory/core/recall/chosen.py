"""A candidate on its way from the ranking to the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agent_memory.models.record import Record


@dataclass(frozen=True)
class Chosen:
    """A row of the pool, its record, the score that it has by now, and how well it fits. `moves` is what steps after
    the fusion added; `repeats` are those that it stands for."""

    row: int
    record: Record
    score: float
    relevance: float
    moves: Mapping[str, float] = field(default_factory=dict)
    repeats: tuple[Chosen, ...] = ()

    def moved(self, step: str, score: float) -> Chosen:
        """The same with another score, and the step that is the reason."""
        return replace(self, score=score, moves={**self.moves, step: score - self.score})
