"""The `SpendingStore` port on PostgreSQL."""

from __future__ import annotations

from agent_memory.engines.postgres.connection import Database, PostgresSession
from agent_memory.ledger import spending
from agent_memory.ports.spending import DaySpending, Most, Reserved


class PostgresSpending:
    def __init__(self, database: Database) -> None:
        self._database = database

    def reserve(self, day: str, model: str, tokens: int, most: Most) -> Reserved:
        with self._database.writing(None) as session:
            row, answer = spending.reserved(_locked(session, day), model, tokens, most, day)
            session.send("put_spent", row._asdict())
        return answer

    def settle(self, day: str, model: str, reserved: int, used: tuple[int, int]) -> None:
        with self._database.writing(None) as session:
            for row in _locked(session, day):
                if row.model == model:
                    session.send("put_spent", spending.settled(row, reserved, used)._asdict())

    def since(self, day: str) -> list[DaySpending]:
        with self._database.reading(None) as session:
            return [DaySpending(*row) for row in session.rows("spent_since", {"since": day})]


def _locked(session: PostgresSession, day: str) -> list[DaySpending]:
    session.send("spent_lock")
    return [DaySpending(*row) for row in session.rows("spent_on", {"day": day})]
