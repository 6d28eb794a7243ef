"""The `VectorStore` port on SQLite: int8 vectors in namespaces, scanned exactly. L9."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.seals import sealed
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import canonical_json
from agent_memory.ports.quantise import quantised, unit
from agent_memory.ports.vectors import Match


class SqliteVectors:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def upsert(self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any]) -> None:
        scale, data = quantised(unit(vector))
        text = canonical_json(dict(metadata), "metadata")
        with self._connections.writing() as connection:
            row = connection.execute(
                "select length(data) from namespaces where namespace = ? limit 1", (namespace,)
            ).fetchone()
            if row is not None and row[0] != len(data):
                raise _wrong_dimension(namespace, row[0], len(data))
            connection.execute(
                "insert into namespaces (namespace, id, scale, data, metadata, seal) values (?, ?, ?, ?, ?, ?) "
                "on conflict do update set scale = excluded.scale, data = excluded.data, metadata = excluded.metadata, "
                "seal = excluded.seal",
                sealed(namespace, id, scale, data, text),
            )

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        import numpy as np

        query = unit(vector)
        best: list[tuple[float, str, Any]] = []
        with self._connections.reading() as connection:
            cursor = connection.execute(
                "select id, scale, data, metadata from namespaces where namespace = ? order by id",
                (namespace,),
            )
            while rows := cursor.fetchmany(2048):
                if len(rows[0][2]) != len(query):
                    raise _wrong_dimension(namespace, len(rows[0][2]), len(query))
                kept = [(*row[:3], json.loads(row[3])) for row in rows]
                if where:
                    kept = [row for row in kept if all(row[3].get(name) == value for name, value in where.items())]
                matrix = np.frombuffer(b"".join(row[2] for row in kept), np.int8).reshape(-1, len(query))
                scores = matrix.astype(np.float32) @ query * np.array([row[1] for row in kept], np.float32)
                best += [(float(score), row[0], row[3]) for score, row in zip(scores, kept, strict=True)]
                best = sorted(best, key=lambda one: (-one[0], one[1]))[:k]
        return [Match(id, score, metadata) for score, id, metadata in best]

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        with self._connections.writing() as connection:
            return sum(
                connection.execute("delete from namespaces where namespace = ? and id = ?", (namespace, id)).rowcount
                for id in ids
            )


def _wrong_dimension(namespace: str, stored: int, given: int) -> InvalidInput:
    return InvalidInput(
        f"vector: namespace {namespace!r} holds vectors of {stored} numbers, not {given}",
        hint="use another namespace for another model",
        field="vector",
    )
