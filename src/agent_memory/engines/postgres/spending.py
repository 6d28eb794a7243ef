"""The `SpendingStore` port on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.engines.postgres.connection import Database, PostgresSession
from agent_memory.ledger import spending
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


class PostgresSpending:
    def __init__(self, database: Database) -> None:
        self._database = database

    def reserve(self, account: Account, hold: Hold, settings: Sequence[SpendingLimit]) -> Reserved:
        with self._database.writing(None) as session:
            session.send("spent_lock")
            answer = spending.judged(_standing(session, account, settings), hold)
            _put(session, spending.reserved(_row(session, account), hold, answer))
        return answer

    def settle(self, account: Account, hold: Hold, used: Used) -> None:
        with self._database.writing(None) as session:
            session.send("spent_lock")
            _put(session, spending.settled(_row(session, account), hold, used))

    def since(self, day: str) -> list[DaySpending]:
        with self._database.reading(None) as session:
            return [DaySpending(*row) for row in session.rows("spent_since", {"since": day})]

    def standing(self, account: Account, settings: Sequence[SpendingLimit]) -> list[Standing]:
        with self._database.reading(None) as session:
            return _standing(session, account, settings)

    def limit(self, budget: SpendingLimit) -> None:
        with self._database.writing(None) as session:
            session.send("drop_budget" if spending.unlimited(budget) else "put_budget", budget._asdict())

    def zone(self, wanted: str | None = None) -> str | None:
        with self._database.reading(None) as session:
            kept: str | None = session.cell("get_meta", {"name": spending.ZONE})
        if kept is not None or wanted is None:
            return kept
        with self._database.writing(None) as session:
            session.send("keep_meta", {"name": spending.ZONE, "value": wanted})
        return self.zone()

    def budgets(self) -> list[SpendingLimit]:
        with self._database.reading(None) as session:
            return _budgets(session)


def forget_tenant(session: PostgresSession, tenant: str) -> None:
    """Its budgets go, and its name; what it used is still used."""
    session.send("spent_lock")
    gone = [DaySpending(*row) for row in session.rows("spent_of_tenant", {"name": tenant})]
    for row in spending.nameless(gone):
        _put(session, spending.added(_row(session, row.account), row))
    session.send("named_by_tenant", {"name": tenant}, table="spending")
    session.send("drop_budgets_of_tenant", {"name": tenant})


def _standing(session: PostgresSession, account: Account, settings: Sequence[SpendingLimit]) -> list[Standing]:
    found = []
    for budget, share in spending.shares([*_budgets(session), *settings], account):
        row = session.row("spent_in_run" if share.run else "spent_in_day", share._asdict()) or ()
        found.append(Standing(budget, Amount(*row)))
    return found


def _budgets(session: PostgresSession) -> list[SpendingLimit]:
    return [SpendingLimit(*row) for row in session.rows("budgets")]


def _row(session: PostgresSession, account: Account) -> DaySpending:
    row = session.row("spent_by", account._asdict())
    return DaySpending(*account) if row is None else DaySpending(*row)


def _put(session: PostgresSession, row: DaySpending) -> None:
    session.send("put_spent", row._asdict())
