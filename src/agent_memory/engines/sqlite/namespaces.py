"""The `Mirror` port on SQLite: rows that the ledger compares. L5, L9."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_memory.engines.sqlite import debts, missed, scrub
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.feed import SqliteJobs
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.namespaces import fit, nearest, of_one_model, packed
from agent_memory.ledger.quantise import restored, unit
from agent_memory.ledger.seals import checksum
from agent_memory.models.record import Scope
from agent_memory.ports.feed import Work
from agent_memory.ports.vectors import (
    HeldVector,
    Lag,
    Match,
    Missed,
    PlacedVector,
    Scored,
    Settled,
    beginning,
    owner,
    sees,
)


class SqliteVectors:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def upsert(
        self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any], model: str | None = None
    ) -> None:
        scale, data, text = packed(vector, metadata)
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            if (stored := _settled(connection, namespace)) is not None:
                dimension, known = stored
                fit(namespace, dimension, len(data))
                of_one_model(namespace, known, model)
            row = (namespace, id, scale, data, text)
            connection.execute(SQL["namespace_upsert"], (*row, model, seal(row, model)))
            missed.owe(connection, [(namespace, id)])

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        query = unit(vector)
        with self._connections.reading() as connection:
            if (stored := _settled(connection, namespace)) is not None:
                dimension, _ = stored
                fit(namespace, dimension, len(query))
            return nearest(connection.execute(SQL["namespace_vectors"], (namespace,)), query, k, where)

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        with self._connections.writing() as connection:
            rows = [(namespace, id) for id in dict.fromkeys(ids)]
            gone = sum(connection.execute(SQL["namespace_delete"], row).rowcount for row in rows)
            connection.executemany(SQL["delete_score"], rows)
            missed.owe(connection, rows)
            return gone

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self._connections.writing() as connection:
            forget(connection, scope, ids)
            scrub.owe(connection, 0)
        scrub.settle(self._connections)

    def forget_tenant(self, tenant: str) -> None:
        with self._connections.writing() as connection:
            forget_tenant(connection, tenant)
            scrub.owe(connection, 0)
        scrub.settle(self._connections)

    def settled(self, namespace: str) -> tuple[int, str | None] | None:
        with self._connections.reading() as connection:
            return _settled(connection, namespace)

    def namespaces(self, scope: Scope) -> list[Settled]:
        with self._connections.reading() as connection:
            names = _names(connection, beginning(scope))
            return [Settled(*row) for name in names for row in connection.execute(SQL["namespace_counts"], (name,))]

    def held(self, scope: Scope, id: str) -> list[HeldVector]:
        with self._connections.reading() as connection:
            return [
                HeldVector(name, model, restored(scale, data).tolist(), json.loads(metadata), score, at)
                for name in _names(connection, beginning(scope))
                for model, scale, data, metadata, score, at in connection.execute(SQL["namespace_vector"], (name, id))
            ]

    def places(self, scope: Scope, ids: Sequence[str]) -> list[PlacedVector]:
        with self._connections.reading() as connection:
            return [
                PlacedVector(name, id, model, json.loads(metadata))
                for name in _names(connection, f"{scope.tenant}\x1f")
                if sees(name, scope)
                for id in dict.fromkeys(ids)
                for model, _, _, metadata, *_ in connection.execute(SQL["namespace_vector"], (name, id))
            ]

    def scored(self, scores: Sequence[Scored]) -> None:
        with self._connections.writing(durable=False) as connection:
            for one in scores:
                row = {"namespace": one.namespace, "id": one.id, "score": one.score, "at": one.at}
                connection.execute(SQL["put_score"], row | {"seal": checksum(*row.values())})

    def lags(self) -> list[Lag]:
        with self._connections.reading() as connection:
            return missed.lags(connection)

    def lags_in(self, place: str, namespace: str) -> bool:
        with self._connections.reading() as connection:
            number = cell(connection, SQL["place_number"], (place,))
            asked = {"place": number, "namespace": namespace, "tenant": owner(namespace)}
            return bool(cell(connection, SQL["lags_in"], asked))

    def missed(self, place: str, after: int, limit: int) -> list[Missed]:
        with self._connections.reading() as connection:
            number = cell(connection, SQL["place_number"], (place,))
            return [
                Missed(namespace, id, number, None)
                if data is None
                else Missed(namespace, id, number, restored(scale, data).tolist(), json.loads(metadata))
                for namespace, id, number, scale, data, metadata in connection.execute(
                    SQL["all_missed"], (number, after, limit)
                )
            ]

    def told(self, place: str, rows: Sequence[Missed], work: Work) -> None:
        with self._connections.writing() as connection:
            SqliteJobs(connection).go_on(work)
            number = cell(connection, SQL["place_number"], (place,))
            connection.executemany(SQL["told"], [(number, one.namespace, one.id, one.number) for one in rows])
            debts.note(connection, place, None)

    def untold(self, place: str, rows: Sequence[Missed]) -> None:
        with self._connections.writing() as connection:
            missed.owe(connection, [(one.namespace, one.id) for one in rows], place)


def seal(row: Sequence[object], model: str | None) -> bytes:
    """Rows that name no model are sealed as they were before there were any."""
    return checksum(*row, *(() if model is None else (model,)))


def forget(connection: sqlite3.Connection, scope: Scope, ids: Iterable[str]) -> None:
    """Delete what bears the id of one of these records, in the namespaces of whoever sees their scope."""
    names = _names(connection, f"{scope.tenant}\x1f")
    rows = [(name, id) for name in names if sees(name, scope) for id in ids]
    connection.executemany(SQL["namespace_delete"], rows)
    connection.executemany(SQL["delete_score"], rows)
    missed.owe_again(connection, rows)


def forget_tenant(connection: sqlite3.Connection, tenant: str) -> None:
    whose = {"name": tenant}
    connection.execute(SQL["tenant_namespaces"], whose)
    connection.execute(SQL["tenant_scores"], whose)
    missed.owe_again(connection, connection.execute(SQL["tenant_missed"], whose).fetchall())


def _settled(connection: sqlite3.Connection, namespace: str) -> tuple[int, str | None] | None:
    found: tuple[int, str | None] | None = connection.execute(SQL["namespace_settled"], (namespace,)).fetchone()
    return found


def _names(connection: sqlite3.Connection, beginning: str) -> list[str]:
    return [name for (name,) in connection.execute(SQL["namespace_names"], {"beginning": beginning})]
