"""A second engine on the ledger, as small as it can be: rows in memory, one lock, a copy of the tables for each write.

What takes part in a write, a fault can strike: `fails` is called before each step of it, and after the last.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from tests.toy.reading import Reader
from tests.toy.stock import TableStock
from tests.toy.tables import Tables, head

from agent_memory.ledger import feed as rules
from agent_memory.ledger import spaces
from agent_memory.ledger.feed import JobRow, Standing
from agent_memory.ledger.journal import (
    ADOPT,
    ERASE,
    GENESIS,
    KEY,
    NAMES,
    OPERATIONS,
    Head,
    Journal,
    Line,
    Signature,
    Subject,
    chained,
    founding,
    genesis,
)
from agent_memory.ledger.plan import plan
from agent_memory.ledger.quantise import quantised, unit
from agent_memory.ledger.request import Request, wanted
from agent_memory.ledger.rows import CursorRow, Lack
from agent_memory.ledger.seals import key_seal
from agent_memory.ledger.shelves.shelves import Shelves
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import Kind, canonical_json
from agent_memory.models.record import Record, Scope
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.changes import Applied, Author, Change, Expect, Mark, Once, Verified, Vocabulary
from agent_memory.ports.debts import Debt, Owed
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Cursor, FeedLine, JobState, Lease, Run, Work
from agent_memory.ports.index import Embedded, Sampled, Snapshot, Unembedded
from agent_memory.ports.receipts import JUST_NOW, RETENTION, Accesses, Kept, ReceiptLine
from agent_memory.ports.records import Analysis, Checker, View
from agent_memory.ports.store import Store
from agent_memory.ports.vectors import Match
from agent_memory.ports.working import Desk

Fails = Callable[[str], None]


@dataclass
class Shop:
    """The tables of every tenant, and what is the store's."""

    tenants: dict[str, Tables] = field(default_factory=dict)
    spaces: tuple[Space, ...] = ()
    vocabulary: Vocabulary | None = None
    store: list[Line] = field(default_factory=list)
    namespaces: dict[tuple[str, str], tuple[Any, str]] = field(default_factory=dict)
    places: dict[str, str | None] = field(default_factory=dict)
    debts: dict[tuple[str, Scope, str], tuple[int, int]] = field(default_factory=dict)
    accesses_since: int = 0  # before, only their number is known
    keys: dict[str, KeyRow] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    jobs: dict[str, JobRow] = field(default_factory=dict)
    cursors: dict[tuple[str, str], Cursor] = field(default_factory=dict)  # the last that moved comes last

    def copied(self) -> Shop:
        shop = Shop(**{one.name: copy(getattr(self, one.name)) for one in fields(self)})
        shop.tenants = {name: tables.copied() for name, tables in self.tenants.items()}
        return shop

    def of(self, tenant: str) -> Tables:
        tables = self.tenants.setdefault(tenant, Tables(beginning=genesis(tenant.encode(), tenant)))
        for name in ("spaces", "vocabulary", "store", "namespaces", "places", "debts"):
            setattr(tables, name, getattr(self, name))
        return tables

    @property
    def head(self) -> Head:
        return head(self.store, GENESIS)

    def settle(self) -> None:
        """What a write leaves for all: who came, and in which words."""
        known = {line.digest for line in self.store}
        for tables in [one for one in self.tenants.values() if one.lines]:
            self.vocabulary = self.vocabulary or tables.vocabulary
            if tables.beginning not in known:
                self.store.append(founding(self.head, len(known) + 1, tables.beginning, tables.at(1)))


class Base:
    def __init__(self, fails: Fails) -> None:
        self.shop, self.lock, self.fails = Shop(), threading.RLock(), fails

    @contextmanager
    def writing(self) -> Iterator[Shop]:
        with self.lock:
            shop = self.shop.copied()
            yield shop
            shop.settle()
            self.fails("commit")
            self.shop = shop
            self.fails("answer")


