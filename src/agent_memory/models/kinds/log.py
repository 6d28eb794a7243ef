"""What an agent saw, thought and got: the plain records of a run. L4, P7."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from agent_memory.models.kinds.kind import Kind
from agent_memory.models.model import Model, Name


class LogPayload(Model):
    """Optionally tied to a cycle and a run; what else it holds is the writer's."""

    model_config = ConfigDict(extra="allow")

    cycle_id: Name | None = None
    run_id: Name | None = None
    metadata: dict[str, Any] | None = None


KINDS = tuple(
    Kind(name, plural, LogPayload, indexed=("cycle_id", "run_id"))
    for name, plural in (
        ("observation", "observations"),
        ("plan", "plans"),
        ("result", "results"),
        ("summary", "summaries"),
    )
)
