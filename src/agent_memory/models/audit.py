"""Who read and changed what: lines of the access log and of the journal, side by side. P9."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from agent_memory.models.model import Model, Moment


class AuditLine(Model):
    """A read or a change, never with the text. `user` and `agent` are who did it (`upkeep`: a background job); `key`
    is the id of the API key and `door` the way in (python, cli, rest, grpc, mcp, job), of reads. `ids` are the
    records, at most the first hundred of `shown`. `why` is the reason that the caller gave. `tokens` and `money` are
    what a model cost, where one was asked; `receipt_id` leads to the receipt of a recall."""

    model_config = ConfigDict(frozen=True)

    at: Moment
    did: Literal["read", "changed"]
    operation: str
    user: str
    agent: str
    key: str | None = None
    door: str | None = None
    ids: list[str] = Field(default_factory=list)
    shown: int = 0
    why: str | None = None
    milliseconds: float | None = None
    tokens: int | None = None
    money: float | None = None
    receipt_id: str | None = None
