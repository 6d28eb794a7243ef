"""The `ReceiptStore` port on SQLite. Receipts are not journalled; what they showed counts as accessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning, scope_number
from agent_memory.ports.receipts import ReceiptLine
from agent_memory.ports.records import View

RETENTION = 90 * 86_400_000_000


class SqliteReceipts:
    def __init__(self, connections: Connections, interning: Interning) -> None:
        self._connections = connections
        self._interning = interning

    def keep(self, lines: Sequence[ReceiptLine]) -> None:
        if self._connections.read_only:  # a read is worth more than its receipt
            return
        with self._connections.writing(durable=False) as connection:
            for line in lines:
                scope = scope_number(connection, line.view.scope)
                receipt = connection.execute(
                    "insert into receipts (id, scope, at, seq, body) values (?, ?, ?, ?, ?) returning receipt",
                    (line.id, scope, line.view.now, line.seq, line.body),
                ).fetchone()[0]
                for handle in line.handles:
                    row = connection.execute("select record from versions where version = ?", (handle,)).fetchone()
                    if row is None:
                        continue
                    connection.execute("insert or ignore into shown (record, receipt) values (?, ?)", (row[0], receipt))
                    connection.execute(
                        "insert into accesses (record, count, last) values (?, 1, ?) on conflict do update "
                        "set count = count + 1, last = max(last, excluded.last)",
                        (row[0], line.view.now),
                    )
            oldest = max((line.view.now for line in lines), default=0) - RETENTION
            if connection.execute("delete from receipts where at < ?", (oldest,)).rowcount:
                connection.execute("delete from shown where receipt not in (select receipt from receipts)")

    def receipt(self, view: View, id: str) -> str | None:
        with self._connections.reading() as connection:
            scopes = ",".join(map(str, self._interning.readable(connection, view.scope)))
            row = connection.execute(
                f"select body from receipts where id = ? and scope in ({scopes})",
                (id,),
            ).fetchone()
        return None if row is None else row[0]

    def accesses(self, view: View, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        with self._connections.reading() as connection:
            sql = (
                "select a.count, a.last from versions v left join accesses a on a.record = v.record "
                "where v.id = ? and v.scope = ? limit 1"
            )
            found: dict[str, tuple[int | None, int | None]] = {}
            scopes = list(self._interning.readable(connection, view.scope))
            for scope in reversed(scopes):  # the narrowest comes last, and stays
                rows = ((id, connection.execute(sql, (id, scope)).fetchone()) for id in ids)
                found |= {id: row for id, row in rows if row is not None}
        return {id: (count, last) for id, (count, last) in found.items() if count is not None and last is not None}
