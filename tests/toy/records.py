"""Records and search, on the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from tests.toy.feed import ToyJobs
from tests.toy.proof import ToyEvidence
from tests.toy.shop import Base, Port
from tests.toy.stock import TableStock
from tests.toy.tables import Tables

from agent_memory.ledger import proof, spaces
from agent_memory.ledger import rebuild as rebuilding
from agent_memory.ledger.groups import Answer, Groups
from agent_memory.ledger.journal import ADOPT, OPERATIONS
from agent_memory.ledger.plan import plan
from agent_memory.ledger.proof import ProofRequest
from agent_memory.ledger.request import Request, wanted
from agent_memory.ledger.rows import Lack
from agent_memory.ledger.shelves.shelves import Shelves
from agent_memory.ledger.tenants import another
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.record import SHARED, Record, Scope
from agent_memory.ports.changes import Applied, Author, Change, Expect, Mark, Once, Vector, Verified
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Work
from agent_memory.ports.index import Embedded, Sampled, Snapshot, Unembedded
from agent_memory.ports.records import Analysis, Checker, View


class ToyRecords(Port):
    def __init__(self, base: Base) -> None:
        super().__init__(base)
        self.groups = Groups(self.together)

    def apply(
        self,
        changes: Sequence[Change],
        *,
        author: Author,
        now: int,
        expect: Sequence[Expect] = (),
        once: Once | None = None,
        work: Work | None = None,
    ) -> Applied:
        return self.groups.apply(Request(changes, author, now, expect, once, work))

    def together(self, requests: Sequence[Request]) -> Sequence[Answer]:
        fails = self.base.fails
        with self.base.writing() as shop:
            tables = shop.of(requests[0].author.scope.tenant)
            fails("read")
            present = tables.read(wanted(requests))
            works = {one.work: ToyJobs(shop).standing(one.work) for one in requests if one.work}
            fails("plan")
            rows, answers = plan(requests, replace(present, works=works))
            fails("write")
            tables.write(rows)
            for cursor in rows.cursors:
                ToyJobs(shop).move(cursor)
        return answers

    def __getattr__(self, name: str) -> Any:
        """All that takes a view is the reader's."""
        return lambda view, *asked, **how: getattr(self.read(view), name)(*asked, **how)

    def head(self, scope: Scope, kind: str, *, key: str | None = None, id: str | None = None) -> Record | None:
        return self.read(View(scope, 0)).head(scope, kind, key, id)

    def agents(self, tenant: str, user: str) -> list[str]:
        told = {line.scope for line in self.shop.of(tenant).lines if line.scope is not None}
        return sorted(one.agent for one in told if one.user == user and one.agent != SHARED)

    def seq_at(self, tenant: str, moment: int) -> int:
        return sum(line.at <= moment for line in self.shop.of(tenant).lines)

    def verify(
        self, tenant: str | None, derive: Checker | None = None, expect: Mark | None = None, *, alone: bool = False
    ) -> Verified:
        asked = ProofRequest(tenant, expect, alone)
        return proof.verify(ToyEvidence(self.shop, asked), asked, derive)

    def rebuild(self, analysis: Analysis) -> Mapping[str, int]:
        with self.base.writing() as shop:
            shop.vocabulary = analysis.vocabulary
            for tables in map(shop.of, shop.tenants):
                for number, row in tables.contents.items():
                    kind, body = tables.versions[number].kind, row.body
                    derived = rebuilding.derived(analysis, kind, body.text, None, body.payload)
                    tables.contents[number] = row._replace(terms=derived.terms, fields=derived.fields)
                for id, (line, told) in tables.receipts.items():
                    terms = rebuilding.asked(analysis, line.body, line.terms)
                    tables.receipts[id] = (line._replace(terms=terms), told)
                for space in tables.spaces[:1]:
                    pend(tables, space, [row.content for row in tables.vectors if row.space == space])
            shop.store.append(spaces.adopting(shop.head, spaces.REBUILT))
            return {"contents": sum(len(one.contents) for one in shop.tenants.values()), "views": 0}

    def stats(self, view: View) -> dict[str, Any]:
        tables, scopes = self.shop.of(view.scope.tenant), view.scope.readable()
        mine = [row for row in tables.versions.values() if row.place.scope in scopes]
        times = [tables.accesses[row.version] for row in mine if row.version in tables.accesses]
        kinds = Counter(kind for _, kind in {(row.place, row.kind) for row in mine if row.ended is None})
        lacks = [lack for lack in tables.lacks.values() if lack.space in tables.spaces[:1]]
        last = max(map(max, times), default=None)
        return {
            "kinds": dict(sorted(kinds.items())),
            "records": len({row.place for row in mine}),
            "versions": len(mine),
            "links": sum(row.scope in scopes for row in tables.links.values()),
            "vectors": sum(row.scope in scopes for row in tables.vectors),
            "receipts": sum(line.view.scope in scopes for line, _ in tables.receipts.values()),
            "pending_vectors": sum(lack.scope in scopes for lack in lacks),
            "accesses": {"records": len(times), "times": sum(map(len, times)), "last": last},
            "seq": tables.head.seq,
            "space": tables.spaces[0].fingerprint if tables.spaces else None,
            "bytes_on_disk": 0,
            "scrub_owed_since": None,
        }

    def prepare(self, kinds: Iterable[Kind]) -> None: ...


