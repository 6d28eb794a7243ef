"""The `ReceiptStore` port on PostgreSQL. Receipts are not journalled; what they showed counts as accessed.

A line may wait in a buffer, of this process or another, while something is erased; what it may then still tell is
decided here, while nobody erases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from agent_memory.engines.postgres.connection import BRIEF_SECONDS, Database, PostgresSession
from agent_memory.ledger import receipts as rules
from agent_memory.ledger.seals import checksum
from agent_memory.ledger.tenants import another
from agent_memory.models.record import SHARED, Scope
from agent_memory.ports.receipts import RETENTION, Accesses, Kept, ReceiptLine
from agent_memory.ports.records import View


class PostgresReceipts:
    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, lines: Sequence[ReceiptLine]) -> None:
        tenants: defaultdict[str, list[ReceiptLine]] = defaultdict(list)
        for line in lines:
            tenants[line.view.scope.tenant].append(line)
        for tenant, theirs in tenants.items():
            with self._database.writing(tenant, durable=False, seconds=BRIEF_SECONDS) as session:
                session.settle(tenant)
                _keep(session, theirs)
        if lines:
            self.expire(max(line.view.now for line in lines))

    def expire(self, now: int) -> int:
        oldest = now - RETENTION
        with self._database.reading(None) as session:
            if not session.cell("anything_expired", {"oldest": oldest}) or not believed(session, now, RETENTION):
                return 0
        with self._database.writing(None, durable=False) as session:
            gone = session.changed("expire_receipts", {"oldest": oldest})
            if session.changed("expire_accessed", {"oldest": oldest}):
                session.send("put_accessed_since", {"since": str(oldest)})
        return gone

    def receipt(self, view: View, id: str) -> str | None:
        with self._database.reading(view.scope.tenant) as session:
            found: str | None = session.cell("receipt", _reader(view.scope) | {"id": id})
        return found

    def since(self, whose: View | str, moment: int, limit: int) -> list[Kept]:
        tenant = whose if isinstance(whose, str) else whose.scope.tenant
        reader = {"user": None, "agent": None, "all": SHARED} if isinstance(whose, str) else _reader(whose.scope)
        with self._database.reading(tenant) as session:
            rows = session.rows("receipts_since", reader | {"moment": moment, "limit": limit})
        return [Kept(id, Scope(tenant=tenant, user=user, agent=agent), at, body) for id, user, agent, at, body in rows]

    def accesses(self, view: View, ids: Sequence[str], *, until: int | None = None) -> Mapping[str, Accesses]:
        rank = {(scope.user, scope.agent): place for place, scope in enumerate(view.scope.readable())}
        with self._database.reading(view.scope.tenant) as session:
            rows = session.rows("accesses_of", _reader(view.scope) | {"ids": list(ids)})
            rows.sort(key=lambda row: rank[row[1:3]], reverse=True)  # the narrowest comes last, and stays
            found = {id: (record, count, last) for id, _, _, record, count, last in rows}
            known = {id: Accesses(count, last) for id, (_, count, last) in found.items() if count is not None}
            late = [id for id, one in known.items() if until is not None and one.last is not None and one.last > until]
            if until is not None and late:
                known |= _until(session, {id: found[id][:2] for id in late}, until)
        return {id: known[id] for id in dict.fromkeys(ids) if id in known and known[id].times != 0}


def believed(session: PostgresSession, now: int, span: int) -> bool:
    """Whether a receipt or a line of any journal leads up to this moment: nothing is let go by a clock far ahead."""
    first, last = rules.witnesses(now, span)
    return bool(session.cell("leads_up", {"first": first, "last": last}))


def _keep(session: PostgresSession, lines: Sequence[ReceiptLine]) -> None:
    (founded,) = session.row("hold_head") or (0,)
    seen = {(one.user, one.agent) for line in lines for one in line.view.scope.readable()}
    users, agents = map(list, zip(*sorted(seen), strict=True))
    erasures = session.send("last_erasures", {"users": users, "agents": agents})
    wanted = sorted({handle for line in lines for handle in (*line.handles, *line.named)})
    records: dict[int, int] = dict(session.rows("records_of_versions", {"versions": wanted}))
    erased = {(user, agent): line or 0 for user, agent, line in erasures.fetchall()}
    shown: list[tuple[int, int]] = []
    for line in lines:
        if not {*line.handles, *line.named} <= records.keys():
            continue  # it tells of what is erased
        if another(founded, line.store, line.seq):
            continue  # the tenant was erased meanwhile
        last = max((erased.get((scope.user, scope.agent), 0) for scope in line.view.scope.readable()), default=0)
        told = sorted({records[handle] for handle in (*line.handles, *line.named)})
        if line.body:
            _insert(session, rules.kept(line, last), told)
        shown += [(records[handle], line.view.now) for handle in line.handles]
    if shown:
        numbers, moments = map(list, zip(*shown, strict=True))
        for statement in ("count_accesses", "note_accesses"):
            session.send(statement, {"records": numbers, "moments": moments})


def _insert(session: PostgresSession, line: ReceiptLine, told: list[int]) -> None:
    scope = line.view.scope
    columns = (line.id, scope.user, scope.agent, line.view.now, line.seq, line.terms, line.body, told)
    session.send("insert_receipt", (*columns, checksum(*columns)))


def _until(session: PostgresSession, found: Mapping[str, tuple[int, int]], until: int) -> dict[str, Accesses]:
    """All that ever were, without those that came later; unless some of these may have expired."""
    asked = {"records": [record for record, _ in found.values()], "until": until}
    rows, since = session.send("accessed_until", asked), session.cell("accessed_since") or 0
    later = {record: (times, last) for record, times, last in rows.fetchall()}
    told = {}
    for id, (record, count) in found.items():
        times, last = later[record]
        told[id] = rules.until(count, times, last, known=until >= since)
    return told


def _reader(scope: Scope) -> dict[str, Any]:
    return {"user": scope.user, "agent": scope.agent, "all": SHARED}
