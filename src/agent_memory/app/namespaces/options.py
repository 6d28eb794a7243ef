"""What reads and writes may say beside their first arguments. `AgentMemory` names these, and loads no namespace."""

from __future__ import annotations

from typing import Any, TypedDict

from agent_memory.models.limits import PerConversation
from agent_memory.models.model import Moment, Name, Unit
from agent_memory.models.record import Status


class Moments(TypedDict, total=False):
    """As of which recorded time, and at which valid time, a read looks; without them, at what holds now."""

    as_of: Moment
    valid_at: Moment


class Where(Moments, total=False):
    """Which records a read considers. What is left out does not filter."""

    kinds: list[Name]
    status: Status
    conversation_id: Name
    repository: Name
    after: Moment
    before: Moment
    time_window_hours: float
    min_confidence: float
    fields: dict[str, Any]


class Nearby(TypedDict, total=False):
    """Where the caller works: what belongs to `near_repository` counts a little more; nothing is left out for it."""

    near_repository: Name


class Within(Nearby, total=False):
    """Where a recall is asked, and of which run it is a part; its receipt tells of that."""

    run_id: Name


class RecallOptions(Where, Within, total=False):
    """Which records a recall considers, and where it is asked."""


class BundleOptions(Moments, Within, total=False):
    """As of when, and from where, a bundle is asked for."""


class Bounds(Moments, Within, total=False):
    """What a context may hold beside its tokens, as of when, and where it is asked for. `repository` and
    `conversation_id` choose among what is recalled; `kinds` also among preferences, goals and what pages say beside
    their rules. `without` are ids of records that the prompt has already."""

    kinds: list[Name]
    repository: Name
    conversation_id: Name
    per_conversation: PerConversation
    min_relevance: Unit
    ids: bool
    without: list[Name]


class ClaimOptions(TypedDict, total=False):
    """Since when a claim is true, if not since now, and the repository it belongs to."""

    valid_from: Moment
    repository: Name
