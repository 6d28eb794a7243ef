"""`memory.graph`: what is known, as the official MCP memory server shows it. Names instead of ids.

An entity is an entity of ours, an observation a fact about it, a relation a link between two entities: so recall finds
them, and what `memory.semantic` stores is in the graph, too. Entities and observations that are deleted are forgotten
for real; a relation ends, and stays in the history of links.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Unpack

from agent_memory.app.look import ABOUT, Look
from agent_memory.app.namespaces.asking import Moments
from agent_memory.app.namespaces.records import Records
from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.write.commit import SELF, How, commit, connect, until_settled
from agent_memory.core.write.forget import forget
from agent_memory.core.write.graphfile import merged, parsed
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.graph import (
    Added,
    Deleted,
    Edge,
    Edges,
    Imported,
    KnowledgeGraph,
    Node,
    Nodes,
    Observed,
    Observing,
    Unobserving,
)
from agent_memory.models.kinds.kind import joined_key
from agent_memory.models.kinds.knowledge import Entity
from agent_memory.models.record import Link, Record, Status
from agent_memory.ports.changes import Change, Disconnect, Effect, Erase, Expect

LONGEST_QUERY = 2048


class Graph(Namespace):
    """The knowledge graph of the official MCP memory server: entities, observations, relations."""

    @operation(
        "graph.create_entities",
        "POST /graph/entities",
        permission=Permission.WRITE,
        toolset="compat/create_entities",
    )
    def create_entities(self, entities: list[Node]) -> Nodes:
        """Create multiple new entities in the knowledge graph. Those whose name is known are left as they are."""

        def attempt(there: list[Record]) -> Nodes:
            known = {record.payload["name"] for record in there}
            new = [one for one in merged(list(entities)) if one.name not in known]
            drafts, expect, made = self._drafts(new)
            if made:
                client = self._client
                commit(client.runtime.writing, drafts, client.author(), client.now(), How(expect=expect))
            return Nodes(entities=made)

        return until_settled(attempt, lambda: self._look().named([one.name for one in entities]))

    @operation(
        "graph.create_relations",
        "POST /graph/relations",
        permission=Permission.WRITE,
        toolset="compat/create_relations",
    )
    def create_relations(self, relations: list[Edge]) -> Edges:
        """Create multiple new relations between entities in the knowledge graph. Relations should be in active voice.

        Both entities must exist. Relations that are known are left as they are.
        """
        ids = self._ids({end for one in relations for end in (one.source, one.target)})
        wanted = list(dict.fromkeys(relations))
        links = [Link(source_id=ids[one.source], target_id=ids[one.target], type=one.relation_type) for one in wanted]
        known = {_ends(link) for link in self._look().links(list(ids.values()))}
        new = [(one, link) for one, link in zip(wanted, links, strict=True) if _ends(link) not in known]
        if new:
            self._apply([connect(link) for _, link in new])
        return Edges(relations=[one for one, _ in new])

    @operation(
        "graph.add_observations",
        "POST /graph/observations",
        permission=Permission.WRITE,
        toolset="compat/add_observations",
    )
    def add_observations(self, observations: list[Observing]) -> Observed:
        """Add new observations to existing entities in the knowledge graph. Those that are known are passed over."""
        ids = self._ids({one.entity_name for one in observations})
        told = self._look().observations(list(ids.values()))
        seen = {name: {fact.text for fact in told.get(id, ())} for name, id in ids.items()}
        results, drafts = [], []
        for one in observations:
            fresh = [text for text in dict.fromkeys(one.contents) if text not in seen[one.entity_name]]
            seen[one.entity_name].update(fresh)
            drafts += [_observation(ids[one.entity_name], text) for text in fresh]
            results.append(Added(entity_name=one.entity_name, added_observations=fresh))
        if drafts:
            client = self._client
            commit(client.runtime.writing, drafts, client.author(), client.now())
        return Observed(results=results)

    @operation(
        "graph.delete_entities",
        "POST /graph/entities/delete",
        permission=Permission.WRITE,
        toolset="compat/delete_entities",
        erases=True,
    )
    def delete_entities(self, entity_names: list[str]) -> Deleted:
        """Delete multiple entities and their associated relations from the knowledge graph. They are forgotten for
        real, with the observations about them alone."""
        found = self._look().named(entity_names)
        gone = {record.id for record in found}
        facts = [fact for several in self._look().observations(list(gone)).values() for fact in several]
        alone = [fact.id for fact in facts if gone.issuperset(fact.payload.get("entity_ids", ()))]
        if found:
            client = self._client
            client.runtime.receipts.flush()
            forget(client.runtime.store.records, [*gone, *alone], client.author(), client.now())
        known = {record.payload["name"] for record in found}
        absent = [name for name in entity_names if name not in known]
        if not absent:
            return Deleted(success=True, message="Entities deleted successfully")
        count = f"Deleted {len(entity_names) - len(absent)} of {len(entity_names)} entities."
        return Deleted(success=True, message=f"{count} Not found: {', '.join(absent)}")

    @operation(
        "graph.delete_observations",
        "POST /graph/observations/delete",
        permission=Permission.WRITE,
        toolset="compat/delete_observations",
        erases=True,
    )
    def delete_observations(self, deletions: list[Unobserving]) -> Deleted:
        """Delete specific observations from entities in the knowledge graph. They are forgotten for real; a fact that
        is about others, too, stays with them."""
        ids = {
            record.payload["name"]: record.id for record in self._look().named([one.entity_name for one in deletions])
        }
        told = self._look().observations(list(ids.values()))
        changes: dict[tuple[str, str], Change] = {}
        for one in deletions:
            id = ids.get(one.entity_name, "")
            for fact in told.get(id, ()):
                if fact.text in one.observations:
                    changes[fact.id, id] = self._without(fact, id)
        if changes:
            self._client.runtime.receipts.flush()
            self._apply(list(changes.values()))
        asked = sum(len(one.observations) for one in deletions)
        if len(changes) == asked:
            return Deleted(success=True, message="Observations deleted successfully")
        absent = [one.entity_name for one in deletions if one.entity_name not in ids]
        rest = f" Entities not found: {', '.join(absent)}" if absent else ""
        return Deleted(success=True, message=f"Deleted {len(changes)} of {asked} observations.{rest}")

    @operation(
        "graph.delete_relations",
        "POST /graph/relations/delete",
        permission=Permission.WRITE,
        toolset="compat/delete_relations",
        erases=True,
    )
    def delete_relations(self, relations: list[Edge]) -> Deleted:
        """Delete multiple relations from the knowledge graph. They end; that they were stays in the journal."""
        named = self._look().named([end for one in relations for end in (one.source, one.target)])
        ids = {record.payload["name"]: record.id for record in named}
        asked = {(ids.get(one.source), ids.get(one.target), one.relation_type) for one in relations}
        ends = [link for link in self._look().links(list(ids.values())) if _ends(link) in asked]
        if ends:
            self._apply([Disconnect(link.source_id, link.target_id, link.type) for link in ends])
        if len(ends) == len(relations):
            return Deleted(success=True, message="Relations deleted successfully")
        count = f"Deleted {len(ends)} of {len(relations)} relations."
        return Deleted(success=True, message=f"{count} The rest matched nothing.")

    @operation("graph.read", "GET /graph", toolset="compat/read_graph memory://knowledge-graph")
    def read(self, **at: Unpack[Moments]) -> KnowledgeGraph:
        """Read the entire knowledge graph."""
        look = self._look(**at)
        return look.around(look.all())

    @operation("graph.search", "GET /graph/search", toolset="compat/search_nodes")
    def search(self, query: str, **at: Unpack[Moments]) -> KnowledgeGraph:
        """Search for nodes in the knowledge graph based on a query. It is looked for, without regard to case, in names,
        types and observations."""
        if len(query) > LONGEST_QUERY:
            raise InvalidInput(f"query: {len(query)} characters; the limit is {LONGEST_QUERY}", field="query")
        sought, look = query.lower(), self._look(**at)
        entities = look.all()
        told = look.observations([record.id for record in entities])

        def fits(record: Record) -> bool:
            texts = [record.payload["name"], record.payload["type"], *(fact.text for fact in told.get(record.id, ()))]
            return any(sought in text.lower() for text in texts)

        return look.around([record for record in entities if fits(record)])

    @operation("graph.open", "POST /graph/open", toolset="compat/open_nodes")
    def open(self, names: list[str], **at: Unpack[Moments]) -> KnowledgeGraph:
        """Open specific nodes in the knowledge graph by their names."""
        look = self._look(**at)
        return look.around(look.named(names))

    @operation("graph.load", "POST /graph/load", permission=Permission.WRITE)
    def load(self, text: str, skip_bad: bool = False) -> Imported:
        """Take over the JSONL file of the official MCP memory server, all of it or nothing. Twice is the same as once.

        Entities that are known get the observations that are new. Lines that are no entity and no relation, and
        relations of entities that are nowhere, are named by number, and nothing is written unless `skip_bad`.
        """
        nodes, edges, bad = parsed(text)
        entities = merged(list(nodes.values()))

        def attempt(found: list[Record]) -> Imported:
            known = {record.payload["name"]: record.id for record in found}
            there = known.keys() | {one.name for one in entities}
            wrong = dict(bad)
            for number, edge in edges.items():
                if lost := [end for end in (edge.source, edge.target) if end not in there]:
                    wrong[number] = f"no entity {lost[0]!r}"
            if wrong and not skip_bad:
                raise _unreadable(wrong)
            return self._take(entities, [edge for number, edge in edges.items() if number not in wrong], known, wrong)

        return until_settled(attempt, lambda: self._look().named(_names(entities, edges.values())))

    def _take(self, entities: list[Node], edges: list[Edge], known: dict[str, str], wrong: dict[int, str]) -> Imported:
        drafts, expect, _ = self._drafts([one for one in entities if one.name not in known])
        ids = known | {str(draft.payload["name"]): str(draft.id) for draft in drafts if draft.kind == "entity"}
        drafts += [
            _observation(known[one.name], text) for one in entities if one.name in known for text in one.observations
        ]
        links = [
            Link(source_id=ids[one.source], target_id=ids[one.target], type=one.relation_type)
            for one in dict.fromkeys(edges)
        ]
        client = self._client
        how = How(embed=False, expect=expect, links=links)
        applied = commit(client.runtime.writing, drafts, client.author("import"), client.now(), how)
        kinds = [part for draft in drafts for part in (draft.kind, *("about" for _ in draft.links))]
        effects = list(zip([*kinds, *("link" for _ in links)], applied.outcomes, strict=True))
        fresh = [kind for kind, outcome in effects if outcome.effect is Effect.CREATED]
        return Imported(
            entities=fresh.count("entity"),
            observations=fresh.count("fact"),
            relations=fresh.count("link"),
            known=sum(kind != "about" for kind, _ in effects)
            - len([kind for kind in fresh if kind != "about"])
            + sum(one.name in known for one in entities),
            bad=[f"line {number}: {why}" for number, why in sorted(wrong.items())],
        )

    def _drafts(self, nodes: Sequence[Node]) -> tuple[list[Draft], list[Expect], list[Node]]:
        """Entities with their observations, written only if nobody has written them meanwhile. One that differs only
        in case from another of its type is that other one."""
        drafts: list[Draft] = []
        expect: dict[str, Expect] = {}
        made: list[Node] = []
        for node in nodes:
            key = joined_key(node.name, node.entity_type)
            old = self._client.own("entity", key=key)
            if key in expect or (old is not None and old.status == Status.ACTIVE):
                continue
            entity = Entity(name=node.name, type=node.entity_type, first_seen=self._client.clock.now())
            entity = entity if old is None else entity.model_copy(update={"id": old.id})
            expect[key] = Expect(0, kind="entity", key=key) if old is None else Expect(old.version, id=old.id)
            drafts += [entity.draft(), *(_observation(entity.id, text) for text in dict.fromkeys(node.observations))]
            made.append(node)
        return drafts, list(expect.values()), made

    def _without(self, fact: Record, id: str) -> Change:
        """What takes an observation away from an entity: forgetting it, unless it is about others, too."""
        others = [other for other in fact.payload.get("entity_ids", ()) if other != id]
        if not others:
            return Erase(fact.id, with_derived=True)
        Records(self._client).edit(fact.id, payload={"entity_ids": others})
        return Disconnect(fact.id, id, ABOUT)

    def _apply(self, changes: list[Change]) -> None:
        client = self._client
        client.runtime.store.records.apply(changes, author=client.author(), now=client.now())

    def _look(self, **at: Unpack[Moments]) -> Look:
        return Look(self._client.runtime.store.records, self._client.view(at.get("as_of"), at.get("valid_at")))

    def _ids(self, names: set[str]) -> dict[str, str]:
        """Of several entities with one name, the oldest."""
        ids: dict[str, str] = {}
        for record in self._look().named(sorted(names)):
            ids.setdefault(record.payload["name"], record.id)
        if lost := sorted(names - ids.keys()):
            raise NotFound(f"Entity with name {lost[0]} not found", hint="create it first", field="name")
        return ids


def _observation(entity_id: str, text: str) -> Draft:
    """The same text about the same entity is the same fact."""
    digest = hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()
    return Draft(
        kind="fact",
        text=text,
        payload={"entity_ids": [entity_id]},
        key=f"graph {entity_id} {digest}",
        source="extraction",
        confidence=0.8,
        links=(Link(source_id=SELF, target_id=entity_id, type=ABOUT),),
    )


def _ends(link: Link) -> tuple[str, str, str]:
    return link.source_id, link.target_id, link.type


def _names(entities: Iterable[Node], edges: Iterable[Edge]) -> list[str]:
    return [*(one.name for one in entities), *(end for one in edges for end in (one.source, one.target))]


def _unreadable(wrong: dict[int, str]) -> InvalidInput:
    first = [f"line {number}: {why}" for number, why in sorted(wrong.items())[:5]]
    more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    return InvalidInput(
        f"text: {'; '.join(first)}{more}",
        hint="correct them, or pass skip_bad to take over the rest; nothing was written",
        field="text",
    )
