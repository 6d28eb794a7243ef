"""A second engine on the ledger, as small as it can be: rows in memory, one lock, a copy of the tables for each write.

What takes part in a write, a fault can strike: `fails` is called before each step of it, and after the last.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from tests.toy.reading import Reader
from tests.toy.stock import TableStock
from tests.toy.tables import Tables

from agent_memory.ledger import spaces
from agent_memory.ledger.journal import (
    ADOPT,
    ERASE,
    GENESIS,
    KEY,
    NAMES,
    OPERATIONS,
    Journal,
    Signature,
    Subject,
    chained,
)
from agent_memory.ledger.plan import plan
from agent_memory.ledger.quantise import quantised, unit
from agent_memory.ledger.request import Request, wanted
from agent_memory.ledger.rows import Lack
from agent_memory.ledger.seals import key_seal
from agent_memory.ledger.shelves.shelves import Shelves
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import Kind, canonical_json
from agent_memory.models.record import Record, Scope
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.changes import Applied, Author, Change, Expect, Mark, Once, Verified
from agent_memory.ports.debts import Debt, Owed
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Embedded, Sampled, Snapshot, Unembedded
from agent_memory.ports.receipts import JUST_NOW, RETENTION, Accesses, Kept, ReceiptLine
from agent_memory.ports.records import Checker, Deriver, View
from agent_memory.ports.store import Store
from agent_memory.ports.vectors import Match
from agent_memory.ports.working import Desk

Fails = Callable[[str], None]


class Port:
    """What all ports share: the tables as they stand, and one write at a time."""

    def __init__(self, base: Base) -> None:
        self.base = base

    @property
    def tables(self) -> Tables:
        return self.base.tables

    def read(self, view: View) -> Reader:
        return Reader(self.base.tables, view)


class Base:
    def __init__(self, fails: Fails) -> None:
        self.tables, self.lock, self.fails = Tables(), threading.RLock(), fails

    @contextmanager
    def writing(self) -> Iterator[Tables]:
        with self.lock:
            tables = self.tables.copied()
            yield tables
            self.fails("commit")
            self.tables = tables
            self.fails("answer")


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
        close=lambda: None,
        debts=ToyDebts(base),
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
    ) -> Applied:
        request, fails = Request(changes, author, now, expect, once), self.base.fails
        with self.base.writing() as tables:
            fails("read")
            present = tables.read(wanted([request]))
            fails("plan")
            rows, (answer,) = plan([request], present)
            if not isinstance(answer, Applied):
                raise answer
            fails("write")
            tables.write(rows)
        return answer

    def __getattr__(self, name: str) -> Any:
        """All that takes a view is the reader's."""
        return lambda view, *asked, **how: getattr(self.read(view), name)(*asked, **how)

    def head(self, scope: Scope, kind: str, *, key: str | None = None, id: str | None = None) -> Record | None:
        return self.read(View(scope, 0)).head(scope, kind, key, id)

    def seq_at(self, moment: int) -> int:
        return sum(line.at <= moment for line in self.tables.lines)

    def verify(self, derive: Checker | None = None, expect: Mark | None = None) -> Verified:
        tables, before, problems = self.tables, GENESIS, []
        for line in tables.lines:
            number = tables.scopes[line.scope] if line.scope else 0
            said = (line.seq, line.at, line.operation, number, line.record, line.other, line.actor, line.reason)
            if chained(before, said, line.digest) != line.chain:
                problems.append(f"line {line.seq} does not follow from the line before it")
            before = line.chain
        for row in tables.contents.values() if derive else ():
            again = derive(tables.versions[row.content].kind, row.body.text, row.body.payload) if derive else None
            if again and (again.terms, again.fields) != (row.terms, row.fields):
                problems.append(f"content {row.content}: its words or fields do not follow from it")
        if expect and expect.head not in [line.chain.hex() for line in tables.lines if line.seq == expect.seq]:
            problems.append(f"line {expect.seq} is not the one that was noted")
        checked = {"journal lines": len(tables.lines)}
        return Verified(tables.head.seq, before.hex(), checked, tuple(problems))

    def rebuild(self, derive: Deriver) -> Mapping[str, int]:
        with self.base.writing() as tables:
            for number, row in tables.contents.items():
                derived = derive(tables.versions[number].kind, row.body.text, row.body.payload)
                tables.contents[number] = row._replace(terms=derived.terms, fields=derived.fields)
            for space in tables.spaces[:1]:
                _pend(tables, space, [row.content for row in tables.vectors if row.space == space])
            tables.lines.append(spaces.adopting(tables.head, spaces.REBUILT))
            return {"contents": len(tables.contents), "views": 0}

    def stats(self, view: View) -> dict[str, Any]:
        tables, scopes = self.tables, view.scope.readable()
        mine = [row for row in tables.versions.values() if row.place.scope in scopes]
        times = [tables.accesses[row.version] for row in mine if row.version in tables.accesses]
        kinds = Counter(kind for _, kind in {(row.place, row.kind) for row in mine if row.ended is None})
        return {
            "kinds": dict(sorted(kinds.items())),
            "records": len({row.place for row in mine}),
            "versions": len(mine),
            "links": sum(row.scope in scopes for row in tables.links.values()),
            "vectors": sum(row.scope in scopes for row in tables.vectors),
            "receipts": sum(line.view.scope in scopes for line, _ in tables.receipts.values()),
            "pending_vectors": sum(
                lack.scope in scopes for lack in tables.lacks.values() if lack.space in tables.spaces[:1]
            ),
            "accesses": {
                "records": len(times),
                "times": sum(map(len, times)),
                "last": max(map(max, times), default=None),
            },
            "seq": tables.head.seq,
            "space": tables.spaces[0].fingerprint if tables.spaces else None,
            "bytes_on_disk": 0,
            "scrub_owed_since": None,
        }

    def prepare(self, kinds: Iterable[Kind]) -> None: ...


