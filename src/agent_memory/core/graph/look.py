"""The knowledge graph as one reader sees it at one moment: entities, what was told about them, and their relations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from agent_memory.core.graph.draft import ABOUT, MENTIONED
from agent_memory.models.graph import Edge, KnowledgeGraph, Node
from agent_memory.models.record import Link, Record, Status
from agent_memory.ports.records import Filter, RecordStore, View

PAGE = 1000


class GraphLook(NamedTuple):
    records: RecordStore
    view: View

    def all(self, *, mentioned: bool = False) -> list[Record]:
        """Every entity, the oldest first; or those that are only mentioned."""
        found: list[Record] = []
        last: str | None = None
        where = _MENTIONED if mentioned else Filter(kinds=("entity",))
        while page := self.records.find(self.view, where, limit=PAGE, after=last, oldest_first=True):
            found += page
            last = page[-1].id
        return sorted(found, key=lambda record: record.seq)

    def named(self, names: Iterable[str], *, mentioned: bool = False) -> list[Record]:
        """The entities with exactly these names, the oldest first; or those that are only mentioned."""
        found: list[Record] = []
        where = _MENTIONED if mentioned else Filter(kinds=("entity",))
        for name in dict.fromkeys(names):
            fields = (*where.fields, ("name", name))
            found += self.records.find(self.view, where._replace(fields=fields), limit=PAGE)
        return sorted(found, key=lambda record: record.seq)

    def links(self, ids: Sequence[str]) -> list[Link]:
        return self.records.links(self.view, ids) if ids else []

    def relations(self, names: Sequence[str]) -> dict[Edge, list[Link]]:
        """The relations between entities of these names, created or mentioned."""
        records = [*self.named(names), *self.named(names, mentioned=True)]
        called = {record.id: record.payload["name"] for record in records}
        found: dict[Edge, list[Link]] = {}
        for link in self.links(list(called)):
            if link.source_id in called and link.target_id in called:
                edge = Edge(source=called[link.source_id], target=called[link.target_id], relation_type=link.type)
                found.setdefault(edge, []).append(link)
        return found

    def left_alone(self, mentioned: Sequence[Record], gone: Collection[tuple[str, str, str]]) -> list[str]:
        """Those of the mentioned that no relation names any more when these are gone."""
        named = {
            end for link in self.links([one.id for one in mentioned]) if link.ends not in gone for end in link.ends[:2]
        }
        return [one.id for one in mentioned if one.id not in named]

    def observations(self, ids: Sequence[str]) -> dict[str, list[Record]]:
        """The facts about each of these entities, in the order in which they were told."""
        about = [link for link in self.links(ids) if link.type == ABOUT and link.target_id in set(ids)]
        facts = self._standing((link.source_id for link in about), "fact")
        told: dict[str, dict[str, Record]] = {}
        for link in about:
            if link.source_id in facts:
                told.setdefault(link.target_id, {})[link.source_id] = facts[link.source_id]
        return {id: sorted(several.values(), key=lambda fact: fact.seq) for id, several in told.items()}

    def around(self, entities: Sequence[Record], mentioned: Sequence[Record] | None = None) -> KnowledgeGraph:
        """These entities, and the relations that start or end at one of them, or at one of those `mentioned`: those of
        the same names, unless they are given."""
        if mentioned is None:
            mentioned = self.named([record.payload["name"] for record in entities], mentioned=True)
        ids = [record.id for record in entities]
        links = self.links([*ids, *(record.id for record in mentioned)])
        ends = {end for link in links for end in (link.source_id, link.target_id)}
        names = {id: record.payload["name"] for id, record in self._standing(ends, "entity").items()}
        told = self.observations(ids)
        return KnowledgeGraph(
            entities=[
                Node(
                    name=record.payload["name"],
                    entity_type=record.payload["type"],
                    observations=[fact.text for fact in told.get(record.id, ())],
                )
                for record in entities
            ],
            relations=list(
                dict.fromkeys(
                    Edge(source=names[link.source_id], target=names[link.target_id], relation_type=link.type)
                    for link in links
                    if link.source_id in names and link.target_id in names
                )
            ),
        )

    def searched(self, query: str) -> KnowledgeGraph:
        """What has these words, whatever their case, in a name, a type or an observation, and what is around it."""
        sought, entities = query.lower(), self.all()
        told = self.observations([record.id for record in entities])

        def fits(record: Record) -> bool:
            texts = [record.payload["name"], record.payload["type"], *(fact.text for fact in told.get(record.id, ()))]
            return any(sought in text.lower() for text in texts)

        return self.around([record for record in entities if fits(record)])

    def _standing(self, ids: Iterable[str], kind: str) -> dict[str, Record]:
        found = self.records.get(self.view, sorted(set(ids)))
        stands = [one for one in found if one.status == Status.ACTIVE or is_mention(one)]
        return {one.id: one for one in stands if one.kind == kind}


_MENTIONED = Filter(kinds=("entity",), statuses=(Status.ARCHIVED,), fields=(("type", MENTIONED),))


def is_mention(record: Record) -> bool:
    return (record.status, record.payload.get("type")) == (Status.ARCHIVED, MENTIONED)
