"""Columns that hold what does not belong there: another type, or bytes that are not UTF-8.

SQLite takes any type in any column, and any bytes in a text. Whoever checks a store must be able to read them all.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.codecs import plain
from agent_memory.ledger.sound import row_named

ENCODED = "typeof(text) <> iif(codec is null, 'text', 'blob')"
"""What a text is not, whether or not a codec is named beside it."""


@contextmanager
def lenient(connection: sqlite3.Connection) -> Iterator[None]:
    """Meanwhile a text that is not UTF-8 is read, too: each wrong byte becomes a lone surrogate."""
    before, connection.text_factory = connection.text_factory, lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = before


def decoded(raw: object, codec: object) -> str:
    """A text that was read as a blob, to be used as well as it can be."""
    if codec is not None:
        with suppress(TypeError, ValueError):
            return str(plain(raw, codec))
        return ""
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)


def misplaced(connection: sqlite3.Connection) -> Iterator[str]:
    """Cells of another type than their column, by table and row."""
    for (table,) in connection.execute(SQL["tables"]).fetchall():
        known = connection.execute(SQL["columns"], (table,)).fetchall()
        keys = [name for name, _, _, pk in known if pk]
        may = {name: [kind, *([] if notnull or pk else ["null"])] for name, kind, notnull, pk in known if kind}
        wrong = {
            name: f"""typeof("{name}") not in ({",".join(f"'{one}'" for one in kinds)})"""
            for name, kinds in may.items()
        }
        if table == "contents":
            wrong["text"] = ENCODED
        asked = ", ".join(
            [*(f'"{key}"' for key in keys), *(f"""case when {wrong[name]} then typeof("{name}") end""" for name in may)]
        )
        sql = SQL["rows_where"].format(table=table, columns=asked, conditions=" or ".join(wrong.values()))
        for row in connection.execute(sql):
            place = row_named(keys, row)
            for name, found in zip(may, row[len(keys) :], strict=True):
                if found is not None:
                    yield f"{table}: {place}: {name} is of type {found}, not {may[name][0]}"


def count(connection: sqlite3.Connection, table: str) -> int:
    found: int = cell(connection, SQL["count"].format(table=table))
    return found