class Port:
    """What all ports share: the tables as they stand, and one write at a time."""

    def __init__(self, base: Base) -> None:
        self.base = base

    @property
    def shop(self) -> Shop:
        return self.base.shop

    def read(self, view: View) -> Reader:
        return Reader(self.shop.of(view.scope.tenant), view)


def open_toy(fails: Fails = lambda step: None) -> Store:
    base = Base(fails)
    return Store(
        url="toy://",
        records=ToyRecords(base),
        index=ToyIndex(base),
        working=ToyWorking(base),
        receipts=ToyReceipts(base),
        vectors=ToyVectors(base),
        access=ToyAccess(base),
        feed=ToyFeed(base),
        debts=ToyDebts(base),
        close=lambda: None,
        vocabularies=lambda: (base.shop.vocabulary,) if base.shop.vocabulary else (),
    )


class ToyRecords(Port):
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
        request, fails = Request(changes, author, now, expect, once, work), self.base.fails
        with self.base.writing() as shop:
            tables = shop.of(author.scope.tenant)
            fails("read")
            present = tables.read(wanted([request]))
            works = {work: _standing(shop, work)} if work else {}
            fails("plan")
            rows, (answer,) = plan([request], replace(present, works=works))
            if not isinstance(answer, Applied):
                raise answer
            fails("write")
            tables.write(rows)
            _move(shop, rows.cursors)
        return answer

    def __getattr__(self, name: str) -> Any:
        """All that takes a view is the reader's."""
        return lambda view, *asked, **how: getattr(self.read(view), name)(*asked, **how)

    def head(self, scope: Scope, kind: str, *, key: str | None = None, id: str | None = None) -> Record | None:
        return self.read(View(scope, 0)).head(scope, kind, key, id)

    def seq_at(self, tenant: str, moment: int) -> int:
        return sum(line.at <= moment for line in self.shop.of(tenant).lines)

    def verify(
        self, tenant: str | None, derive: Checker | None = None, expect: Mark | None = None, *, alone: bool = False
    ) -> Verified:
        if tenant is None:
            head_of, lines = _mark(self.shop.head), self.shop.store
            lost = expect is not None and expect not in [Mark(line.seq, line.chain.hex()) for line in lines]
            return Verified(head_of.seq, head_of.head, {}, ("not the one that was noted",) if lost else ())
        own = self.shop.of(tenant)
        whole = {None: (self.shop.store, GENESIS)} if not alone else {}
        tenants = {tenant: own} if alone else self.shop.tenants
        journals = {**whole, **{name: (one.lines, one.beginning) for name, one in tenants.items()}}
        problems = [problem for lines, before in journals.values() for problem in _unchained(own, lines, before)]
        for tables in tenants.values() if derive else ():
            problems += _underived(tables, derive)
        heads = {name: _mark(head(*journal)) for name, journal in journals.items() if journal[0]}
        if expect and expect.head not in [line.chain.hex() for line in own.lines if line.seq == expect.seq]:
            problems.append(f"line {expect.seq} is not the one that was noted")
        mark = _mark(own.head)
        checked = {"journal lines": sum(len(lines) for lines, _ in journals.values())}
        return Verified(mark.seq, mark.head, checked, tuple(problems), heads)

    def rebuild(self, analysis: Analysis) -> Mapping[str, int]:
        with self.base.writing() as shop:
            shop.vocabulary = analysis.vocabulary
            for tables in map(shop.of, shop.tenants):
                for number, row in tables.contents.items():
                    derived = analysis.derive(tables.versions[number].kind, row.body.text, row.body.payload)
                    tables.contents[number] = row._replace(terms=derived.terms, fields=derived.fields)
                for id, (line, told) in tables.receipts.items():
                    if (query := json.loads(line.body).get("query")) is not None:
                        tables.receipts[id] = (replace(line, terms=analysis.asked(query)), told)
                for space in tables.spaces[:1]:
                    _pend(tables, space, [row.content for row in tables.vectors if row.space == space])
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


