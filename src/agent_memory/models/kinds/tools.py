"""The registry of tools: what each is for, and what it takes. C4."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import Kind, joined_key
from agent_memory.models.model import Model, Name, Text
from agent_memory.models.record import Record


class ToolPayload(Model):
    name: Name
    description: Text = Field(min_length=1)
    parameters: dict[str, Any] = Field(default_factory=dict)


class Tool(ToolPayload):
    """A tool that an agent may use. `parameters` is a JSON Schema of what it takes."""

    def draft(self) -> Draft:
        return Draft(kind="tool", text=f"{self.name}: {self.description}", payload=self.model_dump(mode="json"))

    @classmethod
    def of(cls, record: Record) -> Tool:
        return cls(**record.payload)


def tool_key(name: str) -> str:
    return joined_key(name)


KINDS = (
    Kind(
        "tool",
        "tools",
        ToolPayload,
        key=lambda text, payload: tool_key(payload["name"]),
        indexed=("name",),
        tier="knowledge",
    ),
)
