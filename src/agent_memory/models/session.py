"""What a session answers: a prompt within a limit of tokens, and turns that a search found."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from agent_memory.models.kinds.conversation import Role
from agent_memory.models.model import Model, Moment

ToolForm = Literal["openai", "anthropic"]


class Rendered(Model):
    """A conversation as it is sent to a model: `messages` have a role and a content each. `total_tokens` is what the
    session's counter says of all of them, roles included: never more than `limit_tokens`.

    `turns` are the indexes of those that are shown as they were said, `clipped` that the newest alone was too long and
    its end is left out; `paged_out` is how many earlier ones the summary stands for, and `summary_by` what made it:
    `extract`, or a model's name. `blocks` are the labels that are shown, each whole; `left_out` those that have no
    room."""

    model_config = ConfigDict(frozen=True)

    conversation_id: str
    messages: list[dict[str, str]]
    total_tokens: int
    limit_tokens: int
    counter: str = "estimate"
    turns: list[int] = Field(default_factory=list)
    clipped: bool = False
    paged_out: int = 0
    summary_by: str | None = None
    blocks: list[str] = Field(default_factory=list)
    left_out: list[str] = Field(default_factory=list)

    @property
    def text(self) -> str:
        """As one text, for models that take no messages."""
        return "\n\n".join(f"{one['role']}: {one['content']}" for one in self.messages)


class FoundTurn(Model):
    """A turn that a search found, word for word as it was said."""

    id: str
    conversation_id: str
    index: int
    role: Role
    content: str
    timestamp: Moment
    relevance: float


class FoundMemory(Model):
    """What archival memory holds about something."""

    id: str
    kind: str
    text: str
    at: Moment
    relevance: float
