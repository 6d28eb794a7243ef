"""What holds for a user whatever is asked: active goals, preferences, expertise, interests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agent_memory.models.kinds.person import Preference, preference_key
from agent_memory.models.kinds.work import Goal, ParentGoal
from agent_memory.models.record import SHARED, Record
from agent_memory.ports.records import Filter, RecordStore, View

MOST = 10_000
USER = "user"  # the domain of what is known about the person: name, communication style


def goals(records: RecordStore, view: View, **fields: str) -> list[Goal]:
    """Those with these fields, the highest priority first, then the oldest."""
    found = records.find(view, Filter(kinds=("goal",), fields=tuple(fields.items())), limit=MOST)
    ordered = sorted((Goal.of(record) for record in found), key=lambda goal: (-goal.priority, goal.created_at))
    return with_parents(records, view, ordered)


def with_parents(records: RecordStore, view: View, found: list[Goal]) -> list[Goal]:
    """Sub-goals with what they serve, as far as the reader sees it."""
    ids = sorted({goal.parent_goal_id for goal in found if goal.parent_goal_id is not None})
    above = [Goal.of(one) for one in records.get(view, ids) if one.kind == "goal"] if ids else []
    parents = {one.id: ParentGoal(**one.model_dump(include=set(ParentGoal.model_fields))) for one in above}
    return [goal.model_copy(update={"parent": parents.get(goal.parent_goal_id or "")}) for goal in found]


def preferences(records: RecordStore, view: View, repository: str | None = None) -> list[Preference]:
    """Those that hold everywhere, or where a repository has its own, that one."""
    found = records.find(view, Filter(kinds=("preference",)), limit=MOST)
    return _sorted([one.payload for one in in_force(found, repository)])


def in_force(found: Iterable[Record], repository: str | None) -> list[Record]:
    """Of preferences those that hold in a repository, or outside of any: the repository's own before others, then the
    nearest: an agent's, its user's, those that all share. What is not a preference holds everywhere."""
    there: dict[str, Record] = {}
    for record in sorted(found, key=_nearness):
        said = record.payload
        if record.kind != "preference":
            there[record.id] = record
        elif said.get("repository") in (None, repository):
            there.setdefault(preference_key(said["domain"], said["name"]), record)
    return list(there.values())


def _nearness(record: Record) -> tuple[bool, bool, bool]:
    general = record.payload.get("repository") is None
    return general, record.scope.agent == SHARED, record.scope.user == SHARED


def repository_of(pages: tuple[str, ...] | None) -> str | None:
    """Of origins whose pages are shown, the repository; the user's own come first."""
    return pages[1] if pages and len(pages) > 1 else None


def person(records: RecordStore, view: View, pages: tuple[str, ...] | None) -> dict[str, Any]:
    """Everything about the user at once. `pages` are those among whose records the newest memory may be."""
    about = Filter(kinds=("preference", "expertise", "interest"))
    said: dict[str, list[dict[str, Any]]] = {kind: [] for kind in about.kinds or ()}
    for record in in_force(records.find(view, about, limit=3 * MOST, oldest_first=True), repository_of(pages)):
        said[record.kind].append(record.payload)
    known = _sorted(said["preference"])
    own = {one.name: one.value for one in known if one.domain == USER}
    newest = records.find(view, Filter(pages=pages), limit=1)
    active = newest[0].valid_from.isoformat() if newest else None
    return {
        "user": {"id": view.scope.user, "name": own.get("name"), "last_active": active},
        "preferences": [_told(one) for one in known],
        "expertise": said["expertise"],
        "interests": [one["topic"] for one in said["interest"]],
        "communication_style": own.get("communication style"),
    }


def _told(preference: Preference) -> dict[str, Any]:
    plain = {**preference.model_dump(exclude={"held"}), "key": preference.key}
    return plain if preference.repository else {name: value for name, value in plain.items() if name != "repository"}


def _sorted(said: list[dict[str, Any]]) -> list[Preference]:
    found = [Preference(**one) for one in said]
    return sorted(found, key=lambda one: (one.domain.casefold(), one.name.casefold()))
