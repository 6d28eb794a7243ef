"""The user model: the user, and what they have: preferences, expertise, interests. C7, P7."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import Holder, Kind, joined_key
from agent_memory.models.model import Model, Name

INSTRUCTIONS, ORDERS = "instructions", ("always", "never")
"""The domain and the values of preferences to do always, or never, what their name says."""


class PreferencePayload(Model):
    domain: Name
    name: Name
    value: Any
    repository: Name | None = None


class Preference(PreferencePayload):
    """What somebody wants, in a domain ("git"), under a name ("merge style"). With a `repository` it holds there alone,
    instead of the one without. `held`, which the call that sets it tells: it is not in force, because it waits for
    review, or was rejected."""

    held: bool = Field(default=False, json_schema_extra={"readOnly": True})

    @property
    def key(self) -> str:
        """The same as `name`."""
        return self.name

    def draft(self, confidence: float = 1.0) -> Draft:
        shown = self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False, default=str)
        said = [self.domain, self.name, *([] if shown == self.name else [shown])]
        return Draft(
            kind="preference",
            text=": ".join(said),
            payload=self.model_dump(exclude={"held"}),
            confidence=confidence,
            source="user_stated",
            repository=self.repository,
        )


def preference_key(domain: str, name: str, repository: str | None = None) -> str:
    """Its natural key in the store. Names of repositories are told apart by their case."""
    return joined_key(domain, name) + ("" if repository is None else f"\x1f{repository}")


class Expertise(Model):
    topic: Name
    level: Name


class Interest(Model):
    topic: Name


class UserPayload(Model):
    user_id: Name


KINDS = (
    Kind("user", "users", UserPayload, key=lambda text, payload: payload["user_id"], searchable=False),
    Kind(
        "preference",
        "preferences",
        PreferencePayload,
        key=lambda text, payload: preference_key(payload["domain"], payload["name"], payload.get("repository")),
        succeeds=True,
        indexed=("domain", "name"),
        tier="user",
        holder=Holder("user", "HAS_PREFERENCE"),
        asserts="directive",
    ),
    Kind(
        "expertise",
        "expertises",
        Expertise,
        key=lambda text, payload: joined_key(payload["topic"]),
        succeeds=True,
        indexed=("topic",),
        tier="user",
        holder=Holder("user", "HAS_EXPERTISE", ("level",)),
        asserts="directive",
    ),
    Kind(
        "interest",
        "interests",
        Interest,
        key=lambda text, payload: joined_key(payload["topic"]),
        indexed=("topic",),
        tier="user",
        holder=Holder("user", "INTERESTED_IN"),
        asserts="directive",
    ),
)
