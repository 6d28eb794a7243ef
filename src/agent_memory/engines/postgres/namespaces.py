"""The `VectorStore` port on PostgreSQL: pgvector, compared exactly, namespace by namespace. L9."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from agent_memory.engines.postgres.connection import Database, Session
from agent_memory.ledger.namespaces import fit, packed
from agent_memory.ledger.quantise import restored, unit
from agent_memory.models.record import Scope
from agent_memory.ports.vectors import Match, owner, sees

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STORES = 0
"""The tenant of namespaces that are nobody's."""


class PostgresVectors:
    def __init__(self, database: Database) -> None:
        self._database = database

    def upsert(self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any]) -> None:
        scale, data, text = packed(vector, metadata)
        tenant = owner(namespace)
        with self._database.writing(tenant) as session:
            if tenant is not None:
                session.settle(tenant)
            place = _place(session, namespace)
            session.send("namespace_lock", place)
            fit(namespace, session.cell("namespace_dimension", place), len(data))
            put(session, place, id, restored(scale, data), text)

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        query, wanted = unit(vector), (where or {}).items()
        with self._database.reading(owner(namespace)) as session:
            place = _place(session, namespace)
            fit(namespace, session.cell("namespace_dimension", place), len(query))
            near = session.stream("namespace_nearest", place | {"vector": _spelled(query)})
            matches = (Match(id, score, json.loads(metadata)) for id, score, metadata in near)
            fitting = (one for one in matches if all(one.metadata.get(name) == value for name, value in wanted))
            return list(islice(fitting, k))

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        with self._database.writing(owner(namespace)) as session:
            return session.changed("namespace_delete", _place(session, namespace) | {"ids": list(ids)})

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self._database.writing(scope.tenant) as session:
            forget(session, scope, ids)

    def forget_tenant(self, tenant: str) -> None:
        with self._database.writing(tenant) as session:
            session.send("all_namespaces")


def put(session: Session, place: Mapping[str, Any], id: str, vector: NDArray[np.float32], metadata: str) -> None:
    row = {"id": id, "dimension": len(vector), "vector": _spelled(vector), "metadata": metadata}
    session.send("namespace_upsert", {**place, **row})


def forget(session: Session, scope: Scope, ids: Collection[str]) -> None:
    """Delete what bears the id of one of these records, in the namespaces of whoever sees their scope."""
    for (name,) in session.rows("namespace_names"):
        if sees(name, scope):
            session.send("namespace_delete", _place(session, name) | {"ids": list(ids)})


def _place(session: Session, namespace: str) -> dict[str, Any]:
    me = session.cell("me")
    return {"tenant": STORES if me is None else me, "namespace": namespace}


def _spelled(vector: Any) -> str:
    return json.dumps(vector.tolist())
