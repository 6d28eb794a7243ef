"""The `DebtStore` port on SQLite. `incur` is called by the transaction that erases."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from agent_memory.engines.sqlite import missed
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.seals import checksum, sealed
from agent_memory.models.record import Scope
from agent_memory.ports.debts import Debt, Owed
from agent_memory.ports.vectors import VECTORS

WHOLE = ""  # instead of the id of a record: everything of the tenant


def incur(connection: sqlite3.Connection, gone: Mapping[Scope, Sequence[str]], seq: int, now: int) -> None:
    """Every place outside must forget these."""
    for (place,) in connection.execute(SQL["places"]).fetchall():
        for scope, ids in gone.items():
            connection.executemany(SQL["incur"], [sealed(place, *_words(scope), id, seq, now) for id in ids])


def incur_tenant(connection: sqlite3.Connection, tenant: str, seq: int, now: int) -> None:
    """Every place outside must forget all of a tenant, whose name stays for so long; `seq` is the store's."""
    whole = Scope(tenant=tenant)
    for (place,) in connection.execute(SQL["places"]).fetchall():
        connection.execute(SQL["incur"], sealed(place, *_words(whole), WHOLE, seq, now))


def hush(connection: sqlite3.Connection, text: str) -> None:
    """Keep no error in which this stands."""
    for (place,) in connection.execute(SQL["places_saying"], (text,)).fetchall():
        note(connection, place, None)


class SqliteDebts:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def attach(self, place: str) -> None:
        with self._connections.reading() as connection:
            if cell(connection, SQL["is_attached"], (place,)):
                return
        with self._connections.writing() as connection:
            for (number,) in connection.execute(SQL["attach"], (place,)).fetchall():
                connection.execute(SQL["seal_place"], (checksum(number, place, None), number))
                if place.startswith(VECTORS):
                    missed.owe_all(connection, number)

    def detach(self, place: str) -> int | None:
        with self._connections.writing() as connection:
            connection.execute(SQL["missed_written_off"], (place,))
            left = connection.execute(SQL["debts_written_off"], (place,)).rowcount
            return left if connection.execute(SQL["detach"], (place,)).rowcount else None

    def standing(self) -> list[Owed]:
        with self._connections.reading() as connection:
            return [Owed(*row) for row in connection.execute(SQL["debts_standing"])]

    def owed(self, place: str, limit: int) -> list[Debt]:
        with self._connections.reading() as connection:
            return [
                Debt(place, Scope(tenant=tenant, user=user, agent=agent), None if id == WHOLE else id, seq)
                for tenant, user, agent, id, seq in connection.execute(SQL["debts_owed"], (place, limit))
            ]

    def paid(self, debts: Sequence[Debt]) -> None:
        rows = [(one.place, *_words(one.scope), WHOLE if one.id is None else one.id, one.seq) for one in debts]
        with self._connections.writing() as connection:
            connection.executemany(SQL["debt_paid"], rows)
            for place in {one.place for one in debts}:
                note(connection, place, None)

    def failed(self, place: str, error: str) -> None:
        with self._connections.writing() as connection:
            note(connection, place, error)


def note(connection: sqlite3.Connection, place: str, error: str | None) -> None:
    """What went wrong when a place was last asked; None: nothing."""
    for (number,) in connection.execute(SQL["other_error"], (place, error)).fetchall():
        connection.execute(SQL["place_error"], (error, checksum(number, place, error), number))


def _words(scope: Scope) -> tuple[str, str, str]:
    return scope.tenant, scope.user, scope.agent
