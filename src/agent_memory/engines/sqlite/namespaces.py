"""The `VectorStore` port on SQLite: rows that the ledger compares. L9."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_memory.engines.sqlite import scrub
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.namespaces import fit, nearest, packed
from agent_memory.ledger.quantise import unit
from agent_memory.ledger.seals import sealed
from agent_memory.models.record import Scope
from agent_memory.ports.vectors import Match, sees


class SqliteVectors:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def upsert(self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any]) -> None:
        scale, data, text = packed(vector, metadata)
        with self._connections.writing() as connection:
            fit(namespace, cell(connection, SQL["namespace_dimension"], (namespace,)), len(data))
            connection.execute(SQL["namespace_upsert"], sealed(namespace, id, scale, data, text))

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        query = unit(vector)
        with self._connections.reading() as connection:
            fit(namespace, cell(connection, SQL["namespace_dimension"], (namespace,)), len(query))
            return nearest(connection.execute(SQL["namespace_vectors"], (namespace,)), query, k, where)

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        with self._connections.writing() as connection:
            sql = SQL["namespace_delete"]
            return sum(connection.execute(sql, (namespace, id)).rowcount for id in ids)

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self._connections.writing() as connection:
            forget(connection, scope, ids)
            scrub.owe(connection, 0)
        scrub.settle(self._connections)

    def forget_tenant(self, tenant: str) -> None:
        with self._connections.writing() as connection:
            connection.execute(SQL["tenant_namespaces"], {"name": tenant})
            scrub.owe(connection, 0)
        scrub.settle(self._connections)


def forget(connection: sqlite3.Connection, scope: Scope, ids: Iterable[str]) -> None:
    """Delete what bears the id of one of these records, in the namespaces of whoever sees their scope."""
    names = [name for (name,) in connection.execute(SQL["namespace_names"], {"tenant": scope.tenant})]
    rows = [(name, id) for name in names if sees(name, scope) for id in ids]
    connection.executemany(SQL["namespace_delete"], rows)
