"""The envelope: one memory, with both clocks. Engines store envelopes and never look inside a payload."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Any

from pydantic import ConfigDict, Field

from agent_memory.models.model import Model, Moment, Name, Text, Unit

LONGEST_TEXT = 1_000_000
SHARED = "*"


class Status(StrEnum):
    ACTIVE = "active"
    HELD = "held"
    ARCHIVED = "archived"
    REJECTED = "rejected"


class Scope(Model):
    """The wall around records. `*` as user or agent means shared by all of them; a tenant is never shared."""

    model_config = ConfigDict(frozen=True)

    tenant: Name = "default"
    user: Name = SHARED
    agent: Name = SHARED

    def readable(self) -> tuple[Scope, ...]:
        """The at most four scopes whose rows this reader sees, the narrowest first."""
        return _readable(self)

    # A write compares scopes dozens of times. Pydantic's way, for models of any shape, takes several times as long.

    def __hash__(self) -> int:
        return hash((self.tenant, self.user, self.agent))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Scope)
            and self.user == other.user
            and self.agent == other.agent
            and self.tenant == other.tenant
        )


@lru_cache(maxsize=4096)
def _readable(scope: Scope) -> tuple[Scope, ...]:
    users = dict.fromkeys((scope.user, SHARED))
    agents = dict.fromkeys((scope.agent, SHARED))
    return tuple(Scope(tenant=scope.tenant, user=user, agent=agent) for user in users for agent in agents)


class Link(Model):
    """A typed, weighted edge from one record to another."""

    model_config = ConfigDict(frozen=True)

    source_id: Name
    target_id: Name
    type: Name
    weight: Unit = 1.0
    properties: dict[str, Any] = Field(default_factory=dict)

    @property
    def ends(self) -> tuple[str, str, str]:
        """Which link it is: its source, its target and its type."""
        return self.source_id, self.target_id, self.type


class Record(Model):
    """One version of one memory, as a reader sees it.

    `valid_from` and `valid_to` say when it holds in the world, `recorded_at` and `recorded_to` when this
    store believed it. `seq` is the journal line that brought this version; `version` counts from 1.
    """

    model_config = ConfigDict(frozen=True)

    id: Name
    kind: Name
    scope: Scope
    text: Text
    payload: dict[str, Any] = Field(default_factory=dict)
    key: str | None = None
    conversation_id: str | None = None
    repository: str | None = None
    status: Status = Status.ACTIVE
    importance: Unit = 0.5
    confidence: Unit = 1.0
    source: Name = "user"
    valid_from: Moment
    valid_to: Moment | None = None
    recorded_at: Moment
    recorded_to: Moment | None = None
    seq: int
    version: int = 1


class Linked(Record):
    """A version, with links of its record: what an export is made of."""

    links: list[Link] = Field(default_factory=list)


class JournalLine(Model):
    """Who changed what, why and when; never the content itself."""

    model_config = ConfigDict(frozen=True)

    seq: int
    at: Moment
    operation: str
    actor: str
    reason: str | None = None
    record_id: str | None = None
    digest: str
    chain: str
