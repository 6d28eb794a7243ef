"""What holds for a user whatever is asked: active goals, preferences, expertise, interests."""

from __future__ import annotations

from typing import Any

from agent_memory.models.kinds.person import Preference
from agent_memory.models.kinds.work import Goal
from agent_memory.ports.records import Filter, RecordStore, View

MOST = 10_000


def goals(records: RecordStore, view: View, **fields: str) -> list[Goal]:
    """Those with these fields, the highest priority first, then the oldest."""
    found = records.find(view, Filter(kinds=("goal",), fields=tuple(fields.items())), limit=MOST)
    return sorted((Goal.of(record) for record in found), key=lambda goal: (-goal.priority, goal.created_at))


def preferences(records: RecordStore, view: View, domain: str | None = None) -> list[Preference]:
    where = Filter(kinds=("preference",), fields=() if domain is None else (("domain", domain),))
    return _sorted([record.payload for record in records.find(view, where, limit=MOST)])


def person(records: RecordStore, view: View, pages: tuple[str, ...] | None) -> dict[str, Any]:
    """Everything about the user at once. `pages` are those among whose records the newest memory may be."""
    about = Filter(kinds=("preference", "expertise", "interest"))
    said: dict[str, list[dict[str, Any]]] = {kind: [] for kind in about.kinds or ()}
    for record in records.find(view, about, limit=3 * MOST, oldest_first=True):
        said[record.kind].append(record.payload)
    known = _sorted(said["preference"])
    name = next((one.value for one in known if (one.domain, one.name) == ("user", "name")), None)
    newest = records.find(view, Filter(pages=pages), limit=1)
    active = newest[0].valid_from.isoformat() if newest else None
    return {
        "user": {"id": view.scope.user, "name": name, "last_active": active},
        "preferences": [{**one.model_dump(), "key": one.key} for one in known],
        "expertise": said["expertise"],
        "interests": [one["topic"] for one in said["interest"]],
    }


def _sorted(said: list[dict[str, Any]]) -> list[Preference]:
    found = [Preference(**one) for one in said]
    return sorted(found, key=lambda one: (one.domain.casefold(), one.name.casefold()))