def _mark(head: Head) -> Mark:
    return Mark(head.seq, head.chain.hex())


def _unchained(tables: Tables, lines: Sequence[Line], before: bytes) -> Iterator[str]:
    for line in lines:
        number = tables.scopes.get(line.scope, 0) if line.scope else 0
        said = (line.seq, line.at, line.operation, number, line.record, line.other, line.actor, line.reason)
        if line.scope in (None, *tables.scopes) and chained(before, said, line.digest) != line.chain:
            yield f"line {line.seq} does not follow from the line before it"
        before = line.chain


def _underived(tables: Tables, derive: Checker) -> Iterator[str]:
    name = tables.vocabulary.name if tables.vocabulary else ""
    for row in tables.contents.values():
        again = derive(tables.versions[row.content].kind, row.body.text, row.body.payload, name)
        if again and (again.terms, again.fields) != (row.terms, row.fields):
            yield f"content {row.content}: its words or fields do not follow from it"


def _pend(tables: Tables, space: Space, but: Collection[int]) -> None:
    for number in tables.contents.keys() - set(but):
        scope = tables.versions[number].place.scope
        tables.lacks.setdefault((number, space), Lack(number, scope, space, 0))


class ToyIndex(Port):
    def __init__(self, base: Base) -> None:
        super().__init__(base)
        shelves = Shelves(lambda tenant: nullcontext(TableStock(self.shop.of(tenant))))
        self.gather, self.occurring, self.called, self.steps = (
            *(shelves.gather, shelves.occurring),
            *(shelves.called, shelves.steps),
        )

    def snapshot(self, scope: Scope) -> Snapshot:
        return TableStock(self.shop.of(scope.tenant)).snapshot(scope)

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
            for tables in shop.tenants.values() if anew and shop.spaces[:1] == (space,) else ():
                tables.lacks = {place: lack for place, lack in tables.lacks.items() if place[1] != space}
                _pend(tables, space, [row.content for row in tables.vectors if row.space == space and _brought(row)])
            if space not in shop.spaces:
                shop.spaces += (space,)
                for tables in shop.tenants.values():
                    _pend(tables, space, ())
                if shop.spaces == (space,):
                    shop.store.append(spaces.adopting(shop.head, space.fingerprint))

    def switch(self, space: Space, *, anew: bool = False) -> None:
        with self.base.writing() as shop:
            spaces.complete(space, self.pending(space), known=space in shop.spaces)
            if anew or shop.spaces[0] != space:
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

    def pending(self, space: Space, view: View | None = None) -> int:
        return sum(len(self._lacking(one, space, view)) for one in self.shop.tenants)

    def unembedded(self, space: Space, view: View | None, limit: int) -> list[Unembedded]:
        for tenant, tables in sorted(self.shop.tenants.items()):
            if mine := self._lacking(tenant, space, view):
                texts = {number: row.body.text for number, row in tables.contents.items()}
                return [Unembedded(tenant, one.content, texts[one.content], one.part) for one in mine[:limit]]
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
                _go_on(shop, work)
            tables = shop.of(tenant)
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


