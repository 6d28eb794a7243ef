"""The `DebtStore` port on PostgreSQL. `incur` is called by the transaction that erases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_memory.engines.postgres.connection import Database, PostgresSession
from agent_memory.models.record import Scope
from agent_memory.ports.debts import Debt, Owed
from agent_memory.ports.vectors import VECTORS


def incur(session: PostgresSession, gone: Mapping[Scope, Sequence[str]], seq: int, now: int) -> None:
    """Every place outside must forget these."""
    for scope, ids in gone.items():
        session.send("incur", _words(scope) | {"ids": list(ids), "seq": seq, "now": now})


def incur_tenant(session: PostgresSession, number: int, tenant: str, seq: int, now: int) -> None:
    """Every place outside must forget all of a tenant; `seq` is the store's."""
    session.send("incur_tenant", _words(Scope(tenant=tenant)) | {"number": number, "seq": seq, "now": now})
    session.send("hush_places", {"tenant": tenant})


class PostgresDebts:
    def __init__(self, database: Database) -> None:
        self._database = database

    def attach(self, place: str) -> None:
        with self._database.reading(None) as session:
            if session.cell("is_attached", {"place": place}):
                return
        with self._database.writing(None) as session:
            if session.changed("attach", {"place": place}) and place.startswith(VECTORS):
                session.send("miss_all", {"place": place})

    def detach(self, place: str) -> int | None:
        with self._database.writing(None) as session:
            session.send("missed_written_off", {"place": place})
            left = session.changed("debts_written_off", {"place": place})
            return left if session.changed("detach", {"place": place}) else None

    def standing(self) -> list[Owed]:
        with self._database.reading(None) as session:
            return [Owed(*row) for row in session.rows("debts_standing")]

    def owed(self, place: str, limit: int) -> list[Debt]:
        with self._database.reading(None) as session:
            return [
                Debt(place, Scope(tenant=tenant, user=user, agent=agent), id, seq)
                for tenant, user, agent, id, seq in session.rows("debts_owed", {"place": place, "limit": limit})
            ]

    def paid(self, debts: Sequence[Debt]) -> None:
        with self._database.writing(None) as session:
            for one in debts:
                session.send("debt_paid", _words(one.scope) | {"place": one.place, "id": one.id or "", "seq": one.seq})
            for place in {one.place for one in debts}:
                session.send("place_error", {"place": place, "error": None})

    def failed(self, place: str, error: str) -> None:
        with self._database.writing(None) as session:
            session.send("place_error", {"place": place, "error": error})


def _words(scope: Scope) -> dict[str, Any]:
    return {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent}
