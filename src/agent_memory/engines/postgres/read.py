"""Reads by id, key, filter and link: every statement names the scopes that the reader may see, and is a round trip."""

from __future__ import annotations

import json
import sys
from collections import namedtuple
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from agent_memory.engines.postgres.connection import Row
from agent_memory.engines.postgres.statements import SQL
from agent_memory.ledger.codecs import plain
from agent_memory.models.errors import Corrupt
from agent_memory.models.moment import from_micros, maybe_moment
from agent_memory.models.record import Link, Record, Scope, Status
from agent_memory.ports.index import NEVER
from agent_memory.ports.records import CONFINED, Filter, View

VersionRow = namedtuple(  # as `version_columns` gives it
    "VersionRow",
    "version id kind user agent text encoded codec payload key conversation repository status importance confidence "
    "source valid_from valid_to number record at ended",
)

Values = dict[str, Any]


@lru_cache(4096)
def scoped(tenant: str, user: str, agent: str) -> Scope:
    """The same few come again with every row, and making one takes as long as reading it."""
    return Scope(tenant=tenant, user=user, agent=agent)


def reader(scope: Scope) -> Values:
    """What `mine` asks for."""
    scopes = scope.readable()
    return {"users": [one.user for one in scopes], "agents": [one.agent for one in scopes]}


def moment(view: View) -> Values:
    """Who looks, and as of when."""
    seq = NEVER if view.seq is None else whole(view.seq)
    return reader(view.scope) | {"seq": seq, "now": view.now, "valid_at": view.valid_at}


def whole(number: int) -> int:
    """As a column has it: what is outside it is as far as that goes."""
    return max(-NEVER, min(number, NEVER))


def prefix(first: str) -> Values:
    """A range of ids: nothing that a name can hold sorts after the last character there is."""
    return {"first": first, "last": first + chr(sys.maxunicode)}


def conditions(where: Filter) -> tuple[str, Values]:
    """A filter as SQL; values are always parameters."""
    asked = {
        "conversation": where.conversation_id,
        "repository": where.repository,
        "after": where.after,
        "before": where.before,
        "min_confidence": where.min_confidence,
    }
    values: Values = {name: value for name, value in asked.items() if value is not None}
    made = [SQL["where_statuses"], *(SQL[f"where_{name}"] for name in values)]
    values["statuses"] = [str(status) for status in where.statuses]
    values["kinds"] = None if where.kinds is None else [*where.kinds]
    for place, (name, value) in enumerate(where.fields):
        is_word = isinstance(value, str)
        made.append(SQL["where_word" if is_word else "where_number"].format(place=place))
        values |= {f"name{place}": name, f"value{place}": value if is_word else Decimal(value)}
    if where.pages is not None:
        kind, field = CONFINED
        made.append(SQL["where_pages"])
        values |= {"confined": kind, "place": field, "pages": [*where.pages]}
    return " and ".join(made), values


def records(tenant: str, rows: Iterable[Row]) -> list[Record]:
    return [record(tenant, VersionRow._make(row)) for row in rows]


def record(tenant: str, row: VersionRow) -> Record:
    """`Corrupt` where it cannot be read."""
    try:
        return Record.trusted(
            id=row.id,
            kind=row.kind,
            scope=scoped(tenant, row.user, row.agent),
            text=content(row.text, row.encoded, row.codec),
            payload=_object(row.payload),
            key=row.key,
            conversation_id=row.conversation,
            repository=row.repository,
            status=Status(row.status),
            importance=row.importance,
            confidence=row.confidence,
            source=row.source,
            valid_from=from_micros(row.valid_from),
            valid_to=maybe_moment(row.valid_to),
            recorded_at=from_micros(row.at),
            recorded_to=maybe_moment(row.ended),
            seq=row.version,
            version=row.number,
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise Corrupt(
            f"record {row.id!a} cannot be read: {type(error).__name__}", hint="`agent-memory verify` names the damage"
        ) from None


def content(text: str | None, encoded: bytes | None, codec: str | None) -> str:
    """A text out of its cells. `TypeError` or `ValueError` where they are damaged."""
    made = plain(text if codec is None else encoded, codec)
    if not isinstance(made, str):
        raise TypeError("a content without a text")
    return made


def _object(payload: str) -> dict[str, Any]:
    said = json.loads(payload)
    if not isinstance(said, dict):
        raise TypeError("a payload that is not an object")
    return said


def links(rows: Iterable[Row]) -> dict[int, list[Link]]:
    """By the record where they start."""
    found: dict[int, list[Link]] = {}
    for _, start, source, target, type, weight, properties in rows:
        made = Link(source_id=source, target_id=target, type=type, weight=weight, properties=json.loads(properties))
        found.setdefault(start, []).append(made)
    return found


def position(found: Sequence[VersionRow]) -> Values:
    """After which of all records a page begins."""
    return {"last_from": found[0].valid_from, "last_record": found[0].record}
