"""A stock out of the simplest tables: what a shelf is told, and a list of what it asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.toy.tables import Tables

from agent_memory.ledger.journal import ADOPT, NAMES
from agent_memory.ledger.quantise import quantised
from agent_memory.ledger.rows import Ended, VectorRow, VersionRow
from agent_memory.ledger.shelves.stock import Links, Row, ShelfNews, Vectors, Versions, heard
from agent_memory.models.record import Scope
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import NEVER, Snapshot


@dataclass
class TableStock:
    """`wrong` are cells of versions that are damaged: (version, column) -> what stands there."""

    tables: Tables
    asked: list[tuple[object, ...]] = field(default_factory=list)
    wrong: dict[tuple[int, str], object] = field(default_factory=dict)
    founded: int = 0  # the line of the store that tells of the tenant

    @property
    def seq(self) -> int:
        return self.tables.lines[-1].seq if self.tables.lines else 0

    vocabularies = ()
    era = 0

    @property
    def adopted(self) -> int:
        return max((self.founded, *(line.seq for line in self.tables.store if NAMES[line.operation] == ADOPT)))

    @property
    def space(self) -> Space | None:
        return self.tables.spaces[0] if self.tables.spaces else None

    def snapshot(self, scope: Scope) -> Snapshot:
        lasts = {one: self._last(one) for one in scope.readable() if one in self.tables.scopes}
        lacks = [lack for lack in self.tables.lacks.values() if lack.space == self.space]
        pending = sum(lack.scope in lasts for lack in lacks)
        written = () if self.tables.vocabulary is None else (self.tables.vocabulary,)
        return Snapshot(scope, self.seq, len(self.tables.store), self.adopted, lasts, self.space, pending, written)

    def _last(self, scope: Scope) -> int:
        return max((line.seq for line in self.tables.lines if line.scope == scope), default=0)

    def follow(self, scope: Scope, after: int, until: int | None = None) -> ShelfNews:
        self.asked.append(("follow", scope, after))
        last = self.seq if until is None else until
        lines = [line for line in self.tables.lines if after < line.seq <= last and line.scope == scope]
        told = heard((line.operation, line.record) for line in lines if after)
        new = [row for row in self._new(scope, after) if row.version <= last]
        contents = [self.tables.contents[number] for number in sorted({row.content for row in new})]
        contents = [one for one in contents if one.content > after]
        vectors = [
            row
            for row in self.tables.vectors
            if after < row.line <= last and row.scope == scope and row.space == self.space
        ]
        return ShelfNews(
            Versions(*zip(*map(self._cells, new), strict=True)) if new else Versions(),
            [(one.content, one.terms.length, one.terms.hashes + one.terms.counts) for one in contents],
            [_vectors(one) for one in vectors],
            [
                Ended(row.version, row.ended)
                for row in self.tables.versions.values()
                if row.place.record in told.changed and row.ended is not None
            ],
            [*told.erased],
        )

    def fields(self, scope: Scope, after: int, name: str) -> Sequence[Row]:
        self.asked.append(("fields", scope, after, name))
        numbers = {row.content for row in self._new(scope, after)}
        return [
            (number, value) for number in numbers for one, value in self.tables.contents[number].fields if one == name
        ]

    def payloads(self, contents: Sequence[int]) -> Mapping[int, Any]:
        self.asked.append(("payloads",))
        return {number: self.tables.contents[number].body.payload for number in contents}

    def links(self, scope: Scope, after: int) -> tuple[Links, Sequence[Ended]]:
        self.asked.append(("links", scope, after))
        rows = [row for row in self.tables.links.values() if row.scope == scope]
        new = [
            (row.link, row.source, row.target, row.type, row.weight, NEVER if row.ended is None else row.ended)
            for row in sorted(rows)
            if row.link > after
        ]
        ended = [Ended(row.link, row.ended) for row in rows if row.link <= after < (row.ended or 0)]
        return Links(*zip(*new, strict=True)) if new else Links(), ended

    def _new(self, scope: Scope, after: int) -> list[VersionRow]:
        rows = self.tables.versions.items()
        return [row for number, row in sorted(rows) if number > after and row.place.scope == scope]

    def _cells(self, row: VersionRow) -> list[object]:
        state = row.state
        ends = [NEVER if end is None else end for end in (state.valid_to, row.ended)]
        cells = [row.version, row.place.record, row.content, state.position or 0, state.importance, state.confidence]
        cells += [state.valid_from, *ends, row.kind, str(state.status), state.conversation_id, state.repository]
        named = zip(Versions._fields, [*cells, state.key], strict=True)
        return [self.wrong.get((row.version, name), cell) for name, cell in named]


def _vectors(row: VectorRow) -> Vectors:
    scale, data = quantised(row.vector.numbers)
    return Vectors([row.line], [row.content], [scale], [data])
