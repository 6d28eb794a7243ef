"""What feedback taught recall: a small matrix that a question's vector goes through, and how it proved itself. E6."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agent_memory.models.kinds.kind import Kind, joined_key
from agent_memory.models.model import Model, Name, Unit

ADAPTER = "adapter"
Row = list[Annotated[int, Field(ge=-127, le=127)]]
Scale = Annotated[float, Field(gt=0, le=1e3, allow_inf_nan=False)]


class AdapterPayload(Model):
    """I + up·down: `down` and `up` are `rank` rows of small numbers, times their scales. It is of this `user` and
    `agent`, and for vectors of this `space`. `upto` is the journal line of the last feedback that was read; the figures
    are means over the feedback that was held back and over the memories that were rehearsed."""

    space: Name
    user: Name
    agent: Name
    rank: int = Field(ge=1, le=64)
    down: list[Row]
    up: list[Row]
    down_scale: Scale
    up_scale: Scale
    upto: int = Field(ge=0)
    examples: int = Field(ge=0)
    held_back: int = Field(ge=0)
    before: Unit
    after: Unit
    rehearsed: int = Field(ge=0)
    rehearsed_before: Unit
    rehearsed_after: Unit


KINDS = (
    Kind(
        ADAPTER,
        "adapters",
        AdapterPayload,
        key=lambda text, payload: joined_key(payload["space"]),
        indexed=("space",),
        searchable=False,
        retells=True,
    ),
)
