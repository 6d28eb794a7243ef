"""What came of reading a conversation: what is new, what was said again, and what waits for review. C18."""

from __future__ import annotations

from pydantic import Field

from agent_memory.models.kinds.knowledge import Fact
from agent_memory.models.model import Model, Name


class MadeEntity(Model):
    """Somebody or something that a turn names; `new` where nothing went by that name."""

    id: Name
    name: Name
    type: Name
    new: bool = False


class Extraction(Model):
    """`turns` were read, by `made_by`: the rules, and whoever found a fact beside them. `facts` are new or changed,
    each with what it superseded, and `held` where it waits for review; `repeated` are those that were only said again,
    and have one more source now. `proposals` wait for review, too: preferences, and entities that may be the same."""

    turns: int = 0
    facts: list[Fact] = Field(default_factory=list)
    repeated: list[Name] = Field(default_factory=list)
    entities: list[MadeEntity] = Field(default_factory=list)
    proposals: list[Name] = Field(default_factory=list)
    made_by: str = "rules"
