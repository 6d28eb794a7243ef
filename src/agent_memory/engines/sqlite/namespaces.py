"""The `VectorStore` port on SQLite: int8 vectors in namespaces, scanned exactly. L9."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_memory.engines.sqlite import scrub
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.quantise import quantised, unit
from agent_memory.ledger.seals import sealed
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import canonical_json
from agent_memory.models.record import Scope
from agent_memory.ports.vectors import Match, sees


class SqliteVectors:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def upsert(self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any]) -> None:
        scale, data = quantised(unit(vector))
        text = canonical_json(dict(metadata), "metadata")
        with self._connections.writing() as connection:
            stored = cell(connection, SQL["namespace_dimension"], (namespace,))
            if stored not in (None, len(data)):
                raise _wrong_dimension(namespace, stored, len(data))
            connection.execute(SQL["namespace_upsert"], sealed(namespace, id, scale, data, text))

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        import numpy as np

        query, wanted = unit(vector), (where or {}).items()
        best: list[tuple[float, str, Any]] = []
        with self._connections.reading() as connection:
            stored = cell(connection, SQL["namespace_dimension"], (namespace,))
            if stored not in (None, len(query)):
                raise _wrong_dimension(namespace, stored, len(query))
            cursor = connection.execute(SQL["namespace_vectors"], (namespace,))
            while rows := cursor.fetchmany(2048):
                kept = [
                    (id, scale, data, said)
                    for id, scale, data, metadata in rows
                    for said in (json.loads(metadata),)
                    if all(said.get(name) == value for name, value in wanted)
                ]
                if kept:
                    ids, scales, data, said = zip(*kept, strict=True)
                    matrix = np.frombuffer(b"".join(data), np.int8).reshape(-1, len(query))
                    scores = matrix.astype(np.float32) @ query * np.array(scales, np.float32)
                    best += zip(scores.tolist(), ids, said, strict=True)
                    best = sorted(best, key=lambda one: (-one[0], one[1]))[:k]
        return [Match(id, score, metadata) for score, id, metadata in best]

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


def _wrong_dimension(namespace: str, stored: int, given: int) -> InvalidInput:
    return InvalidInput(
        f"vector: namespace {namespace!r} holds vectors of {stored} numbers, not {given}",
        hint="use another namespace for another model",
        field="vector",
    )