def _pend(tables: Tables, space: Space, but: Collection[int]) -> None:
    for number in tables.contents.keys() - set(but):
        scope = tables.versions[number].place.scope
        tables.lacks.setdefault((number, space), Lack(number, scope, space, 0))


class ToyIndex(Port):
    def __init__(self, base: Base) -> None:
        super().__init__(base)
        shelves = Shelves(lambda: nullcontext(self.stock))
        self.gather, self.occurring, self.called, self.steps = (
            *(shelves.gather, shelves.occurring),
            *(shelves.called, shelves.steps),
        )

    @property
    def stock(self) -> TableStock:
        return TableStock(self.tables)

    def snapshot(self, scope: Scope) -> Snapshot:
        return self.stock.snapshot(scope)

    def hydrate(self, view: View, handles: Sequence[int]) -> list[Record]:
        versions, reader = self.tables.versions, self.read(view)
        mine = [versions[one] for one in handles if one in versions]
        return [reader.record(row) for row in mine if row.place.scope in reader.scopes]

    def damaged(self, view: View, handles: Collection[int]) -> int:
        return 0

    def space(self) -> Space | None:
        return self.stock.space

    def adopted(self, after: int) -> bool:
        name = self.tables.spaces[0].fingerprint if self.tables.spaces else None
        lines = self.tables.lines[after:]
        return any((line.operation, line.reason) == (OPERATIONS[ADOPT], name) for line in lines)

    def begin(self, space: Space, *, anew: bool = False) -> None:
        with self.base.writing() as tables:
            if anew and tables.spaces[:1] == (space,):
                tables.lacks = {place: lack for place, lack in tables.lacks.items() if place[1] != space}
                _pend(tables, space, [row.content for row in tables.vectors if row.space == space and _brought(row)])
            if space not in tables.spaces:
                tables.spaces += (space,)
                _pend(tables, space, ())
                if tables.spaces == (space,):
                    tables.lines.append(spaces.adopting(tables.head, space.fingerprint))

    def switch(self, space: Space, *, anew: bool = False) -> None:
        with self.base.writing() as tables:
            spaces.complete(space, self.pending(space), known=space in tables.spaces)
            if anew or tables.spaces[0] != space:
                tables.spaces = (space,)
                tables.vectors = [row for row in tables.vectors if row.space == space]
                tables.lacks = {place: lack for place, lack in tables.lacks.items() if place[1] == space}
                tables.lines.append(spaces.adopting(tables.head, space.fingerprint))

    def sample(self, space: Space, count: int) -> list[Sampled]:
        rows = [row for row in self.tables.vectors if row.space == space and not _brought(row)]
        texts = {number: row.body.text for number, row in self.tables.contents.items()}
        return [
            Sampled(row.content, texts[row.content][row.vector.start : row.vector.end], row.vector)
            for row in rows[:count]
        ]

    def pending(self, space: Space, view: View | None = None) -> int:
        return len(self.unembedded(space, view, len(self.tables.lacks)))

    def unembedded(self, space: Space, view: View | None, limit: int) -> list[Unembedded]:
        lacks = sorted((lack for lack in self.tables.lacks.values() if lack.space == space), reverse=True)
        mine = [lack for lack in lacks if view is None or lack.scope in view.scope.readable()]
        texts = self.tables.contents
        return [Unembedded(lack.content, texts[lack.content].body.text, lack.part) for lack in mine[:limit]]

    def embedded(self, space: Space, batch: Sequence[Embedded], *, now: int, wait: bool = True) -> None:
        with self.base.writing() as tables:
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
        with self.base.writing() as tables:
            for line in lines:
                told = {*line.handles, *line.named}
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
        with self.base.writing() as tables:
            known = [line.view.now for line, _ in tables.receipts.values()] + [line.at for line in tables.lines]
            if not any(oldest <= at <= last for at in known):
                return 0
            before = len(tables.receipts)
            tables.receipts = {id: row for id, row in tables.receipts.items() if row[0].view.now >= oldest}
            if any(tables.accesses_since <= at < oldest for times in tables.accesses.values() for at in times):
                tables.accesses_since = oldest
            return before - len(tables.receipts)

    def receipt(self, view: View, id: str) -> str | None:
        line, _ = self.tables.receipts.get(id, (None, None))
        return line.body if line and line.view.scope in view.scope.readable() else None

    def since(self, whose: View | str, moment: int, limit: int) -> list[Kept]:
        found = [
            Kept(line.id, line.view.scope, line.view.now, line.body)
            for line, _ in reversed(self.tables.receipts.values())
            if line.view.now >= moment
            if (
                line.view.scope.tenant == whose if isinstance(whose, str) else line.view.scope in whose.scope.readable()
            )
        ]
        return sorted(found, key=lambda one: -one.at)[:limit]

    def accesses(self, view: View, ids: Sequence[str], *, until: int | None = None) -> Mapping[str, Accesses]:
        reader, since, found = self.read(replace(view, seq=None)), self.tables.accesses_since, {}
        for id in ids:
            times = self.tables.accesses.get(reader.record_at(id) or 0, ())
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
        with self.base.writing() as tables:
            tables.values[desk, key] = (value, expires_at)

    def get(self, desk: Desk, key: str, *, now: int) -> str | None:
        return self.values(desk, now=now).get(key)

    def delete(self, desk: Desk, key: str) -> bool:
        with self.base.writing() as tables:
            return tables.values.pop((desk, key), None) is not None

    def values(self, desk: Desk, *, now: int) -> dict[str, str]:
        return {key: one for (owner, key), (one, end) in self.tables.values.items() if owner == desk and end > now}

    def push(self, desk: Desk, name: str, item: str, *, keep: int, expires_at: int, now: int) -> None:
        with self.base.writing() as tables:
            tables.lists[desk, name] = (*tables.lists.get((desk, name), ()), (item, expires_at))[-keep:]

    def items(self, desk: Desk, name: str, *, limit: int, now: int) -> Sequence[str]:
        items = self.tables.lists.get((desk, name), ())
        return [item for item, _ in reversed(items)][:limit] if items and items[-1][1] > now else []

    def clear(self, desk: Desk) -> None:
        with self.base.writing() as tables:
            tables.values = {place: one for place, one in tables.values.items() if place[0] != desk}
            tables.lists = {place: one for place, one in tables.lists.items() if place[0] != desk}

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self.base.writing() as tables:
            tables.clear_desks(scope, ids)


