"""The `SpendingStore` port on SQLite."""

from __future__ import annotations

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ledger import spending
from agent_memory.ledger.seals import sealed
from agent_memory.ports.spending import DaySpending, Most, Reserved


class SqliteSpending:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def reserve(self, day: str, model: str, tokens: int, most: Most) -> Reserved:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            rows = [DaySpending(*row) for row in connection.execute(SQL["spent_on"], (day,)).fetchall()]
            row, answer = spending.reserved(rows, model, tokens, most, day)
            connection.execute(SQL["put_spent"], sealed(*row))
        return answer

    def settle(self, day: str, model: str, reserved: int, used: tuple[int, int]) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            for row in connection.execute(SQL["spent_on"], (day,)).fetchall():
                if (one := DaySpending(*row)).model == model:
                    connection.execute(SQL["put_spent"], sealed(*spending.settled(one, reserved, used)))

    def since(self, day: str) -> list[DaySpending]:
        with self._connections.reading() as connection:
            return [DaySpending(*row) for row in connection.execute(SQL["spent_since"], (day,)).fetchall()]
