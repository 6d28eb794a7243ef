"""What chat models were asked, and what that used."""

from __future__ import annotations

from pydantic import ConfigDict

from agent_memory.models.model import Model, Moment


class ModelUsage(Model):
    """Of one model on one `day`. `reserved_tokens` are set aside for calls that have not ended, or whose answer
    was lost: they count as used. `refused` calls were not made, since the day's limit was reached."""

    model_config = ConfigDict(frozen=True)

    day: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    reserved_tokens: int
    refused: int


class ModelReply(Model):
    """What a model answered, and what that used; null: the service did not tell. `finish` is why it stopped: `length`
    where the answer was cut off."""

    model_config = ConfigDict(frozen=True)

    text: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    finish: str


class UsageReport(Model):
    """Today's limits of the whole store, what is left of them until `resets_at`, and what was used, the last day
    first. `model` is the one that is asked now; null: none is configured."""

    model_config = ConfigDict(frozen=True)

    model: str | None
    calls_a_day: int
    calls_left: int
    tokens_a_day: int
    tokens_left: int
    resets_at: Moment
    usage: list[ModelUsage]