class ToyAccess(Port):
    def add(self, key: KeyRow, *, instead: str | None = None) -> bool:
        with self.base.writing() as tables:
            if instead is not None and not _end(tables, instead, key.created_at):
                return False
            _note(tables, key, key.created_at)
            return True

    def find(self, id: str) -> KeyRow | None:
        return self.tables.keys.get(id)

    def keys(self, tenant: str | None = None) -> list[KeyRow]:
        mine = [key for key in self.tables.keys.values() if tenant in (None, key.tenant)]
        return sorted(mine, key=lambda key: (key.created_at, key.id), reverse=True)

    def end(self, id: str, at: int) -> bool:
        with self.base.writing() as tables:
            return _end(tables, id, at)

    def refuse(self, lines: Sequence[Refusal]) -> None:
        with self.base.writing() as tables:
            tables.refusals += lines

    def refused(self, tenant: str, limit: int, *, keyed: bool) -> list[Refusal]:
        mine = [one for one in reversed(self.tables.refusals) if one.tenant == tenant]
        return [one for one in mine if (one.key is not None) is keyed][:limit]


def _end(tables: Tables, id: str, at: int) -> bool:
    key = tables.keys.get(id)
    if key is None or key.ended_at is not None:
        return False
    _note(tables, replace(key, ended_at=at), at)
    return True


