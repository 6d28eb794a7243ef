"""What reads have in common: which records, and as of when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from agent_memory.app.client import Client
from agent_memory.app.config import read_recipes
from agent_memory.app.following import shown_here
from agent_memory.app.namespaces.options import Moments as Moments
from agent_memory.app.namespaces.options import Nearby as Nearby
from agent_memory.app.namespaces.options import RecallOptions as RecallOptions
from agent_memory.app.namespaces.options import Where as Where
from agent_memory.core.recall.fading import Fading
from agent_memory.core.write.normalise import known_kind
from agent_memory.models.decay import Decay
from agent_memory.models.errors import Denied, InvalidInput
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.models.recipe import RECIPES, Recipe
from agent_memory.models.record import Record, Status
from agent_memory.ports.receipts import access
from agent_memory.ports.records import CONFINED, Filter, View


def asked(
    client: Client, where: Where, at: Moments | None = None, *, searchable: bool = False, everywhere: bool = False
) -> tuple[View, Filter]:
    """The view and filter behind the words of a caller; `at` says when, where the rest is not the caller's. Records
    that follow pages are seen in their repository alone; `everywhere` is for copies, which hold everything."""
    moments = where if at is None else at
    view = client.view(moments.get("as_of"), moments.get("valid_at"))
    kinds = where.get("kinds")
    installed = client.runtime.kinds
    if kinds is not None:
        for kind in kinds:
            known_kind(kind, installed)
    elif searchable:
        kinds = [kind.name for kind in installed.values() if kind.searchable]
    after = where.get("after")
    start = None if after is None else to_micros(after)
    if (hours := where.get("time_window_hours")) is not None:
        start = max(start or 0, view.now - _micros(hours))
    before = where.get("before")
    return view, Filter(
        kinds=None if kinds is None else tuple(kinds),
        statuses=(where.get("status") or Status.ACTIVE,),
        conversation_id=where.get("conversation_id"),
        repository=where.get("repository"),
        after=start,
        before=None if before is None else to_micros(before),
        min_confidence=where.get("min_confidence"),
        fields=_fields(client, kinds, where.get("fields") or {}),
        pages=None if everywhere or not _has_pages(kinds) else shown_here(client, where.get("repository")),
    )


def got(client: Client, view: View, record: Record) -> Record:
    """A caller asked for this record by its name: an access, as a hit in a recall is. What jobs read is none."""
    if client.caller.door != "job":
        client.runtime.receipts.add(access(view, record.seq))
    return record


def fading(client: Client, view: View, at: Moments) -> Fading:
    """What time has taken of what is read, until now or until the moment that is asked for."""
    decay = Decay(at.get("as_of") or from_micros(view.now), client.settings.salience_decay_rate)
    return Fading(client.runtime.store.receipts, view, decay)


def chosen_recipe(client: Client, recipe: Recipe | str) -> Recipe:
    """A recipe, by its name or as it is, as far as the settings let it select. The file of recipes is read only for a
    name that is not built in."""
    chosen = recipe if isinstance(recipe, Recipe) else RECIPES.get(recipe)
    if chosen is None:
        known = read_recipes(client.settings)
        if recipe not in known:
            raise InvalidInput(f"recipe: there is no {recipe!r}", hint=f"one of {', '.join(known)}", field="recipe")
        chosen = known[str(recipe)]
    return chosen if client.settings.reranking_enabled else chosen.in_fused_order()


def own_user(client: Client, user_id: str | None) -> None:
    """A caller may name the user that the client belongs to, and no other."""
    if user_id is not None and user_id != client.scope.user:
        raise Denied(
            "user_id: another user's memories are not visible here",
            hint="leave it out, or open an AgentMemory for that user",
            field="user_id",
        )


def _has_pages(kinds: list[str] | None) -> bool:
    return kinds is None or CONFINED[0] in kinds


def _micros(hours: float) -> int:
    try:
        span = timedelta(hours=hours) // timedelta(microseconds=1)
    except (OverflowError, ValueError):
        span = -1
    if span <= 0:
        raise InvalidInput(
            f"time_window_hours: {hours} is not a length of time", hint="use more than 0", field="time_window_hours"
        )
    return span


def _fields(client: Client, kinds: list[str] | None, fields: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Only indexed payload fields can be compared; an error says which these are."""
    for name, value in fields.items():
        chosen = [client.runtime.kinds[kind] for kind in kinds or client.runtime.kinds]
        allowed = sorted({field for kind in chosen for field in kind.indexed})
        if name not in allowed or not isinstance(value, str | int | float):
            raise InvalidInput(
                f"fields: {name!r} cannot be compared with {value!r}",
                hint=f"indexed fields: {', '.join(allowed) or 'none of these kinds has any'}",
                field="fields",
            )
    return tuple(fields.items())


def looking_alike(client: Client, id: str) -> list[str]:
    """Facts that say nearly the same as this one, about the same entities."""
    from agent_memory.core.upkeep.alike import alike  # it loads what finds names, which few calls need

    runtime, view = client.runtime, client.view()
    found = runtime.store.records.get(view, [id])
    return alike(runtime.store.index, runtime.embedding, view, found[0]) if found else []
