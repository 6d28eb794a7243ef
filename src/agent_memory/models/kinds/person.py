"""The user model: preferences, expertise, interests. C7, P7."""

from __future__ import annotations

from typing import Any

from agent_memory.models.kinds.kind import Kind, joined_key
from agent_memory.models.model import Model, Name


class Preference(Model):
    """What somebody wants, in a domain ("git"), under a name ("merge style")."""

    domain: Name
    name: Name
    value: Any

    @property
    def key(self) -> str:
        """The same as `name`."""
        return self.name


class Expertise(Model):
    topic: Name
    level: Name


class Interest(Model):
    topic: Name


KINDS = (
    Kind(
        "preference",
        "preferences",
        Preference,
        key=lambda text, payload: joined_key(payload["domain"], payload["name"]),
        succeeds=True,
        indexed=("domain", "name"),
        tier="user",
    ),
    Kind(
        "expertise",
        "expertises",
        Expertise,
        key=lambda text, payload: joined_key(payload["topic"]),
        succeeds=True,
        indexed=("topic",),
        tier="user",
    ),
    Kind(
        "interest",
        "interests",
        Interest,
        key=lambda text, payload: joined_key(payload["topic"]),
        indexed=("topic",),
        tier="user",
    ),
)
