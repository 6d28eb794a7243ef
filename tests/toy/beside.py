"""Receipts and keys, by the ledger's rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.toy.shop import Port, Shop

from agent_memory.ledger import receipts as rules
from agent_memory.ledger.journal import KEY, NAMES
from agent_memory.ledger.keys import cells, noting
from agent_memory.ledger.tenants import another
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.receipts import RETENTION, Accesses, Kept, ReceiptLine
from agent_memory.ports.records import View


class ToyReceipts(Port):
    def keep(self, lines: Sequence[ReceiptLine]) -> None:
        with self.base.writing() as shop:
            for line in lines:
                tables, told = shop.of(line.view.scope.tenant), {*line.handles, *line.named}
                if not told <= tables.versions.keys() or another(shop.founded(tables), line.store, line.seq):
                    continue
                seen = line.view.scope.readable()
                erased = max((one.line for one in tables.tombstones if one.place.scope in seen), default=0)
                records = [tables.versions[one].place.record for one in line.handles]
                named = frozenset(tables.versions[one].place.record for one in told)
                if line.body:
                    tables.receipts[line.id] = (rules.kept(line, erased), named)
                for record in records:
                    tables.accesses[record] = (*tables.accesses.get(record, ()), line.view.now)
        self.expire(max((line.view.now for line in lines), default=0))

    def expire(self, now: int) -> int:
        oldest, last = rules.witnesses(now, RETENTION)
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
        reader, since, found = self.read(view._replace(seq=None)), self.shop.accesses_since, {}
        for id in ids:
            times = reader.tables.accesses.get(reader.record_at(id) or 0, ())
            later = [at for at in times if until is not None and at > until]
            if not later and times:
                found[id] = Accesses(len(times), max(times))
            elif times:
                counted = [at for at in later if at >= since]
                last = max((at for at in times if since <= at and at not in later), default=None)
                found[id] = rules.until(len(times), len(counted), last, known=(until or 0) >= since)
        return {id: one for id, one in found.items() if one.times != 0}


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
    _note(shop, key._replace(ended_at=at), at)
    return True


def _note(shop: Shop, key: KeyRow, at: int) -> None:
    shop.keys[key.id] = key
    shop.store.append(noting(shop.head, cells(key), at))
