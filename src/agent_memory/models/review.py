"""What waits for a person's decision, and the policy that decides what waits. P8."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import ConfigDict, Field

from agent_memory.models.model import Model, Moment, Name, Text, Unit
from agent_memory.models.trust import Trust

Door = Literal["rest", "grpc", "mcp"]
"""By which others than the user come. Who opens the store itself may change the policy, too."""
DOORS: frozenset[str] = frozenset(get_args(Door))


class ReviewRule(Model):
    """A line of a policy: writes to which all that it names applies are held, or with `hold=False` let in. `source` is
    the source of a record, or how it begins: `web` is also `web:example.org`. `below`: a confidence less than this.
    `door` is the way in: what comes through it is held also where it says that the user stated it."""

    model_config = ConfigDict(frozen=True)

    hold: bool = True
    kind: Name | None = None
    source: Name | None = None
    trust: Trust | None = None
    below: Unit | None = None
    door: Door | None = None

    def fits(self, kind: str, source: str, trust: Trust, confidence: float, door: str) -> bool:
        """What the user stated fits only where the rule names the door that it came by."""
        return (
            (self.door == door if self.door is not None else trust is not Trust.USER)
            and self.kind in (None, kind)
            and (self.source is None or source == self.source or source.startswith(f"{self.source}:"))
            and self.trust in (None, trust)
            and (self.below is None or confidence < self.below)
        )


class ReviewPolicy(Model):
    """The first rule that fits decides; what none fits is decided as ever. What the user stated is held by none but
    a rule with a `door`."""

    rules: list[ReviewRule] = Field(default_factory=list, max_length=100)


class ReviewEvidence(Model):
    """A record that a held memory was made from."""

    model_config = ConfigDict(frozen=True)

    id: str
    kind: str
    text: Text
    source: str
    trust: Trust


class HeldMemory(Model):
    """What was to be written, `why` it waits, and the text that stays in force meanwhile (`in_force`), where it would
    replace one. `evidence` is what it was made from; lists leave that out."""

    model_config = ConfigDict(frozen=True)

    id: str
    kind: str
    text: Text
    why: str
    source: str
    confidence: Unit
    at: Moment
    in_force: Text | None = None
    payload: dict[str, Any] = Field(default_factory=dict)
    evidence: list[ReviewEvidence] = Field(default_factory=list)
