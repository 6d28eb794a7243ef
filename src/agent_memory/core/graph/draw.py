"""Changing the knowledge graph of the official MCP memory server: by names, each time all or nothing."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from agent_memory.core.graph.draft import ABOUT, mention, mention_key, observation, spelled_key
from agent_memory.core.graph.file import called, merged
from agent_memory.core.graph.look import GraphLook, is_mention
from agent_memory.core.write.commit import How, Writing, check_by_hand, commit, connect, heads, until_settled, write
from agent_memory.core.write.forget import forget
from agent_memory.core.write.normalise import again
from agent_memory.models.draft import Draft
from agent_memory.models.errors import NotFound
from agent_memory.models.graph import (
    Added,
    Deleted,
    Edge,
    Edges,
    GraphImported,
    Node,
    Nodes,
    Observed,
    Observing,
    Unobserving,
)
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.kinds.knowledge import Entity
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Link, Record, Status
from agent_memory.ports.changes import Applied, Author, Change, Disconnect, Effect, Erase, Expect
from agent_memory.ports.clock import Clock
from agent_memory.ports.records import View

T = TypeVar("T")

PART = 5000  # changes that are made in one write; what takes more is made in several


class Drawing(NamedTuple):
    """The graph of one writer. What each does is said where callers find it, in `memory.graph`."""

    writing: Writing
    author: Author
    clock: Clock

    def create_entities(self, entities: list[Node]) -> Nodes:
        def attempt(there: list[Record]) -> Nodes:
            known = {record.payload["name"] for record in there}
            new = [one for one in merged(entities) if one.name not in known]
            if new:
                drafts, expect = self._drafts(new)
                self._commit(drafts, How(expect=expect))
            return Nodes(entities=new)

        return until_settled(attempt, lambda: self._look().named([one.name for one in entities]))

    def create_relations(self, relations: list[Edge]) -> Edges:
        """Of an entity that does not exist yet, a mention is made."""
        names = _names(relations)

        def attempt(known: dict[str, str]) -> Edges:
            drafts, expect, ids = self._mentions(names, known)
            there = self._look().relations(names)
            new = [one for one in dict.fromkeys(relations) if one not in there]
            if new:
                changes = [connect(_link(one, ids)) for one in new]
                self._commit(drafts, How(embed=False, expect=expect, changes=changes))
            return Edges(relations=new)

        return until_settled(attempt, lambda: self._known(names))

    def add_observations(self, observations: list[Observing]) -> Observed:
        names = {one.entity_name for one in observations}
        ids = self._known(sorted(names), mentioned=False)
        if lost := sorted(names - ids.keys()):
            raise NotFound(f"Entity with name {lost[0]} not found", hint="create it first", field="name")
        told = self._look().observations(list(ids.values()))
        seen = {name: {fact.text for fact in told.get(id, ())} for name, id in ids.items()}
        results, drafts = [], []
        for one in observations:
            fresh = [text for text in dict.fromkeys(one.contents) if text not in seen[one.entity_name]]
            seen[one.entity_name].update(fresh)
            drafts += [observation(ids[one.entity_name], text) for text in fresh]
            results.append(Added(entity_name=one.entity_name, added_observations=fresh))
        if drafts:
            self._commit(drafts)
        return Observed(results=results)

    def delete_entities(self, entity_names: list[str]) -> Deleted:
        look, user = self._look(), self.author.scope.user
        found = look.named(entity_names)
        mentioned = [one for one in look.named(entity_names, mentioned=True) if one.scope.user == user]
        gone = {record.id for record in [*found, *mentioned]}
        gone |= set(self._unnamed([link for link in look.links(list(gone)) if link.type != ABOUT]))
        facts = [fact for several in look.observations(list(gone)).values() for fact in several]
        alone = [fact.id for fact in facts if gone.issuperset(fact.payload.get("entity_ids", ()))]
        left = [*gone, *alone]
        while left:  # in one write, unless they are too many
            some, left = left[-PART:], left[:-PART]
            erased = set(forget(self.writing, some, self.author, self._now).erased)
            left = [id for id in left if id not in erased]
        known = {record.payload["name"] for record in [*found, *mentioned]}
        absent = [name for name in entity_names if name not in known]
        if not absent:
            return Deleted(success=True, message="Entities deleted successfully")
        count = f"Deleted {len(entity_names) - len(absent)} of {len(entity_names)} entities."
        return Deleted(success=True, message=f"{count} Not found: {', '.join(absent)}")

    def delete_observations(self, deletions: list[Unobserving]) -> Deleted:
        def attempt(ids: dict[str, str]) -> int:
            told = self._look().observations(list(ids.values()))
            gone: dict[str, set[str]] = {}  # fact -> the entities that it is no longer about
            facts = {}
            for one in deletions:
                for fact in told.get(ids.get(one.entity_name, ""), ()):
                    if fact.text in one.observations:
                        gone.setdefault(fact.id, set()).add(ids[one.entity_name])
                        facts[fact.id] = fact
            if gone:
                self._unobserve(facts, gone)
            return sum(map(len, gone.values()))

        names = [one.entity_name for one in deletions]
        done = until_settled(attempt, lambda: self._known(names, mentioned=False))
        asked = sum(len(one.observations) for one in deletions)
        if done == asked:
            return Deleted(success=True, message="Observations deleted successfully")
        known = self._known(names, mentioned=False)
        absent = [name for name in names if name not in known]
        rest = f" Entities not found: {', '.join(absent)}" if absent else ""
        return Deleted(success=True, message=f"Deleted {done} of {asked} observations.{rest}")

    def delete_relations(self, relations: list[Edge]) -> Deleted:
        known = self._look().relations(_names(relations))
        found = [one for one in relations if one in known]
        ends = [link for one in dict.fromkeys(found) for link in known[one]]
        if ends:
            changes: list[Change] = [Disconnect(*link.ends) for link in ends]
            changes += [Erase(id) for id in self._unnamed(ends)]
            write(self.writing, changes, self.author, self._now)
        if len(found) == len(relations):
            return Deleted(success=True, message="Relations deleted successfully")
        count = f"Deleted {len(found)} of {len(relations)} relations."
        return Deleted(success=True, message=f"{count} The rest matched nothing.")

    def load(self, entities: list[Node], relations: list[Edge]) -> GraphImported:
        """In one write, or where that would be too large, in several: entities first."""
        if _weight(entities, relations) <= PART:
            return self._load(entities, relations)
        pieces = [piece for one in entities for piece in _pieces(one)]
        parts = [self._load(some, []) for some in _parts(pieces, lambda one: _weight([one], []))]
        parts += [self._load([], some) for some in _parts(relations, lambda one: _weight([], [one]))]
        counts = ("entities", "observations", "relations", "known")
        sums = {name: sum(getattr(one, name) for one in parts) for name in counts}
        sums["known"] -= len(pieces) - len(entities)  # the later pieces of an entity find it there
        return GraphImported(**sums, bad=[])

    def _load(self, entities: list[Node], relations: list[Edge]) -> GraphImported:
        def attempt(found: list[Record]) -> GraphImported:
            known = {called(one.payload["name"], one.payload["type"]): one.id for one in reversed(found)}
            return self._take(entities, relations, known)

        return until_settled(attempt, lambda: self._look().named([one.name for one in entities]))

    def _take(self, entities: list[Node], edges: list[Edge], known: dict[tuple[str, str], str]) -> GraphImported:
        old = [(known[named], one) for one in entities if (named := called(one.name, one.entity_type)) in known]
        new = [one for one in entities if called(one.name, one.entity_type) not in known]
        drafts, expect = self._drafts(new)
        made = {str(draft.payload["name"]): str(draft.id) for draft in reversed(drafts) if draft.kind == "entity"}
        drafts += [observation(id, text) for id, one in old for text in one.observations]
        ends = _names(edges)
        mentions, expected, ids = self._mentions(ends, made | self._known(ends))
        there = self._look().relations(ends)
        changes = [connect(_link(one, ids)) for one in edges if one not in there]
        how = How(embed=False, expect=[*expect, *expected], changes=changes)
        applied = self._commit([*drafts, *mentions], how)
        kinds = [part for draft in drafts for part in (draft.kind, *("about" for _ in draft.links))]
        kinds += [*("mention" for _ in mentions), *("relation" for _ in changes)]
        effects = zip(kinds, applied.outcomes, strict=True)
        fresh = Counter(kind for kind, outcome in effects if outcome.effect is Effect.CREATED)
        told = sum(kind in ("fact", "relation") for kind in kinds)
        return GraphImported(
            entities=len(new),
            observations=fresh["fact"],
            relations=fresh["relation"],
            known=len(old) + len(edges) - len(changes) + told - fresh["fact"] - fresh["relation"],
            bad=[],
        )

    def _drafts(self, nodes: Sequence[Node]) -> tuple[list[Draft], list[Expect]]:
        """Entities with their observations, written only if nobody has written them meanwhile. Where another spelling
        of the same name and type is there, or an archived one, the new one has a key of its own."""
        drafts: list[Draft] = []
        expect: dict[str, Expect] = {}
        for node in nodes:
            key, old = self._place(node, expect)
            entity = Entity(name=node.name, type=node.entity_type, first_seen=self.clock.now())
            entity = entity if old is None else entity.model_copy(update={"id": old.id})
            expect[key] = Expect(0, kind="entity", key=key) if old is None else Expect(old.version, id=old.id)
            drafts.append(replace(entity.draft(), key=key if key == spelled_key(node) else None))
            drafts += [observation(entity.id, text) for text in dict.fromkeys(node.observations)]
        return drafts, list(expect.values())

    def _place(self, node: Node, taken: Container[str]) -> tuple[str, Record | None]:
        """The key of an entity that is to be created, and what it is a new version of."""
        own = functools.partial(self.writing.records.head, self.author.scope, "entity")
        key = joined_key(node.name, node.entity_type)
        old, mentioned = own(key=key), own(key=mention_key(node.name))
        stands = old is not None and old.status == Status.ACTIVE and not _over(old, self.clock.now())
        if old is not None and stands and old.payload["name"] == node.name:
            return key, None  # it came this moment: expecting none makes us look again
        if key in taken or stands or (old and mentioned):
            key = spelled_key(node)
            old = own(key=key)
        return key, old or mentioned

    def _mentions(
        self, names: Sequence[str], known: dict[str, str]
    ) -> tuple[list[Draft], list[Expect], dict[str, str]]:
        """Entities for the names that nobody created, and the ids of all of them."""
        drafts = [mention(name, self.clock.now()) for name in names if name not in known]
        ids = {str(draft.payload["name"]): str(draft.id) for draft in drafts}
        return drafts, [Expect(0, kind="entity", key=mention_key(name)) for name in ids], known | ids

    def _unobserve(self, facts: Mapping[str, Record], gone: Mapping[str, Collection[str]]) -> None:
        """Take facts away from entities: what is then about nobody is forgotten. One change for each scope."""
        writes: dict[Author, tuple[list[Draft], list[Expect], list[Change]]] = {}
        for id, fact in facts.items():
            others = [other for other in fact.payload.get("entity_ids", ()) if other not in gone[id]]
            old, author = heads(self.writing.records, self.author, "fact", id)
            if old is None or not others:
                author = self.author
            drafts, expect, changes = writes.setdefault(author, ([], [], []))
            if old is None or not others:
                changes.append(Erase(id, with_derived=True, version=old.version if old else None, scope=fact.scope))
                continue
            drafts.append(replace(again(old, self.writing.kinds), payload={**old.payload, "entity_ids": others}))
            expect.append(Expect(old.version, id=id))
            changes += [Disconnect(id, entity, ABOUT) for entity in gone[id]]
        for author, (drafts, expect, changes) in writes.items():
            commit(self.writing, drafts, author, self._now, How(expect=expect, changes=changes))

    def _unnamed(self, gone: Sequence[Link]) -> list[str]:
        """What this user's relations mention, and nothing any more when these are gone."""
        ends = {end for link in gone for end in (link.source_id, link.target_id)}
        look = self._look()
        records = self.writing.records.get(look.view, sorted(ends))
        mentioned = [one for one in records if is_mention(one) and one.scope.user == self.author.scope.user]
        return look.left_alone(mentioned, {link.ends for link in gone})

    def _known(self, names: Sequence[str], *, mentioned: bool = True) -> dict[str, str]:
        """The ids of entities by name: of several with one name the oldest, and what is only mentioned last."""
        look = self._look()
        found = [*look.named(names), *(look.named(names, mentioned=True) if mentioned else ())]
        return {record.payload["name"]: record.id for record in reversed(found)}

    def _commit(self, drafts: Sequence[Draft], how: How = How()) -> Applied:  # noqa: B008
        return commit(self.writing, drafts, self.author, self._now, how)

    def _look(self) -> GraphLook:
        return GraphLook(self.writing.records, View(self.author.scope, self._now))

    @property
    def _now(self) -> int:
        return to_micros(self.clock.now())