class ToyReceipts(Port):
    def keep(self, lines: Sequence[ReceiptLine]) -> None:
        with self.base.writing() as shop:
            for line in lines:
                tables, told = shop.of(line.view.scope.tenant), {*line.handles, *line.named}
                if not told <= tables.versions.keys():
                    continue
                seen, since = line.view.scope.readable(), tables.lines[line.seq :]
                late = any(NAMES[one.operation] == ERASE and one.scope in seen for one in since)
                records = [tables.versions[one].place.record for one in line.handles]
                named = frozenset(tables.versions[one].place.record for one in told)
                tables.receipts[line.id] = (line.without_query() if late else line, named)
                for record in records:
                    tables.accesses[record] = (*tables.accesses.get(record, ()), line.view.now)
        self.expire(max((line.view.now for line in lines), default=0))

    def expire(self, now: int) -> int:
        oldest, last = now - RETENTION, now - RETENTION // JUST_NOW
        with self.base.writing() as shop:
            tenants = [*shop.tenants.values()]
            known = [line.view.now for tables in tenants for line, _ in tables.receipts.values()]
            known += [line.at for lines in (shop.store, *(tables.lines for tables in tenants)) for line in lines]
            if not any(oldest <= at <= last for at in known):
                return 0
            before = sum(len(tables.receipts) for tables in tenants)
            for tables in tenants:
                tables.receipts = {id: row for id, row in tables.receipts.items() if row[0].view.now >= oldest}
            times = [at for tables in tenants for times in tables.accesses.values() for at in times]
            if any(shop.accesses_since <= at < oldest for at in times):
                shop.accesses_since = oldest
            return before - sum(len(tables.receipts) for tables in tenants)

    def receipt(self, view: View, id: str) -> str | None:
        line, _ = self.shop.of(view.scope.tenant).receipts.get(id, (None, None))
        return line.body if line and line.view.scope in view.scope.readable() else None

    def since(self, whose: View | str, moment: int, limit: int) -> list[Kept]:
        tables = self.shop.of(whose if isinstance(whose, str) else whose.scope.tenant)
        found = [
            Kept(line.id, line.view.scope, line.view.now, line.body)
            for line, _ in reversed(tables.receipts.values())
            if line.view.now >= moment and (isinstance(whose, str) or line.view.scope in whose.scope.readable())
        ]
        return sorted(found, key=lambda one: -one.at)[:limit]

    def accesses(self, view: View, ids: Sequence[str], *, until: int | None = None) -> Mapping[str, Accesses]:
        reader, since, found = self.read(replace(view, seq=None)), self.shop.accesses_since, {}
        for id in ids:
            times = reader.tables.accesses.get(reader.record_at(id) or 0, ())
            later = [at for at in times if until is not None and at > until]
            if not later and times:
                found[id] = Accesses(len(times), max(times))
            elif times:
                counted = [at for at in later if at >= since]
                known = (until or 0) >= since or len(counted) == len(times)
                last = max((at for at in times if since <= at and at not in later), default=None)
                found[id] = Accesses(len(times) - len(counted) if known else None, last)
        return {id: one for id, one in found.items() if one.times != 0}


class ToyWorking(Port):
    def set(self, desk: Desk, key: str, value: str, *, expires_at: int, now: int) -> None:
        with self.base.writing() as shop:
            shop.of(desk.scope.tenant).values[desk, key] = (value, expires_at)

    def get(self, desk: Desk, key: str, *, now: int) -> str | None:
        return self.values(desk, now=now).get(key)

    def delete(self, desk: Desk, key: str) -> bool:
        with self.base.writing() as shop:
            return shop.of(desk.scope.tenant).values.pop((desk, key), None) is not None

    def values(self, desk: Desk, *, now: int) -> dict[str, str]:
        values = self.shop.of(desk.scope.tenant).values
        return {key: one for (owner, key), (one, end) in values.items() if owner == desk and end > now}

    def push(self, desk: Desk, name: str, item: str, *, keep: int, expires_at: int, now: int) -> None:
        with self.base.writing() as shop:
            tables = shop.of(desk.scope.tenant)
            tables.lists[desk, name] = (*tables.lists.get((desk, name), ()), (item, expires_at))[-keep:]

    def items(self, desk: Desk, name: str, *, limit: int, now: int) -> Sequence[str]:
        items = self.shop.of(desk.scope.tenant).lists.get((desk, name), ())
        return [item for item, _ in reversed(items)][:limit] if items and items[-1][1] > now else []

    def clear(self, desk: Desk) -> None:
        with self.base.writing() as shop:
            tables = shop.of(desk.scope.tenant)
            tables.values = {place: one for place, one in tables.values.items() if place[0] != desk}
            tables.lists = {place: one for place, one in tables.lists.items() if place[0] != desk}

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self.base.writing() as shop:
            shop.of(scope.tenant).clear_desks(scope, ids)


