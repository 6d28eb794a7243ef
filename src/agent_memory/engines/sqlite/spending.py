"""The `SpendingStore` port on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger import spending
from agent_memory.ledger.seals import sealed
from agent_memory.ports.spending import (
    Account,
    Amount,
    DaySpending,
    Hold,
    Reserved,
    SpendingLimit,
    Standing,
    Used,
)


class SqliteSpending:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def reserve(self, account: Account, hold: Hold, settings: Sequence[SpendingLimit]) -> Reserved:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            answer = spending.judged(_standing(connection, account, settings), hold)
            _put(connection, spending.reserved(_row(connection, account), hold, answer))
        return answer

    def settle(self, account: Account, hold: Hold, used: Used) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            _put(connection, spending.settled(_row(connection, account), hold, used))

    def since(self, day: str) -> list[DaySpending]:
        with self._connections.reading() as connection:
            return [DaySpending(*row) for row in connection.execute(SQL["spent_since"], (day,)).fetchall()]

    def standing(self, account: Account, settings: Sequence[SpendingLimit]) -> list[Standing]:
        with self._connections.reading() as connection:
            return _standing(connection, account, settings)

    def limit(self, budget: SpendingLimit) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            if spending.unlimited(budget):
                connection.execute(SQL["drop_budget"], (budget.per, budget.tenant, budget.who))
            else:
                connection.execute(SQL["put_budget"], sealed(*spending.limits(budget)))

    def zone(self, wanted: str | None = None) -> str | None:
        with self._connections.reading() as connection:
            kept: str | None = cell(connection, SQL["get_meta"], (spending.ZONE,))
        if kept is not None or wanted is None or self._connections.read_only:
            return kept
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            connection.execute(SQL["keep_meta"], sealed(spending.ZONE, wanted))
        return self.zone()

    def budgets(self) -> list[SpendingLimit]:
        with self._connections.reading() as connection:
            return _budgets(connection)


def forget_tenant(connection: sqlite3.Connection, tenant: str) -> None:
    """Its budgets go, and its name; what it used is still used."""
    gone = [DaySpending(*row) for row in connection.execute(SQL["spent_of_tenant"], (tenant,)).fetchall()]
    for row in spending.nameless(gone):
        _put(connection, spending.added(_row(connection, row.account), row))
    connection.execute(SQL["tenant_spending"], {"name": tenant})
    connection.execute(SQL["drop_budgets_of_tenant"], {"tenant": tenant})


def _standing(connection: sqlite3.Connection, account: Account, settings: Sequence[SpendingLimit]) -> list[Standing]:
    found = []
    for budget, share in spending.shares([*_budgets(connection), *settings], account):
        statement = SQL["spent_in_run" if share.run else "spent_in_day"]
        found.append(Standing(budget, Amount(*connection.execute(statement, share._asdict()).fetchone())))
    return found


def _budgets(connection: sqlite3.Connection) -> list[SpendingLimit]:
    return [SpendingLimit(*row) for row in connection.execute(SQL["budgets"]).fetchall()]


def _row(connection: sqlite3.Connection, account: Account) -> DaySpending:
    row = connection.execute(SQL["spent_by"], account).fetchone()
    return DaySpending(*account) if row is None else DaySpending(*row)


def _put(connection: sqlite3.Connection, row: DaySpending) -> None:
    connection.execute(SQL["put_spent"], sealed(*row))
