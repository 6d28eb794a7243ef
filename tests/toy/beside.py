"""What stands beside the records: receipts, working sets, keys, vectors in namespaces and debts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tests.toy.shop import Port, Shop

from agent_memory.ledger.journal import ERASE, NAMES, key_noted
from agent_memory.ledger.quantise import quantised, unit
from agent_memory.ledger.seals import key_seal
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import canonical_json
from agent_memory.models.record import Scope
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.debts import Debt, Owed
from agent_memory.ports.receipts import JUST_NOW, RETENTION, Accesses, Kept, ReceiptLine
from agent_memory.ports.records import View
from agent_memory.ports.vectors import Match
from agent_memory.ports.working import Desk


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
    shop.store.append(key_noted(shop.head, key.id, at, key_seal(key.id, key.digest, key.ended_at)))


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