def pend(tables: Tables, space: Space, but: Collection[int]) -> None:
    for number in tables.contents.keys() - set(but):
        scope = tables.versions[number].place.scope
        tables.lacks.setdefault((number, space), Lack(number, scope, space, 0))


class ToyIndex(Port):
    def __init__(self, base: Base) -> None:
        super().__init__(base)
        shelves = Shelves(lambda tenant: nullcontext(self._opened(tenant)))
        self.gather, self.occurring, self.called, self.steps = (
            *(shelves.gather, shelves.occurring),
            *(shelves.called, shelves.steps),
        )

    def _opened(self, tenant: str) -> TableStock:
        tables = self.shop.of(tenant)
        return TableStock(tables, founded=self.shop.founded(tables))

    def snapshot(self, scope: Scope) -> Snapshot:
        return self._opened(scope.tenant).snapshot(scope)

    def hydrate(self, view: View, handles: Sequence[int]) -> list[Record]:
        reader = self.read(view)
        versions = reader.tables.versions
        mine = [versions[one] for one in handles if one in versions]
        return [reader.record(row) for row in mine if row.place.scope in reader.scopes]

    def damaged(self, view: View, handles: Collection[int]) -> int:
        return 0

    def space(self) -> Space | None:
        return self.shop.spaces[0] if self.shop.spaces else None

    def adopted(self, after: int) -> bool:
        name = self.shop.spaces[0].fingerprint if self.shop.spaces else None
        lines = self.shop.store[after:]
        return any((line.operation, line.reason) == (OPERATIONS[ADOPT], name) for line in lines)

    def begin(self, space: Space, *, anew: bool = False) -> None:
        with self.base.writing() as shop:
            step = spaces.beginning(shop.spaces, space, anew=anew)
            shop.spaces += (space,) if step.new else ()
            for tables in shop.tenants.values():
                if step.again:
                    tables.lacks = {place: lack for place, lack in tables.lacks.items() if place[1] != space}
                if step.again or step.new:
                    pend(tables, space, [row.content for row in tables.vectors if row.space == space and _brought(row)])
            if step.first:
                shop.store.append(spaces.adopting(shop.head, space.fingerprint))

    def switch(self, space: Space, *, anew: bool = False) -> None:
        with self.base.writing() as shop:
            if spaces.switches(shop.spaces, space, self.pending(space), anew=anew):
                shop.spaces = (space,)
                for tables in shop.tenants.values():
                    tables.vectors = [row for row in tables.vectors if row.space == space]
                    tables.lacks = {place: lack for place, lack in tables.lacks.items() if place[1] == space}
                shop.store.append(spaces.adopting(shop.head, space.fingerprint))

    def sample(self, space: Space, count: int) -> list[Sampled]:
        return [
            Sampled(tenant, row.content, tables.contents[row.content].body.text[start:end], row.vector)
            for tenant, tables in self.shop.tenants.items()
            for row in tables.vectors
            for start, end in ((row.vector.start, row.vector.end),)
            if row.space == space and not _brought(row)
        ][:count]

    def vectors(self, view: View, handles: Sequence[int]) -> Mapping[int, tuple[Vector, ...]]:
        tables, scopes = self.shop.of(view.scope.tenant), view.scope.readable()
        mine = {one: tables.versions[one] for one in handles if one in tables.versions}
        found = {
            one: tuple(made.vector for made in tables.vectors if (made.content, made.space) == (row.content, space))
            for one, row in mine.items()
            for space in self.shop.spaces[:1]
            if row.place.scope in scopes and (row.content, space) not in tables.lacks
        }
        return {one: vectors for one, vectors in found.items() if vectors}

    def pending(self, space: Space, view: View | None = None) -> int:
        return sum(len(self._lacking(one, space, view)) for one in self.shop.tenants)

    def unembedded(self, space: Space, view: View | None, limit: int) -> list[Unembedded]:
        for tenant, tables in sorted(self.shop.tenants.items()):
            if mine := self._lacking(tenant, space, view):
                texts = {number: row.body.text for number, row in tables.contents.items()}
                store = len(self.shop.store)
                return [Unembedded(tenant, one.content, texts[one.content], one.part, store) for one in mine[:limit]]
        return []

    def _lacking(self, tenant: str, space: Space, view: View | None) -> list[Lack]:
        lacks = [lack for lack in self.shop.tenants[tenant].lacks.values() if lack.space == space]
        mine = [lack for lack in lacks if view is None or lack.scope in view.scope.readable()]
        return sorted(mine, key=lambda lack: -lack.content)

    def embedded(
        self,
        space: Space,
        tenant: str,
        batch: Sequence[Embedded],
        *,
        now: int,
        wait: bool = True,
        work: Work | None = None,
    ) -> None:
        with self.base.writing() as shop:
            if work is not None:
                ToyJobs(shop).go_on(work)
            tables = shop.of(tenant)
            batch = [one for one in batch if not another(shop.founded(tables), one.store, one.handle)]
            lacking = {content: lack for (content, one), lack in tables.lacks.items() if one == space}
            filled = spaces.embedded(batch, lacking, tables.head, tables.scopes, now)
            tables.lines += filled.lines
            for lack, part in filled.left:
                place = (lack.content, space)
                if not lack.part:
                    tables.vectors = [row for row in tables.vectors if (row.content, row.space) != place]
                tables.lacks.pop(place, None)
                if part is not None:
                    tables.lacks[place] = lack._replace(part=part)
            tables.vectors += filled.vectors


def _brought(row: Any) -> bool:
    return bool(row.vector.start == row.vector.end == 0)
