"""Which record a name means: the entity with this name, or with this alias. Where none has it and one is nearly called
so, a merge is proposed, for a person to decide about; nothing is merged silently."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from agent_memory.core.graph.draft import MENTIONED
from agent_memory.core.recall.entities import calling, folded_name
from agent_memory.core.recall.reading import Reading
from agent_memory.core.upkeep.extract.values import NamedEntity
from agent_memory.core.upkeep.job import Keeping
from agent_memory.core.write.commit import SELF
from agent_memory.core.write.words import spelled
from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.kinds.knowledge import Entity
from agent_memory.models.record import Link, Record, Scope, Status
from agent_memory.ports.records import Filter, View

SAME_AS = "SAME_AS"
"""From an entity to another one that was found to be the same; the other stays, and is known by the first."""
MOST_SHARING = 20
MOST_COMPARED = 2000  # entities of one scope that a new name is compared with
_VERSION = re.compile(r" v?\d+(?:\.\d+)*$")


class Resolved(NamedTuple):
    """The entity that a name means: its id, and the drafts that make it, where there is none yet."""

    name: str
    type: str
    id: str
    draft: Draft | None = None
    proposal: Draft | None = None
    ours: bool = True  # made by extraction alone: it goes with the last turn that names it


class Resolving:
    """For one scope: what was resolved once is known."""

    def __init__(self, keeping: Keeping, scope: Scope, now: int) -> None:
        self._keeping = keeping
        self._scope = scope
        self._view = View(scope, now)
        self._known: dict[str, Resolved] = {}

    def resolve(self, named: NamedEntity, turn: Record) -> Resolved:
        name = _VERSION.sub("", named.name) if named.type == "technology" else named.name
        spelling = folded_name(spelled(name)) or name.casefold()
        found = self._known.get(spelling)
        if found is None:
            found = self._found(name, named.type, spelling) or self._new(name, named.type, turn)
        self._known[spelling] = found._replace(draft=None, proposal=None)
        return found

    def _found(self, name: str, type: str, spelling: str) -> Resolved | None:
        """By its key; by its name or an alias, in any spelling. Of several the one of this type, or the oldest."""
        records = self._keeping.store.records
        same = records.head(self._scope, "entity", key=joined_key(name, type))
        if same is None:
            reading = Reading(self._keeping.store.index, self._view)
            called = reading.called(
                [spelling], {"entity": calling(self._keeping.writing.kinds)["entity"]}, most=MOST_SHARING
            )
            heads = reading.hydrate([one.handle for one in called if one.status == Status.ACTIVE])
            own = [one for one in heads if one.scope == self._scope]
            same = next((one for one in own if one.payload["type"] == type), next(iter(own), None))
        if same is None or same.status not in (Status.ACTIVE, Status.ARCHIVED) or same.payload["type"] == MENTIONED:
            return None
        same = self._first_of(same)
        return Resolved(same.payload["name"], same.payload["type"], same.id, ours=same.source == "extraction")

    def _first_of(self, entity: Record) -> Record:
        """The one that this was merged into."""
        links = self._keeping.store.records.links(self._view, [entity.id])
        above = [one.source_id for one in links if one.type == SAME_AS and one.target_id == entity.id]
        found = self._keeping.store.records.get(self._view, above)  # the proposal has that link, too
        return next((one for one in found if one.status is Status.ACTIVE), entity)

    def _new(self, name: str, type: str, turn: Record) -> Resolved:
        entity = Entity(id=_id(turn.id, name, type), name=name, type=type, first_seen=turn.valid_from)
        draft = replace(entity.draft(), source="extraction")
        alike = self._alike(name, type)
        proposal = None if len(alike) != 1 else _merge(alike[0], entity)
        return Resolved(name, type, entity.id, draft, proposal)

    def _alike(self, name: str, type: str) -> list[Record]:
        where = Filter(kinds=("entity",), fields=(("type", type),))
        found = self._keeping.store.records.find(self._view, where, limit=MOST_COMPARED)
        return [one for one in found if one.scope == self._scope and nearly(one.payload["name"], name)]


def nearly(one: str, other: str) -> bool:
    """Whether two names may be of the same: one is the beginning of the other, or a letter or two make the difference.
    Names that differ in a number do not ("node-7", "node-8")."""
    first, second = (folded_name(spelled(name)) for name in (one, other))
    if not first or not second or first == second or re.findall(r"\d+", first) != re.findall(r"\d+", second):
        return False
    short, long = sorted((first, second), key=len)
    if long.startswith(f"{short} ") and " " not in short:  # Anna, Anna Rossi
        return True
    short, long = short.replace(" ", ""), long.replace(" ", "")
    if len(short) >= 6 and long.startswith(short) and len(long) - len(short) <= 3:  # Postgres, PostgreSQL
        return True
    return len(short) >= 6 and _one_letter_apart(short, long)


def _one_letter_apart(short: str, long: str) -> bool:
    if len(long) - len(short) > 1:
        return False
    at = next((place for place in range(len(short)) if short[place] != long[place]), len(short))
    return short[at:] == long[at + 1 :] or short[at + 1 :] == long[at + 1 :]


def _merge(standing: Record, new: Entity) -> Draft:
    """As a version of the entity that is there, with the new name as an alias. It waits: approving it makes it so."""
    before = Entity.of(standing)
    merged = before.model_copy(update={"aliases": [*before.aliases, new.name]})
    link = Link(source_id=SELF, target_id=new.id, type=SAME_AS)
    return replace(merged.draft(), status=Status.HELD, source="extraction", links=(link,))


def _id(turn_id: str, name: str, type: str) -> str:
    """Of the turn that named it first: what went with a turn may come again with another one."""
    said = "\x1f".join(("entity", turn_id, joined_key(name, type)))
    return hashlib.blake2b(said.encode(errors="replace"), digest_size=13).hexdigest()


def ids(found: Sequence[Resolved]) -> list[str]:
    return list(dict.fromkeys(one.id for one in found))
