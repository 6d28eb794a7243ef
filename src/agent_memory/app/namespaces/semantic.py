"""`memory.semantic`: entities, facts and the relations between them. C3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent_memory.app.namespaces.asking import asked
from agent_memory.app.namespaces.episodic import MEANING
from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.recall.recall import Question, recall
from agent_memory.core.write.commit import SELF, commit_after_reading, connect
from agent_memory.core.write.forget import DERIVED_FROM
from agent_memory.models.answer import Recalled
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.kinds.knowledge import Entity, Fact
from agent_memory.models.moment import from_micros
from agent_memory.models.record import Link, Record
from agent_memory.ports.changes import Expect

ABOUT = "ABOUT"
DEEPEST = 6


class Semantic(Namespace):
    """What is known: who and what there is, what is claimed of them, how they hang together."""

    @operation("semantic.upsert_entity", permission=Permission.WRITE)
    def upsert_entity(self, entity: Entity) -> Entity:
        """Store an entity. The same id, or the same name and type, is updated: aliases and properties are merged,
        and a missing description erases nothing."""
        merged: list[Entity] = []

        def read() -> tuple[Draft, Expect]:
            old = self._known(entity)
            whole = entity if old is None else _merged(entity, old)
            merged[:] = [whole]
            if old is None:
                return whole.draft(), Expect(0, kind="entity", key=joined_key(entity.name, entity.type))
            return whole.draft(), Expect(old.version, id=old.id)

        client = self._client
        commit_after_reading(client.runtime.writing, read, client.author(), client.now())
        return merged[0]

    @operation("semantic.store_fact", permission=Permission.WRITE)
    def store_fact(self, fact: Fact) -> Fact:
        """Store a claim. The same claim again is the same fact; a claim about the same subject and predicate
        supersedes the one before, which stays true for its own time."""
        stored: list[Fact] = []

        def read() -> tuple[Draft, Expect]:
            draft = fact.draft()
            old = self._client.runtime.store.records.by_key(self._client.view(), "fact", draft.key or "")
            whole = fact if old is None else _same_claim(fact, old)
            stored[:] = [whole]
            return replace(whole.draft(), links=tuple(_sources(whole))), Expect(
                self._version(old), kind="fact", key=draft.key
            )

        client = self._client
        commit_after_reading(client.runtime.writing, read, client.author(), client.now())
        return stored[0]

    @operation("semantic.vector_search_facts")
    def vector_search_facts(
        self, query_embedding: list[float], top_k: int = 10, min_confidence: float = 0.5
    ) -> list[dict[str, Any]]:
        """Facts nearest to a vector, those at least this certain."""
        found = [hit for hit in self._near("fact", query_embedding, 200) if hit.record.confidence >= min_confidence]
        return [
            {**_fact_shown(hit.record), "score": hit.why.similarity}
            for hit in found[:top_k]
            if hit.why.similarity is not None
        ]

    @operation("semantic.vector_search_entities")
    def vector_search_entities(self, query_embedding: list[float], top_k: int = 10) -> list[dict[str, Any]]:
        """Entities nearest to a vector."""
        return [
            {**self._entity_shown(hit.record), "score": hit.why.similarity}
            for hit in self._near("entity", query_embedding, top_k)
            if hit.why.similarity is not None
        ]

    @operation("semantic.get_entity")
    def get_entity(self, id: str) -> Entity:
        """One entity, with how often and when last it was recalled."""
        view = self._client.view()
        found = self._client.runtime.store.records.get(view, [id])
        if not found or found[0].kind != "entity":
            raise NotFound(f"no entity {id!r}", field="id")
        count, last = self._client.runtime.store.receipts.accesses(view, [id]).get(id, (0, 0))
        return Entity.of(found[0], (count, from_micros(last)) if count else None)

    @operation("semantic.get_entity_graph")
    def get_entity_graph(self, entity_ids: list[str], depth: int = 2) -> dict[str, Any]:
        """Entities around some entities, how they are related and how far, and the facts about all of them."""
        if not 1 <= depth <= DEEPEST:
            raise InvalidInput(f"depth: {depth}; use 1 to {DEEPEST}", field="depth")
        view, records = self._client.view(), self._client.runtime.store.records
        start = [record for record in records.get(view, entity_ids) if record.kind == "entity"]
        facts: dict[str, Record] = {}
        related: list[dict[str, Any]] = []
        seen, frontier = {record.id for record in start}, [record.id for record in start]
        for distance in range(1, depth + 2):
            reached = []
            for found in records.walk(view, frontier, depth=1):
                if found.record.kind == "fact" and found.link.type == ABOUT:
                    facts[found.record.id] = found.record
                elif found.record.kind == "entity" and found.record.id not in seen and distance <= depth:
                    seen.add(found.record.id)
                    reached.append(found.record.id)
                    shown = self._entity_shown(found.record)
                    related.append({"entity": shown, "relationship": found.link.type, "path_length": distance})
            frontier = reached
        return {
            "entities": [self._entity_shown(record) for record in start],
            "related": related,
            "facts": [_fact_shown(fact) for fact in facts.values()],
        }

    @operation("semantic.create_relationship", permission=Permission.WRITE)
    def create_relationship(
        self, source_id: str, target_id: str, rel_type: str, properties: dict[str, Any] | None = None
    ) -> Link:
        """Relate two entities by an upper-case type such as WORKS_FOR; `weight` among the properties is its weight."""
        if not rel_type.replace("_", "").isalnum() or rel_type != rel_type.upper():
            raise InvalidInput(
                f"rel_type: {rel_type!r}", hint="use an upper-case name such as WORKS_FOR", field="rel_type"
            )
        rest = dict(properties or {})
        weight = rest.pop("weight", 1.0)
        link = Link(source_id=source_id, target_id=target_id, type=rel_type, weight=weight, properties=rest)
        client = self._client
        client.runtime.store.records.apply([connect(link)], author=client.author(), now=client.now())
        return link

    def _known(self, entity: Entity) -> Record | None:
        records, view = self._client.runtime.store.records, self._client.view()
        by_id = [record for record in records.get(view, [entity.id]) if record.kind == "entity"]
        return by_id[0] if by_id else records.by_key(view, "entity", joined_key(entity.name, entity.type))

    def _version(self, old: Record | None) -> int:
        """The newest version of a record: a fact that holds now need not be the last one written."""
        if old is None:
            return 0
        return max(one.version for one in self._client.runtime.store.records.history(self._client.view(), old.id))

    def _near(self, kind: str, vector: list[float], k: int) -> Recalled:
        view, chosen = asked(self._client, {"kinds": [kind]})
        return recall(self._client.runtime.recalling, Question("", view, chosen, k, MEANING, vector))

    def _entity_shown(self, record: Record) -> dict[str, Any]:
        return Entity.of(record).model_dump(mode="json", exclude={"embedding", "last_accessed", "access_count"})


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


def _same_claim(new: Fact, old: Record) -> Fact:
    """A claim that is repeated keeps what it was already connected with."""
    kept: dict[str, Any] = {"id": old.id}
    if old.text == new.claim:
        before = Fact.of(old)
        kept["entity_ids"] = list(dict.fromkeys([*before.entity_ids, *new.entity_ids]))
        kept["source_turn_id"] = new.source_turn_id or before.source_turn_id
    return new.model_copy(update=kept)


def _sources(fact: Fact) -> list[Link]:
    links = [Link(source_id=SELF, target_id=entity, type=ABOUT) for entity in fact.entity_ids]
    if fact.source_turn_id is not None:
        links.append(Link(source_id=SELF, target_id=fact.source_turn_id, type=DERIVED_FROM))
    return links


def _fact_shown(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "claim": record.text,
        "confidence": record.confidence,
        "source": record.source,
        "entities": record.payload.get("entity_ids", []),
        "created_at": record.valid_from.isoformat(),
    }
