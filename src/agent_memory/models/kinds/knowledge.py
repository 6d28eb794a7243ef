"""What is known about the world: entities and facts. C3."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from pydantic import Field

from agent_memory.models.decay import Decay
from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import Kind, fold, joined_key
from agent_memory.models.model import Model, Moment, Name, Stored, Text, Unit, now_utc
from agent_memory.models.record import Record, Status

FactSource = Literal["extraction", "user_stated", "inferred"]


class EntityPayload(Model):
    name: Name
    type: Name
    aliases: list[Name] = Field(default_factory=list)
    description: Text | None = None
    properties: dict[str, Any] = Field(default_factory=dict)


class Entity(EntityPayload, Stored):
    """Somebody or something. The same name and type is the same entity. How often it was recalled until a moment long
    ago may not be known any more: then `access_count` is None. Read, `salience` is what the days without an access
    have left of `stored_salience`; written back as it was read, the stored one stays."""

    salience: Unit = 0.5
    stored_salience: Unit | None = Field(default=None, json_schema_extra={"readOnly": True})
    first_seen: Moment = Field(default_factory=now_utc)
    last_accessed: Moment | None = Field(default_factory=now_utc)
    access_count: int | None = Field(default=0, ge=0)

    def draft(self) -> Draft:
        names = ", ".join([self.name, *self.aliases])
        return Draft(
            kind="entity",
            id=self.id,
            text=f"{names}: {self.description}" if self.description else names,
            payload=self.part(EntityPayload),
            importance=self.salience,
            valid_from=self.first_seen,
            embedding=self.vector(),
        )

    @classmethod
    def of(
        cls, record: Record, accessed: tuple[int | None, Moment | None] | None = None, decay: Decay | None = None
    ) -> Entity:
        """Without `decay`, as it is stored."""
        count, last = accessed or (0, record.recorded_at)
        return cls(
            id=record.id,
            salience=record.importance if decay is None else decay.salience(record, last),
            stored_salience=record.importance,
            first_seen=record.valid_from,
            last_accessed=last,
            access_count=count,
            **record.payload,
        )


class FactPayload(Model):
    """`object`, where it is told apart, is what the claim says of its subject; `negated`: that this is not so.
    `many`: other objects may hold beside it ("uses Redis", "uses Kafka")."""

    source_turn_id: Name | None = None
    entity_ids: list[Name] = Field(default_factory=list)
    subject: Name | None = None
    predicate: Name | None = None
    object: Name | None = None
    negated: bool | None = None
    many: bool | None = None


class Fact(FactPayload, Stored):
    """A claim. With a `subject` and a `predicate` that holds one value at a time ("lives in"), a new claim
    supersedes the old one, which stays true for its own time; without them claims stand side by side. `superseded` is
    told by the call that stores it: the claim in whose place it stands now; `alike`, too: the ids of facts about the
    same entities that say nearly the same, or contradict it. `held`: it waits for review. Read,
    `confidence` is what time has left of `stored_confidence`, as with the salience of an `Entity`."""

    claim: Text = Field(min_length=1)
    source: FactSource
    confidence: Unit = 0.8
    stored_confidence: Unit | None = Field(default=None, json_schema_extra={"readOnly": True})
    created_at: Moment = Field(default_factory=now_utc)
    repository: Name | None = None
    superseded: Text | None = Field(default=None, json_schema_extra={"readOnly": True})
    alike: list[Name] = Field(default_factory=list, json_schema_extra={"readOnly": True})
    held: bool = Field(default=False, json_schema_extra={"readOnly": True})

    def draft(self) -> Draft:
        return Draft(
            kind="fact",
            id=self.id,
            text=self.claim,
            payload=self.part(FactPayload),
            confidence=self.confidence,
            source=self.source,
            repository=self.repository,
            valid_from=self.created_at,
            dated="created_at" in self.model_fields_set,
            embedding=self.vector(),
        )

    @classmethod
    def of(cls, record: Record, decay: Decay | None = None) -> Fact:
        """Without `decay`, as it is stored."""
        return cls(
            id=record.id,
            claim=record.text,
            source=record.source,
            confidence=record.confidence if decay is None else decay.confidence(record),
            stored_confidence=record.confidence,
            created_at=record.valid_from,
            repository=record.repository,
            held=record.status is Status.HELD,
            **record.payload,
        )


def fact_key(claim: str, payload: dict[str, Any]) -> str:
    """Its subject and predicate, where it says them, and what of many it says; otherwise the claim itself."""
    subject, predicate = payload.get("subject"), payload.get("predicate")
    if subject and predicate and payload.get("many"):
        return joined_key("about", subject, predicate, payload.get("object") or claim)
    if subject and predicate:
        return joined_key("about", subject, predicate)
    return "claim\x1f" + hashlib.blake2b(fold(claim).encode(), digest_size=16).hexdigest()


KINDS = (
    Kind(
        "entity",
        "entities",
        EntityPayload,
        key=lambda text, payload: joined_key(payload["name"], payload["type"]),
        succeeds=False,
        indexed=("name", "type"),
        tier="knowledge",
        called=lambda payload: (payload["name"], *payload.get("aliases", ())),
    ),
    Kind(
        "fact",
        "facts",
        FactPayload,
        key=fact_key,
        succeeds=True,
        indexed=("subject", "predicate"),
        tier="knowledge",
        sources=("user_stated", "extraction", "inferred"),
        asserts="fact",
    ),
)
