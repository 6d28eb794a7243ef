"""What stands beside the records: receipts, working sets, keys, vectors in namespaces and debts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tests.toy.shop import Port, Shop

from agent_memory.ledger.journal import (
    ERASE,
    KEY,
    NAMES,
    Journal,
    Signature,
    Subject,
)
from agent_memory.ledger.quantise import quantised, unit
from agent_memory.ledger.seals import key_seal
from agent_memory.ledger.tenants import Leaving, another, farewell
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import canonical_json
from agent_memory.models.record import SHARED, Scope
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.changes import Author
from agent_memory.ports.debts import Debt, Owed
from agent_memory.ports.receipts import JUST_NOW, RETENTION, Accesses, Kept, ReceiptLine
from agent_memory.ports.records import View
from agent_memory.ports.tenants import Census, Departed
from agent_memory.ports.vectors import Match, belongs
from agent_memory.ports.working import Desk


class ToyReceipts(Port):
    def keep(self, lines: Sequence[ReceiptLine]) -> None:
        with self.base.writing() as shop:
            for line in lines:
                tables, told = shop.of(line.view.scope.tenant), {*line.handles, *line.named}
                if not told <= tables.versions.keys() or another(shop.founded(tables), line.store, line.seq):
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

    def forget_tenant(self, tenant: str) -> None:
        with self.base.writing() as shop:
            tables = shop.of(tenant)
            tables.values, tables.lists = {}, {}


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

    def guarded(self) -> bool:
        return any(NAMES[line.operation] == KEY for line in self.shop.store)

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

    def forget_tenant(self, tenant: str) -> None:
        with self.base.writing() as shop:
            shop.namespaces = {place: one for place, one in shop.namespaces.items() if not belongs(place[0], tenant)}

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
            mine = {place: at for place, (_, at) in self.shop.debts.items() if place[0] == name}
            whole = sum(id is None for _, _, id in mine)
            found.append(Owed(name, len(mine) - whole, min(mine.values(), default=None), error, whole))
        return found

    def owed(self, place: str, limit: int) -> list[Debt]:
        rows = [(at, seq, id, scope) for (one, scope, id), (seq, at) in self.shop.debts.items() if one == place]
        rows.sort(key=lambda row: (row[2] is not None, row[:2], row[2]))
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


class ToyTenants(Port):
    def census(self, tenant: str | None = None) -> list[Census]:
        shop = self.shop
        known = {*shop.tenants, *(key.tenant for key in shop.keys.values())}
        known |= {place.partition("\x1f")[0] for place, _ in shop.namespaces}
        counts = [_census(shop, name) for name in sorted(known) if tenant in (None, name)]
        return [one for one in counts if _holds(shop, one)]

    def erase(self, tenant: str, author: Author, now: int) -> Departed:
        with self.base.writing() as shop:
            census, tables = _census(shop, tenant), shop.of(tenant)
            self.base.fails("read")
            keys = tuple(sorted(id for id, key in shop.keys.items() if key.tenant == tenant))
            number = shop.founded(tables) or len(shop.store) + 1
            found = Leaving(number, tables.head, len(tables.lines), keys)
            self.base.fails("plan")
            lines = farewell(tenant, found if _holds(shop, census) else None, shop.head, author, now)
            self.base.fails("write")
            shop.store += lines
            del shop.tenants[tenant]
            shop.keys = {id: key for id, key in shop.keys.items() if key.tenant != tenant}
            shop.refusals = [one for one in shop.refusals if one.tenant != tenant]
            shop.cursors = {place: one for place, one in shop.cursors.items() if place[1] != tenant}
            shop.namespaces = {place: one for place, one in shop.namespaces.items() if not belongs(place[0], tenant)}
            shop.debts = {place: one for place, one in shop.debts.items() if place[1].tenant != tenant}
            shop.debts |= {(name, Scope(tenant=tenant), None): (lines[-1].seq, now) for name in shop.places}
        return Departed(census)


def _census(shop: Shop, tenant: str) -> Census:
    tables = shop.of(tenant)
    places = {row.place for row in tables.versions.values()}
    users = {place.scope.user for place in places} - {SHARED}
    vectors = sum(belongs(place, tenant) for place, _ in shop.namespaces)
    keys = sum(key.tenant == tenant for key in shop.keys.values())
    versions, links, receipts = len(tables.versions), len(tables.links), len(tables.receipts)
    return Census(tenant, len(users), len(places), versions, links, receipts, vectors, keys)


def _holds(shop: Shop, census: Census) -> bool:
    tables = shop.of(census.tenant)
    return any((tables.lines, tables.values, tables.lists, tables.receipts, census.vectors, census.keys))
