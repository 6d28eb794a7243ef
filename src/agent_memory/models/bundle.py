"""What `remember` gives: hits of several kinds, ready for a prompt. C10."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from agent_memory.models.model import Model, Moment
from agent_memory.models.visible import visible

TURNS, FACTS, ENTITIES, SHOWN = 5, 10, 10, 200


class RetrievalWeights(Model):
    """How much each group of a bundle counts; 0 leaves a group out. `recency` is added to all of them."""

    model_config = ConfigDict(allow_inf_nan=False)

    episodic: float = 0.3
    semantic_facts: float = 0.25
    semantic_entities: float = 0.2
    procedural: float = 0.15
    recency: float = 0.1


class MemoryBundle(Model):
    """Plain dicts, grouped; `to_context_string()` renders the groups that hold something. `damaged` rows could not be
    read, and are left out. `valid_at` and `as_of` are the moments that were asked for."""

    relevant_turns: list[dict[str, Any]] = Field(default_factory=list)
    entities: list[dict[str, Any]] = Field(default_factory=list)
    facts: list[dict[str, Any]] = Field(default_factory=list)
    strategies: list[dict[str, Any]] = Field(default_factory=list)
    active_goals: list[dict[str, Any]] = Field(default_factory=list)
    user_context: dict[str, Any] = Field(default_factory=dict)
    damaged: int = 0
    valid_at: Moment | None = None
    as_of: Moment | None = None

    def to_context_string(self) -> str:
        sections = {
            "Relevant Past Conversations": [
                f"[{turn['timestamp']}] {turn['role']}: {_line(turn['content'][:SHOWN])}..."
                for turn in self.relevant_turns[:TURNS]
            ],
            "Known Facts": [
                f"- {_line(fact['claim'])} (confidence: {fact['confidence']:.0%}){_held(fact)}"
                for fact in self.facts[:FACTS]
            ],
            "Relevant Entities": [
                f"- {_line(entity['name'])} ({_line(entity['type'])}): {_line(entity.get('description') or 'N/A')}"
                for entity in self.entities[:ENTITIES]
            ],
            "Active Goals": [
                f"- [{goal['priority']}] {_line(goal['description'])} ({goal['status']})" for goal in self.active_goals
            ],
        }
        return "\n\n".join("\n".join([f"## {heading}", *lines]) for heading, lines in sections.items() if lines)


def _held(fact: dict[str, Any]) -> str:
    until = fact.get("held_until")
    return f", held until {until}" if until else ""


def _line(text: str) -> str:
    """On one line: whatever it says, it cannot look like another item or heading."""
    return visible(" ".join(text.split()))
