"""Names that all tenants of a file had together become each tenant's own, when a file is upgraded."""

from __future__ import annotations

import sqlite3

from agent_memory.engines.sqlite.statements import SQL

_NAMED = {"kind": "versions", "status": "versions", "source": "versions", "type": "links"}


def part(connection: sqlite3.Connection) -> None:
    """In the transaction of the upgrade, and without reading a text: what is damaged stays as it is, and goes on
    telling. The first tenant of a name keeps its number, so that rows of a store with one tenant do not change."""
    for statement in ("names_used", "names_kept", "names_made", "names_moved"):
        connection.execute(SQL[statement])
    for column, table in _NAMED.items():
        connection.execute(SQL["move_names"].format(table=table, column=column))
    connection.execute(SQL["move_fields"])
    for table in ("names_to_move", "names_in_use"):
        connection.execute(SQL["drop_table"].format(table=table))
    replace(connection, "names", "own_names")


def replace(connection: sqlite3.Connection, table: str, new: str) -> None:
    """A table takes the place of another: the views that look at it go meanwhile."""
    views = connection.execute(SQL["views"]).fetchall()
    for name, _ in views:
        connection.execute(SQL["drop_view"].format(name=name.replace('"', '""')))
    connection.execute(SQL["drop_table"].format(table=table))
    connection.execute(SQL["rename_table"].format(table=new, name=table))
    for _, sql in views:
        connection.execute(sql)