def _weight(entities: Sequence[Node], relations: Sequence[Edge]) -> int:
    """How many changes it takes to store these: an observation has a link, and a relation may mention two entities."""
    return sum(1 + 2 * len(one.observations) for one in entities) + 3 * len(relations)


def _pieces(node: Node) -> Iterator[Node]:
    """One entity with its observations, so many at a time that they can be stored in one write."""
    most = PART // 2 - 1
    for start in range(0, max(len(node.observations), 1), most):
        yield node.model_copy(update={"observations": node.observations[start : start + most]})


def _parts(values: Sequence[T], weight: Callable[[T], int]) -> Iterator[list[T]]:
    """In their order, in as few parts as a write can take."""
    part: list[T] = []
    room = PART
    for value in values:
        if part and weight(value) > room:
            yield part
            part, room = [], PART
        part.append(value)
        room -= weight(value)
    if part:
        yield part


def _over(record: Record, now: datetime) -> bool:
    return record.valid_to is not None and record.valid_to <= now


def _link(edge: Edge, ids: Mapping[str, str]) -> Link:
    check_by_hand(edge.relation_type)
    return Link(source_id=ids[edge.source], target_id=ids[edge.target], type=edge.relation_type)


def _names(edges: Iterable[Edge]) -> list[str]:
    """Both ends of each, every name once."""
    return list(dict.fromkeys(end for one in edges for end in (one.source, one.target)))
