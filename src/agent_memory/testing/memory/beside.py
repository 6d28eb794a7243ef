"""What lies beside the records: the working set, receipts, and what places outside must still forget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_memory.models.record import Scope
from agent_memory.ports.debts import Debt, Owed
from agent_memory.ports.receipts import JUST_NOW, RETENTION, Accesses, Kept, ReceiptLine
from agent_memory.ports.records import View
from agent_memory.ports.working import Desk
from agent_memory.testing.memory.erase import clear_desks
from agent_memory.testing.memory.vectors import miss_all
from agent_memory.testing.memory.world import ERASE, Slip, ToyRoom
from agent_memory.testing.memory.write import asked


class MemoryWorking:
    def __init__(self, room: ToyRoom) -> None:
        self._room = room

    def set(self, desk: Desk, key: str, value: str, *, expires_at: int, now: int) -> None:
        with self._room.writing() as worlds:
            world = worlds.of(desk.scope.tenant)
            world.values[desk, key] = (value, expires_at)

    def get(self, desk: Desk, key: str, *, now: int) -> str | None:
        return self.values(desk, now=now).get(key)

    def delete(self, desk: Desk, key: str) -> bool:
        with self._room.writing() as worlds:
            world = worlds.of(desk.scope.tenant)
            return world.values.pop((desk, key), None) is not None

    def values(self, desk: Desk, *, now: int) -> dict[str, str]:
        with self._room.reading() as worlds:
            world = worlds.of(desk.scope.tenant)
            return {key: value for (owner, key), (value, end) in world.values.items() if owner == desk and end > now}

    def push(self, desk: Desk, name: str, item: str, *, keep: int, expires_at: int, now: int) -> None:
        with self._room.writing() as worlds:
            world = worlds.of(desk.scope.tenant)
            items = (*world.lists.get((desk, name), ()), (item, expires_at))
            world.lists[desk, name] = items[max(0, len(items) - keep) :]

    def items(self, desk: Desk, name: str, *, limit: int, now: int) -> Sequence[str]:
        with self._room.reading() as worlds:
            world = worlds.of(desk.scope.tenant)
            items = world.lists.get((desk, name), ())
            alive = items and items[-1][1] > now
            return [item for item, _ in reversed(items)][:limit] if alive else []

    def clear(self, desk: Desk) -> None:
        with self._room.writing() as worlds:
            world = worlds.of(desk.scope.tenant)
            world.values = {place: one for place, one in world.values.items() if place[0] != desk}
            world.lists = {place: one for place, one in world.lists.items() if place[0] != desk}

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self._room.writing() as world:
            clear_desks(world.of(scope.tenant), scope, ids)

    def forget_tenant(self, tenant: str) -> None:
        with self._room.writing() as worlds:
            world = worlds.of(tenant)
            world.values, world.lists = {}, {}


class MemoryReceipts:
    def __init__(self, room: ToyRoom) -> None:
        self._room = room

    def keep(self, lines: Sequence[ReceiptLine]) -> None:
        with self._room.writing() as worlds:
            for given in lines:
                world = worlds.of(given.view.scope.tenant)
                if not {*given.handles, *given.named} <= set(world.versions):
                    continue
                founded = worlds.founded(given.view.scope.tenant)
                if given.seq and given.store is not None and (founded > given.store or given.seq > world.seq):
                    continue  # of a tenant that is erased
                seen = given.view.scope.readable()
                late = any(one.operation == ERASE and one.scope in seen for one in world.lines[given.seq :])
                line = given.without_query() if late else given
                records = [world.versions[handle].record for handle in line.handles]
                told = frozenset([*records, *(world.versions[handle].record for handle in line.named)])
                if line.body:
                    world.receipts[line.id] = Slip(line.view.scope, line.body, told, line.view.now, asked(line.terms))
                for record in records:
                    world.accesses[record] = (*world.accesses.get(record, ()), line.view.now)
        self.expire(max((line.view.now for line in lines), default=0))

    def expire(self, now: int) -> int:
        oldest = now - RETENTION
        with self._room.writing() as worlds:
            tenants = worlds.tenants.values()
            known = [slip.at for world in tenants for slip in world.receipts.values()]
            known += [line.at for journal in (worlds, *tenants) for line in journal.lines]
            if not any(oldest <= at <= now - RETENTION // JUST_NOW for at in known):
                return 0
            before = sum(len(world.receipts) for world in tenants)
            for world in tenants:
                world.receipts = {id: slip for id, slip in world.receipts.items() if slip.at >= oldest}
            accesses = [at for world in tenants for times in world.accesses.values() for at in times]
            if any(worlds.accessed_since <= at < oldest for at in accesses):
                worlds.accessed_since = oldest
            return before - sum(len(world.receipts) for world in tenants)

    def receipt(self, view: View, id: str) -> str | None:
        with self._room.reading() as worlds:
            slip = worlds.of(view.scope.tenant).receipts.get(id)
            return slip.body if slip and slip.scope in view.scope.readable() else None

    def since(self, whose: View | str, moment: int, limit: int) -> list[Kept]:
        with self._room.reading() as worlds:
            world = worlds.of(whose if isinstance(whose, str) else whose.scope.tenant)
            found = [
                Kept(id, slip.scope, slip.at, slip.body)
                for id, slip in reversed(world.receipts.items())
                if slip.at >= moment
                and (slip.scope.tenant == whose if isinstance(whose, str) else slip.scope in whose.scope.readable())
            ]
            return sorted(found, key=lambda one: -one.at)[:limit]

    def accesses(self, view: View, ids: Sequence[str], *, until: int | None = None) -> Mapping[str, Accesses]:
        with self._room.reading() as worlds:
            world = worlds.of(view.scope.tenant)
            found: dict[str, tuple[int, ...]] = {}
            for scope in reversed(view.scope.readable()):  # the narrowest comes last, and stays
                mine = {entry.id: entry.number for entry in world.entries.values() if entry.scope == scope}
                found |= {id: world.accesses.get(mine[id], ()) for id in ids if id in mine}
            told = {id: _accesses(times, until, worlds.accessed_since) for id, times in found.items() if times}
            return {id: one for id, one in told.items() if one.times != 0}


def _accesses(times: tuple[int, ...], until: int | None, since: int) -> Accesses:
    if until is None or max(times) <= until:
        return Accesses(len(times), max(times))
    later = sum(at > until and at >= since for at in times)
    known = until >= since or later == len(times)
    return Accesses(
        len(times) - later if known else None, max((at for at in times if since <= at <= until), default=None)
    )


class MemoryDebts:
    def __init__(self, room: ToyRoom) -> None:
        self._room = room

    def attach(self, place: str) -> None:
        with self._room.writing() as world:
            if place not in world.places:
                world.places[place] = None
                miss_all(world, place)

    def detach(self, place: str) -> int | None:
        with self._room.writing() as world:
            left = [one for one in world.debts if one[0] == place]
            world.debts = {one: rest for one, rest in world.debts.items() if one[0] != place}
            world.missed = {one: number for one, number in world.missed.items() if one[0] != place}
            known = place in world.places
            world.places.pop(place, None)
            return len(left) if known else None

    def standing(self) -> list[Owed]:
        with self._room.reading() as world:
            found = []
            for name, error in sorted(world.places.items()):
                mine = {place: at for place, (_, at) in world.debts.items() if place[0] == name}
                whole = sum(id is None for _, _, id in mine)
                found.append(Owed(name, len(mine) - whole, min(mine.values(), default=None), error, whole))
            return found

    def owed(self, place: str, limit: int) -> list[Debt]:
        with self._room.reading() as world:
            mine = [(rest, scope, id) for (name, scope, id), rest in world.debts.items() if name == place]
            mine.sort(key=lambda one: (one[2] is not None, one[0][::-1]))
            return [Debt(place, scope, id, seq) for (seq, _), scope, id in mine[:limit]]

    def paid(self, debts: Sequence[Debt]) -> None:
        with self._room.writing() as world:
            for one in debts:
                seq, _ = world.debts.get((one.place, one.scope, one.id), (0, 0))
                if 0 < seq <= one.seq:
                    del world.debts[one.place, one.scope, one.id]
                world.places[one.place] = None

    def failed(self, place: str, error: str) -> None:
        with self._room.writing() as world:
            if place in world.places:
                world.places[place] = error