def _note(tables: Tables, key: KeyRow, at: int) -> None:
    tables.keys[key.id] = key
    journal = Journal(tables.head)
    journal.append(KEY, Subject(), Signature(at, reason=key.id), key_seal(key.id, key.digest, key.ended_at))
    tables.lines += journal.lines


class ToyVectors(Port):
    def upsert(self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any]) -> None:
        with self.base.writing() as tables:
            scale, data = quantised(self._checked(namespace, vector))
            stored = np.frombuffer(data, np.int8) * np.float32(scale)
            tables.namespaces[namespace, id] = (stored, canonical_json(dict(metadata)))

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        query, found = self._checked(namespace, vector), []
        for (place, id), (stored, text) in self.tables.namespaces.items():
            metadata = json.loads(text)
            if place == namespace and (where or {}).items() <= metadata.items():
                found.append(Match(id, float(stored @ query), metadata))
        return sorted(found, key=lambda match: (-match.score, match.id))[:k]

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        with self.base.writing() as tables:
            return sum(tables.namespaces.pop((namespace, id), None) is not None for id in ids)

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self.base.writing() as tables:
            tables.clear_namespaces(scope, ids)

    def _checked(self, namespace: str, vector: Sequence[float]) -> np.ndarray[Any, Any]:
        made = unit(vector)
        for (place, _), (stored, _) in self.tables.namespaces.items():
            if place == namespace and len(stored) != len(made):
                raise InvalidInput(f"vector: namespace {namespace!r} holds {len(stored)} numbers", field="vector")
        return made


class ToyDebts(Port):
    def attach(self, place: str) -> None:
        with self.base.writing() as tables:
            tables.places.setdefault(place, None)

    def detach(self, place: str) -> int | None:
        with self.base.writing() as tables:
            left = [one for one in tables.debts if one[0] == place]
            tables.debts = {one: row for one, row in tables.debts.items() if one[0] != place}
            known = place in tables.places
            tables.places.pop(place, None)
            return len(left) if known else None

    def standing(self) -> list[Owed]:
        found = []
        for name, error in sorted(self.tables.places.items()):
            since = [at for (place, *_), (_, at) in self.tables.debts.items() if place == name]
            found.append(Owed(name, len(since), min(since, default=None), error))
        return found

    def owed(self, place: str, limit: int) -> list[Debt]:
        rows = sorted((at, seq, id, scope) for (one, scope, id), (seq, at) in self.tables.debts.items() if one == place)
        return [Debt(place, scope, id, seq) for _, seq, id, scope in rows[:limit]]

    def paid(self, debts: Sequence[Debt]) -> None:
        with self.base.writing() as tables:
            for one in debts:
                seq, _ = tables.debts.get((one.place, one.scope, one.id), (0, 0))
                if 0 < seq <= one.seq:
                    del tables.debts[one.place, one.scope, one.id]
                tables.places[one.place] = None

    def failed(self, place: str, error: str) -> None:
        with self.base.writing() as tables:
            if place in tables.places:
                tables.places[place] = error
