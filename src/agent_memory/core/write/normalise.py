"""Draft -> Put: ids, clocks, keys, limits, words. Pure, so that it can run again after a conflict."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from agent_memory.core.write.wording import derive
from agent_memory.core.write.words import Analyser
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.kinds.conversation import turn_key
from agent_memory.models.kinds.kind import Kind, canonical_json, checked_key
from agent_memory.models.model import aware_utc, clean_name, clean_text, new_id
from agent_memory.models.moment import to_micros
from agent_memory.models.record import LONGEST_TEXT, Record, Status
from agent_memory.ports.changes import Content, Put, VersionState

SALT_BYTES = 16
OBSERVED = "graph "  # how the keys of observations begin; the rest is made from their text
T = TypeVar("T")


def normalise(draft: Draft, kinds: Mapping[str, Kind], now: int, analyser: Analyser) -> Put:
    """Check everything a caller can get wrong, and fill in what was left out."""
    kind = known_kind(draft.kind, kinds)
    payload = kind.check(draft.payload)
    text = _checked("text", clean_text, draft.text)
    if len(text) > LONGEST_TEXT:
        raise InvalidInput(
            f"text: {len(text)} characters; the limit is {LONGEST_TEXT}",
            hint="split it into parts, one record each",
            field="text",
        )
    if kind.longest is not None and len(text) > (longest := kind.longest(payload)):
        raise InvalidInput(
            f"text: the {kind.name} would have {len(text)} characters; its limit is {longest}; nothing was written",
            hint="shorten it, or raise its limit",
            field="text",
        )
    if not text.strip() and (kind.needs_text or not payload):
        raise InvalidInput("text: is empty", hint="say what to remember", field="text")
    key = checked_key(draft.key) if draft.key is not None else natural_key(kind, draft, payload)
    valid_from, valid_to = _interval(draft, now)
    state = VersionState(
        valid_from=valid_from,
        valid_to=valid_to,
        key=key,
        conversation_id=_name("conversation_id", draft.conversation_id),
        position=payload.get(kind.position) if kind.position else None,
        repository=_name("repository", draft.repository),
        status=Status(draft.status),
        importance=unit_interval("importance", draft.importance),
        confidence=unit_interval("confidence", draft.confidence),
        source=_source(kind, draft.source),
    )
    return Put(
        id=_name("id", draft.id) or new_id(),
        kind=kind.name,
        content=Content(text, canonical_json(payload), secrets.token_bytes(SALT_BYTES)),
        state=state,
        derived=derive(kind, text, payload, analyser),
        succeeds=kind.succeeds,
        dated=draft.dated,
    )


def again(record: Record, kinds: Mapping[str, Kind]) -> Draft:
    """The same again, for a correction. A key that a caller gave stays; one that is made from what a record says
    follows that."""
    draft, kind = Draft.of(record), kinds.get(record.kind)
    if record.key is None or kind is None or record.key == natural_key(kind, draft, draft.payload):
        return draft
    made = "\x1f" in record.key or (record.kind == "fact" and record.key.startswith(OBSERVED))
    return draft if made else replace(draft, key=record.key)


def natural_key(kind: Kind, draft: Draft, payload: dict[str, Any]) -> str | None:
    """What the kind says; what has a place in a conversation is that place."""
    if kind.position is not None and draft.conversation_id is not None and kind.position in payload:
        return turn_key(draft.conversation_id, payload[kind.position])
    return kind.key(draft.text, payload)


def known_kind(name: str, kinds: Mapping[str, Kind]) -> Kind:
    try:
        return kinds[name]
    except KeyError:
        raise NotFound(
            f"kind: there is no kind {name!r}", hint=f"one of {', '.join(sorted(kinds))}", field="kind"
        ) from None


def _source(kind: Kind, given: str | None) -> str:
    if given is None:
        return kind.sources[0] if kind.sources else "user"
    if kind.sources and given not in kind.sources:
        raise InvalidInput(f"source: {given!r}", hint=f"one of {', '.join(kind.sources)}", field="source")
    return _checked("source", clean_name, given)


def unit_interval(field: str, number: float) -> float:
    """A float from 0 to 1; -0.0, which a column of numbers does not know, is 0.0."""
    if not math.isfinite(number):
        raise InvalidInput(f"{field}: {number!r} is not a finite number", hint="use 0 to 1", field=field)
    if not 0 <= number <= 1:
        raise InvalidInput(f"{field}: {number} is outside 0 to 1", hint="use 0 to 1", field=field)
    return float(number) + 0.0


def moment(field: str, value: datetime) -> int:
    return to_micros(_checked(field, aware_utc, value))


def _interval(draft: Draft, now: int) -> tuple[int, int | None]:
    start = now if draft.valid_from is None else moment("valid_from", draft.valid_from)
    end = None if draft.valid_to is None else moment("valid_to", draft.valid_to)
    if end is not None and end <= start:
        raise InvalidInput(
            "valid_to: is not after valid_from", hint="leave it out while it still holds", field="valid_to"
        )
    return start, end


def _name(field: str, value: str | None) -> str | None:
    return None if value is None else _checked(field, clean_name, value)


def _checked(field: str, check: Callable[[T], T], value: T) -> T:
    try:
        return check(value)
    except ValueError as error:
        raise InvalidInput(f"{field}: {error}", field=field) from None
    except (AttributeError, TypeError):
        raise InvalidInput(f"{field}: {type(value).__name__} is the wrong type", field=field) from None