class ToyAccess(Port):
    def add(self, key: KeyRow, *, instead: str | None = None) -> bool:
        with self.base.writing() as shop:
            if instead is not None and not _end(shop, instead, key.created_at):
                return False
            _note(shop, key, key.created_at)
            return True

    def find(self, id: str) -> KeyRow | None:
        return self.shop.keys.get(id)

    def keys(self, tenant: str | None = None) -> list[KeyRow]:
        mine = [key for key in self.shop.keys.values() if tenant in (None, key.tenant)]
        return sorted(mine, key=lambda key: (key.created_at, key.id), reverse=True)

    def end(self, id: str, at: int) -> bool:
        with self.base.writing() as shop:
            return _end(shop, id, at)

    def refuse(self, lines: Sequence[Refusal]) -> None:
        with self.base.writing() as shop:
            shop.refusals += lines

    def refused(self, tenant: str, limit: int, *, keyed: bool) -> list[Refusal]:
        mine = [one for one in reversed(self.shop.refusals) if one.tenant == tenant]
        return [one for one in mine if (one.key is not None) is keyed][:limit]


def _end(shop: Shop, id: str, at: int) -> bool:
    key = shop.keys.get(id)
    if key is None or key.ended_at is not None:
        return False
    _note(shop, replace(key, ended_at=at), at)
    return True


def _note(shop: Shop, key: KeyRow, at: int) -> None:
    shop.keys[key.id] = key
    journal = Journal(shop.head)
    journal.append(KEY, Subject(), Signature(at, reason=key.id), key_seal(key.id, key.digest, key.ended_at))
    shop.store += journal.lines


class ToyVectors(Port):
    def upsert(self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any]) -> None:
        with self.base.writing() as shop:
            scale, data = quantised(self._checked(namespace, vector))
            stored = np.frombuffer(data, np.int8) * np.float32(scale)
            shop.namespaces[namespace, id] = (stored, canonical_json(dict(metadata)))

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        query, found = self._checked(namespace, vector), []
        for (place, id), (stored, text) in self.shop.namespaces.items():
            metadata = json.loads(text)
            if place == namespace and (where or {}).items() <= metadata.items():
                found.append(Match(id, float(stored @ query), metadata))
        return sorted(found, key=lambda match: (-match.score, match.id))[:k]

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        with self.base.writing() as shop:
            return sum(shop.namespaces.pop((namespace, id), None) is not None for id in ids)

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self.base.writing() as shop:
            shop.of(scope.tenant).clear_namespaces(scope, ids)

    def _checked(self, namespace: str, vector: Sequence[float]) -> np.ndarray[Any, Any]:
        made = unit(vector)
        for (place, _), (stored, _) in self.shop.namespaces.items():
            if place == namespace and len(stored) != len(made):
                raise InvalidInput(f"vector: namespace {namespace!r} holds {len(stored)} numbers", field="vector")
        return made


class ToyDebts(Port):
    def attach(self, place: str) -> None:
        with self.base.writing() as shop:
            shop.places.setdefault(place, None)

    def detach(self, place: str) -> int | None:
        with self.base.writing() as shop:
            left = [one for one in shop.debts if one[0] == place]
            shop.debts = {one: row for one, row in shop.debts.items() if one[0] != place}
            known = place in shop.places
            shop.places.pop(place, None)
            return len(left) if known else None

    def standing(self) -> list[Owed]:
        found = []
        for name, error in sorted(self.shop.places.items()):
            since = [at for (place, *_), (_, at) in self.shop.debts.items() if place == name]
            found.append(Owed(name, len(since), min(since, default=None), error))
        return found

    def owed(self, place: str, limit: int) -> list[Debt]:
        rows = sorted((at, seq, id, scope) for (one, scope, id), (seq, at) in self.shop.debts.items() if one == place)
        return [Debt(place, scope, id, seq) for _, seq, id, scope in rows[:limit]]

    def paid(self, debts: Sequence[Debt]) -> None:
        with self.base.writing() as shop:
            for one in debts:
                seq, _ = shop.debts.get((one.place, one.scope, one.id), (0, 0))
                if 0 < seq <= one.seq:
                    del shop.debts[one.place, one.scope, one.id]
                shop.places[one.place] = None

    def failed(self, place: str, error: str) -> None:
        with self.base.writing() as shop:
            if place in shop.places:
                shop.places[place] = error


