"""The `ReceiptStore` port on SQLite. Receipts are not journalled; what they showed counts as accessed."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from agent_memory.engines.sqlite import scrub
from agent_memory.engines.sqlite.connection import BRIEF_SECONDS, Connections
from agent_memory.engines.sqlite.expiry import believed
from agent_memory.engines.sqlite.interning import Interning, founded, known_scope, scope_number
from agent_memory.engines.sqlite.statements import SQL, cell, listed
from agent_memory.ledger import receipts as rules
from agent_memory.ledger.seals import checksum, sealed, sealed_again
from agent_memory.ledger.tenants import another
from agent_memory.models.record import Scope
from agent_memory.ports.receipts import RETENTION, Accesses, Kept, ReceiptLine
from agent_memory.ports.records import View


class SqliteReceipts:
    def __init__(self, connections: Connections, interning: Interning) -> None:
        self._connections = connections
        self._interning = interning

    def keep(self, lines: Sequence[ReceiptLine]) -> None:
        if self._connections.read_only:  # a read is worth more than its receipt
            return
        with self._connections.writing(durable=False, seconds=BRIEF_SECONDS) as connection:
            last = {scope: _last_erasure(connection, scope) for scope in {line.view.scope for line in lines}}
            for line in lines:
                _keep(connection, rules.kept(line, last[line.view.scope]))
            _expire(connection, max((line.view.now for line in lines), default=0))
            debt = scrub.owed(connection)
        if debt is not None:
            scrub.scrub(self._connections)

    def expire(self, now: int) -> int:
        oldest = now - RETENTION
        with self._connections.reading() as connection:
            if self._connections.read_only or not cell(connection, SQL["anything_expired"], {"oldest": oldest}):
                return 0
        with self._connections.writing(durable=False) as connection:
            return _expire(connection, now)

    def receipt(self, view: View, id: str) -> str | None:
        with self._connections.reading() as connection:
            scopes = listed(self._interning.readable(connection, view.scope))
            found: str | None = cell(connection, SQL["receipt"].format(scopes=scopes), (id,))
        return found

    def since(self, whose: View | str, moment: int, limit: int) -> list[Kept]:
        with self._connections.reading() as connection:
            if isinstance(whose, str):
                which = SQL["of_tenant"]
            else:
                which = SQL["of_scopes"].format(scopes=listed(self._interning.readable(connection, whose.scope)))
            asked = {"tenant": whose, "moment": moment, "limit": limit}
            rows = connection.execute(SQL["receipts_since"].format(whose=which), asked).fetchall()
        return [Kept(id, Scope(tenant=t, user=u, agent=a), at, body) for id, t, u, a, at, body in rows]

    def accesses(self, view: View, ids: Sequence[str], *, until: int | None = None) -> Mapping[str, Accesses]:
        with self._connections.reading() as connection:
            sql = SQL["accesses_of"]
            found: dict[str, tuple[int, int | None, int | None]] = {}
            scopes = list(self._interning.readable(connection, view.scope))
            for scope in reversed(scopes):  # the narrowest comes last, and stays
                rows = ((id, connection.execute(sql, (id, scope)).fetchone()) for id in ids)
                found |= {id: row for id, row in rows if row is not None}
            told = {
                id: Accesses(count, last)
                if until is None or last <= until
                else _until(connection, record, count, until)
                for id, (record, count, last) in found.items()
                if count is not None and last is not None
            }
        return {id: one for id, one in told.items() if one.times != 0}


def _keep(connection: sqlite3.Connection, line: ReceiptLine) -> None:
    tenant = cell(connection, SQL["tenant"], (line.view.scope.tenant,))
    if another(founded(connection, tenant), line.store, line.seq):
        return  # the tenant was erased meanwhile
    shown, named = (
        [cell(connection, SQL["record_of_version"], (tenant, handle)) for handle in handles]
        for handles in (line.handles, line.named)
    )
    if None in shown or None in named:
        return  # it tells of what is erased
    if line.body:
        _insert(connection, line, sorted({*shown, *named}))
    for record in shown:
        _access(connection, record, line.view.now)


def _insert(connection: sqlite3.Connection, line: ReceiptLine, told: list[int]) -> None:
    number = cell(connection, SQL["next_receipt"])
    scope = scope_number(connection, line.view.scope)
    columns = (number, line.id, scope, line.view.now, line.seq, line.terms, line.body)
    connection.execute(SQL["insert_receipt"], (*columns, checksum(*columns, told)))
    connection.executemany(SQL["insert_shown"], [(record, number) for record in told])


def _access(connection: sqlite3.Connection, record: int, at: int) -> None:
    _, count, last, _ = old = connection.execute(SQL["accesses"], (record,)).fetchone() or (record, 0, at, None)
    row = sealed_again(old, record, _whole(count) + 1, max(_whole(last), at))
    connection.execute(SQL["put_accesses"], row)
    _, _, times, _ = old = connection.execute(SQL["accessed"], (record, at)).fetchone() or (record, at, 0, None)
    connection.execute(SQL["put_accessed"], sealed_again(old, record, at, _whole(times) + 1))


def _whole(number: object) -> int:
    """A damaged count must not keep receipts from being stored; its checksum still tells."""
    return number if isinstance(number, int) else 0


def _expire(connection: sqlite3.Connection, now: int) -> int:
    oldest = now - RETENTION
    if not cell(connection, SQL["anything_expired"], {"oldest": oldest}) or not believed(connection, now, RETENTION):
        return 0
    gone = connection.execute(SQL["expire_receipts"], (oldest,)).rowcount
    if gone:
        connection.execute(SQL["expire_shown"])
    if connection.execute(SQL["expire_accessed"], (oldest,)).rowcount:
        since = max(oldest, _known_since(connection))
        connection.execute(SQL["put_meta"], sealed("accessed", str(since)))
    return gone


def _known_since(connection: sqlite3.Connection) -> int:
    return int(cell(connection, SQL["accessed_since"]) or 0)


def _until(connection: sqlite3.Connection, record: int, count: int, until: int) -> Accesses:
    later, last = connection.execute(SQL["accessed_until"], {"record": record, "until": until}).fetchone()
    return rules.until(count, later, last, known=until >= _known_since(connection))


def _last_erasure(connection: sqlite3.Connection, reader: Scope) -> int:
    """The last journal line that erased something of what this reader sees; 0 when none did."""
    numbers = (known_scope(connection, scope) for scope in reader.readable())
    last: int = max(cell(connection, SQL["last_erasure"], (number,)) or 0 for number in numbers)
    return last
