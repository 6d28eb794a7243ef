"""`memory.semantic`: entities, facts and the relations between them. C3."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from math import sqrt
from typing import Any, TypeVar, Unpack

from agent_memory.app.namespaces.asking import asked, fading, got, looking_alike
from agent_memory.app.namespaces.options import ClaimOptions, Moments, Where
from agent_memory.app.operations import Namespace, Permission, ToolSlot, operation
from agent_memory.core.graph.draft import ABOUT
from agent_memory.core.recall.bundle import facts_shown
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import Question
from agent_memory.core.write.commit import SELF, Revision, check_by_hand, commit_after_reading, connect, write
from agent_memory.models.answer import Recalled
from agent_memory.models.decay import meant
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.kinds.knowledge import Entity, Fact, FactPayload, FactSource, fact_key
from agent_memory.models.limits import Depth
from agent_memory.models.model import Unit
from agent_memory.models.recipe import MEANING
from agent_memory.models.record import Link, Record, Status
from agent_memory.ports.changes import DERIVED_FROM, Effect, Expect

M = TypeVar("M", Entity, Fact)


class Semantic(Namespace):
    """What is known: who and what there is, what is claimed of them, how they are related."""

    @operation(
        "semantic.upsert_entity",
        "PUT /entities",
        permission=Permission.WRITE,
        mcp=[ToolSlot("knowledge", "entities", "upsert")],
    )
    def upsert_entity(self, entity: Entity) -> Entity:
        """Store an entity. The same id, or the same name and type, is updated: aliases and properties are merged,
        and a missing description erases nothing."""
        merged: list[Entity] = []

        def read() -> Revision:
            key = joined_key(entity.name, entity.type)
            old = self._client.own("entity", id=entity.id) or self._client.own("entity", key=key)
            merged[:] = [entity if old is None else _merged(entity, old)]
            expect = Expect(0, kind="entity", key=key) if old is None else Expect(old.version, id=old.id)
            return Revision(merged[0].draft(), expect, self._client.author())

        entity = self._as_meant(entity)
        commit_after_reading(self._client.runtime.writing, read, self._client.now())
        return merged[0]

    @operation(
        "semantic.learn_fact",
        "POST /facts",
        permission=Permission.WRITE,
        command="learn",
        mcp=[ToolSlot("records", "learn_fact")],
    )
    def learn_fact(
        self,
        claim: str,
        source: FactSource = "extraction",
        confidence: Unit = 0.8,
        entity_ids: list[str] | None = None,
        source_turn_id: str | None = None,
        subject: str | None = None,
        predicate: str | None = None,
        **standing: Unpack[ClaimOptions],
    ) -> Fact:
        """Remember a claim. With a subject and a predicate it supersedes the claim before it.

        "Ada works from Lisbon", subject "Ada", predicate "works from": what she did before stays true for its time.
        `valid_from` says since when, if not since now.
        """
        if not claim.strip():
            raise InvalidInput("claim: is empty", hint="say what to remember", field="claim")
        fact = Fact(
            claim=claim,
            source=source,
            confidence=confidence,
            entity_ids=entity_ids or [],
            source_turn_id=source_turn_id,
            subject=subject,
            predicate=predicate,
            created_at=standing.get("valid_from") or self._client.clock.now(),
            repository=standing.get("repository"),
        )
        return self._store(fact)

    @operation("semantic.store_fact", "PUT /facts", permission=Permission.WRITE, mcp=[ToolSlot("core", "save", "fact")])
    def store_fact(self, fact: Fact) -> Fact:
        """Store a claim. The same claim again is the same fact; a claim about the same subject and predicate
        supersedes the one before, which stays true for its own time."""
        return self._store(fact)

    def _store(self, fact: Fact) -> Fact:
        stored: list[Fact] = []
        fact = self._as_meant(fact)

        def read() -> Revision:
            key = fact_key(fact.claim, fact.part(FactPayload))
            old = self._client.own("fact", key=key)
            stored[:] = [self._joined(fact, old)]
            draft = replace(stored[0].draft(), links=tuple(_sources(fact)))
            return Revision(draft, Expect(old.version if old else 0, kind="fact", key=key), self._client.author())

        applied = commit_after_reading(self._client.runtime.writing, read, self._client.now())
        became, fact = applied.outcomes[0], stored[0]
        if became.effect is Effect.HELD or became.id != fact.id:  # it waits, or the same was proposed before
            fact = fact.model_copy(update={"id": became.id, "held": True, "superseded": None})
        return fact.model_copy(update={"alike": looking_alike(self._client, fact.id)})

    @operation("semantic.vector_search_facts", "POST /facts/near")
    def vector_search_facts(
        self, query_embedding: list[float], top_k: int = 10, min_confidence: float = 0.5, **at: Unpack[Moments]
    ) -> list[dict[str, Any]]:
        """Facts nearest to a vector, those at least this certain."""
        where: Where = {"kinds": ["fact"], "min_confidence": min_confidence}
        found = [hit for hit in self._near(query_embedding, top_k, where, at) if hit.why.similarity is not None]
        records = self._client.runtime.store.records
        view = self._client.view(**at)
        named = facts_shown(records, view, [hit.record for hit in found], fading(self._client, view, at).decay)
        return [{**shown, "score": hit.why.similarity} for shown, hit in zip(named, found, strict=True)]

    @operation("semantic.vector_search_entities", "POST /entities/near")
    def vector_search_entities(
        self, query_embedding: list[float], top_k: int = 10, **at: Unpack[Moments]
    ) -> list[dict[str, Any]]:
        """Entities nearest to a vector."""
        near = self._near(query_embedding, top_k, {"kinds": ["entity"]}, at)
        found = [hit for hit in near if hit.why.similarity is not None]
        read = fading(self._client, self._client.view(**at), at).entities([hit.record for hit in found])
        return [{**_shown(one), "score": hit.why.similarity} for one, hit in zip(read, found, strict=True)]

    @operation("semantic.get_entity", "GET /entities/{id}", mcp=[ToolSlot("knowledge", "entities", "get")])
    def get_entity(self, id: str, **at: Unpack[Moments]) -> Entity:
        """One entity, with how often and when last it was recalled, until `as_of` if that is given."""
        view = self._client.view(**at)
        found = self._client.runtime.store.records.get(view, [id])
        if not found or found[0].kind != "entity":
            raise NotFound(f"no entity {id!r}", field="id")
        (entity,) = fading(self._client, view, at).entities(found)
        got(self._client, view, found[0])
        return entity

    @operation("semantic.get_entity_graph", "POST /entities/graph", mcp=[ToolSlot("knowledge", "entities", "graph")])
    def get_entity_graph(self, entity_ids: list[str], depth: Depth = 2, **at: Unpack[Moments]) -> dict[str, Any]:
        """Entities around some entities, how they are related and how far, and the facts about all of them."""
        view, records = self._client.view(**at), self._client.runtime.store.records
        start = [record for record in records.get(view, entity_ids) if record.kind == "entity"]
        facts: dict[str, Record] = {}
        related: list[tuple[Record, str, int]] = []
        seen, frontier = {record.id for record in start}, {record.id for record in start}
        for distance in range(1, depth + 2):  # one step more, for facts about the last entities
            links = records.links(view, sorted(frontier))
            steps = [(link, link.target_id if link.source_id in frontier else link.source_id) for link in links]
            found = {record.id: record for record in records.get(view, sorted({there for _, there in steps}))}
            reached = set()
            for link, there in steps:
                record = found.get(there)
                if record is None or there in seen:
                    continue
                if record.kind == "fact" and link.type == ABOUT and record.status is Status.ACTIVE:
                    facts[there] = record
                elif record.kind == "entity" and distance <= depth:
                    reached.add(there)
                    related.append((record, link.type, distance))
            seen |= reached
            frontier = reached
        faded = fading(self._client, view, at)
        shown = {one.id: _shown(one) for one in faded.entities([*start, *(record for record, _, _ in related)])}
        return {
            "entities": [shown[record.id] for record in start],
            "related": [
                {"entity": shown[record.id], "relationship": type, "path_length": distance}
                for record, type, distance in related
            ],
            "facts": facts_shown(records, view, list(facts.values()), faded.decay),
        }

    @operation(
        "semantic.create_relationship",
        "POST /relationships",
        permission=Permission.WRITE,
        mcp=[ToolSlot("knowledge", "entities", "relate")],
    )
    def create_relationship(
        self, source_id: str, target_id: str, rel_type: str, properties: dict[str, Any] | None = None
    ) -> Link:
        """Relate two entities by an upper-case type such as WORKS_FOR; `weight` among the properties is its weight."""
        if not rel_type.replace("_", "").isalnum() or rel_type != rel_type.upper():
            raise InvalidInput(
                f"rel_type: {rel_type!r}", hint="use an upper-case name such as WORKS_FOR", field="rel_type"
            )
        check_by_hand(rel_type)
        rest = dict(properties or {})
        weight = rest.pop("weight", 1.0)
        link = Link(source_id=source_id, target_id=target_id, type=rel_type, weight=weight, properties=rest)
        client = self._client
        write(client.runtime.writing, [connect(link)], client.author(), client.now())
        return link

    def _near(self, vector: list[float], k: int, where: Where, at: Moments) -> Recalled:
        view, chosen = asked(self._client, where, at)
        return recall(self._client.runtime.recalling, Question("", view, chosen, k, MEANING, vector))

    def _joined(self, new: Fact, old: Record | None) -> Fact:
        """The fact as it will be: a claim that is repeated keeps what it was already connected with, as far as that
        still exists; another claim says which one it supersedes, and late news only what ended when it began."""
        if old is None:
            return new.model_copy(update={"superseded": None})
        ended = self._held(old, new.created_at)
        superseded = None if ended is None or ended.text == new.claim else ended.text
        kept: dict[str, Any] = {"id": old.id, "superseded": superseded}
        if old.text == new.claim:
            before = Fact.of(old)
            view, records = self._client.view(), self._client.runtime.store.records
            there = {record.id for record in records.get(view, [*before.entity_ids, before.source_turn_id or ""])}
            known = [id for id in before.entity_ids if id in there]
            kept["repository"] = new.repository or before.repository
            kept["entity_ids"] = list(dict.fromkeys([*known, *new.entity_ids]))
            kept["source_turn_id"] = new.source_turn_id or (
                before.source_turn_id if before.source_turn_id in there else None
            )
        return new.model_copy(update=kept)

    def _held(self, latest: Record, then: datetime) -> Record | None:
        """The version of a record that holds at a moment, of which `latest` is the one that began last."""
        if latest.valid_from <= then and (latest.valid_to is None or then < latest.valid_to):
            return latest
        found = self._client.runtime.store.records.get(self._client.view(valid_at=then), [latest.id])
        return found[0] if found else None

    def _as_meant(self, given: M) -> M:
        """What somebody read and hands in again keeps what is stored: only what they changed themselves counts."""
        rate = self._client.settings.salience_decay_rate
        if isinstance(given, Entity):
            salience = meant(given.salience, given.stored_salience, rate)
            said = {} if given.stored_salience is None else {"salience": salience, "stored_salience": None}
        else:
            confidence = meant(given.confidence, given.stored_confidence, sqrt(rate))
            said = {} if given.stored_confidence is None else {"confidence": confidence, "stored_confidence": None}
        return given.model_copy(update=said)


def _shown(entity: Entity) -> dict[str, Any]:
    return entity.model_dump(mode="json", exclude={"embedding", "last_accessed", "access_count"})


def _merged(new: Entity, old: Record) -> Entity:
    before = Entity.of(old)
    names = dict.fromkeys([*before.aliases, *new.aliases])
    if before.name.casefold() != new.name.casefold():
        names[before.name] = None
    names.pop(new.name, None)
    return new.model_copy(
        update={
            "id": old.id,
            "aliases": list(names),
            "description": before.description if new.description is None else new.description,
            "properties": {**before.properties, **new.properties},
            "salience": new.salience if "salience" in new.model_fields_set else before.salience,
            "first_seen": min(before.first_seen, new.first_seen),
        }
    )


def _sources(fact: Fact) -> list[Link]:
    links = [Link(source_id=SELF, target_id=entity, type=ABOUT) for entity in fact.entity_ids]
    if fact.source_turn_id is not None:
        links.append(Link(source_id=SELF, target_id=fact.source_turn_id, type=DERIVED_FROM))
    return links
