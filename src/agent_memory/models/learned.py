"""What came of learning from feedback. E6."""

from __future__ import annotations

from agent_memory.models.model import Model


class Learned(Model):
    """Whether a new adapter was accepted, and why or why not. `examples` are the recalls whose feedback could be
    replayed, `held_back` those of them that it was judged by and not trained on; `before` and `after` say how well
    these were answered (nDCG, 0 to 1), `rehearsed_before` and `rehearsed_after` how well memories without feedback are
    found. `adapter` and `version` name the one that there is now, and `used` whether recalls use it."""

    accepted: bool
    why: str
    examples: int = 0
    held_back: int = 0
    before: float | None = None
    after: float | None = None
    rehearsed: int = 0
    rehearsed_before: float | None = None
    rehearsed_after: float | None = None
    adapter: str | None = None
    version: int | None = None
    used: bool = False