class ToyFeed(Port):
    def news(self, name: str, *, limit: int = 100) -> list[str]:
        turns = [tenant for job, tenant in self.shop.cursors if job == name and self.cursor(job, tenant).seq]
        waiting = [one for one in sorted(self.shop.tenants) if self.lines(self.cursor(name, one), limit=1)]
        return [*(one for one in waiting if one not in turns), *(one for one in turns if one in waiting)][:limit]

    def lines(self, after: Cursor, *, limit: int = 100) -> list[FeedLine]:
        tables = self.shop.of(after.tenant)
        begin = rules.standing(after, _stands(self.shop, after)).seq
        ids = {row.place.record: row.place.id for row in (*tables.tombstones, *tables.versions.values())}
        kinds = {row.place.record: row.kind for row in tables.versions.values()}
        return [
            FeedLine(
                *(line.seq, line.at, NAMES[line.operation], line.scope or Scope()),
                *(kinds.get(line.record or 0), ids.get(line.record or 0), line.chain.hex()),
            )
            for line in tables.lines[begin : begin + limit]
        ]

    def cursor(self, name: str, tenant: str) -> Cursor:
        return _cursor(self.shop, name, tenant)

    def behind(self, name: str) -> int:
        return sum(len(one.lines) - self.cursor(name, tenant).seq for tenant, one in self.shop.tenants.items())

    def lease(self, name: str, holder: str, seconds: float, *, every: float = 0.0) -> Lease | None:
        with self.base.writing() as shop:
            row = rules.taken(shop.jobs.get(name, JobRow(name)), holder, seconds, every, _now())
            shop.jobs |= {name: row} if row else {}
        return row.lease() if row else None

    def renew(self, lease: Lease, seconds: float) -> None:
        with self.base.writing() as shop:
            shop.jobs[lease.name] = rules.renewed(shop.jobs.get(lease.name), lease, seconds, _now())

    def release(self, lease: Lease, run: Run | None = None) -> None:
        with self.base.writing() as shop:
            row = shop.jobs.get(lease.name)
            if row is not None and rules.holds(lease, row):
                shop.jobs[lease.name] = rules.released(row, run, _now())

    def advance(self, work: Work) -> None:
        with self.base.writing() as shop:
            _go_on(shop, work)

    def states(self) -> list[JobState]:
        return [row.state(_now()) for _, row in sorted(self.shop.jobs.items())]


def _now() -> int:
    return time.time_ns() // 1000


def _stands(shop: Shop, cursor: Cursor) -> bool:
    lines = shop.of(cursor.tenant).lines[: cursor.seq]
    return cursor.seq == 0 or (len(lines) == cursor.seq and lines[-1].chain.hex() == cursor.chain)


def _cursor(shop: Shop, name: str, tenant: str) -> Cursor:
    cursor = shop.cursors.get((name, tenant), Cursor(tenant))
    return rules.standing(cursor, _stands(shop, cursor))


def _standing(shop: Shop, work: Work) -> Standing:
    job = shop.jobs.get(work.lease.name)
    if work.to is None:
        return Standing(job)
    return Standing(job, _cursor(shop, work.lease.name, work.to.tenant), _stands(shop, work.to))


def _go_on(shop: Shop, work: Work) -> None:
    rules.check(work, _standing(shop, work))
    _move(shop, [CursorRow(work.lease.name, work.to)] if work.to else [])


def _move(shop: Shop, rows: Iterable[CursorRow]) -> None:
    for job, cursor in rows:
        shop.cursors.pop((job, cursor.tenant), None)
        shop.cursors[job, cursor.tenant] = cursor
