"""The journal's table: its last line, and more of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from agent_memory.engines.sqlite.interning import Naming, touch
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ledger.journal import ADOPT, NOBODYS, OPERATIONS, Head, Line
from agent_memory.ledger.seals import sealed
from agent_memory.models.record import Scope


def head(connection: sqlite3.Connection) -> Head:
    return Head(*(connection.execute(SQL["head"]).fetchone() or ()))


def append(
    connection: sqlite3.Connection, names: Naming, lines: Iterable[Line], scopes: Mapping[Scope, int] | None = None
) -> None:
    """`scopes` has the number of each that a line is about: whoever holds its rows in memory notices by its row, and
    by `meta` what concerns everybody."""
    rows, lasts = [], {}
    for seq, at, operation, scope, record, other, actor, *rest in lines:
        number = NOBODYS if scope is None else (scopes or {})[scope]
        rows.append((seq, at, operation, number, record, other, names.number(actor), *rest))
        if number != NOBODYS:
            lasts[number] = seq
        elif operation == OPERATIONS[ADOPT]:
            connection.execute(SQL["put_meta"], sealed("adopted", str(seq)))
    connection.executemany(SQL["insert_journal"], rows)
    for number, seq in lasts.items():
        touch(connection, number, seq)
