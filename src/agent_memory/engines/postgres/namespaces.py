"""The `Mirror` port on PostgreSQL: pgvector, compared exactly, namespace by namespace. L5, L9."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from agent_memory.engines.postgres.connection import Database, PostgresSession
from agent_memory.engines.postgres.feed import PostgresJobs
from agent_memory.engines.postgres.present import columns
from agent_memory.ledger.namespaces import fit, of_one_model, packed
from agent_memory.ledger.quantise import restored, unit
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

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STORES = 0
"""The tenant of namespaces that are nobody's."""


class PostgresVectors:
    def __init__(self, database: Database) -> None:
        self._database = database

    def upsert(
        self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any], model: str | None = None
    ) -> None:
        scale, data, text = packed(vector, metadata)
        tenant = owner(namespace)
        with self._database.writing(tenant) as session:
            if tenant is not None:
                session.settle(tenant)
            place = _place(session, namespace)
            for statement in ("namespaces_share", "namespace_lock"):
                session.send(statement, place)
            if (stored := session.row("namespace_settled", place)) is not None:
                dimension, known = stored
                fit(namespace, dimension, len(data))
                of_one_model(namespace, known, model)
            put(session, place | {"id": id, "model": model, "metadata": text}, restored(scale, data))
            session.send("miss", place | {"ids": [id], "place": None})

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        query, wanted = unit(vector), (where or {}).items()
        with self._database.reading(owner(namespace)) as session:
            place = _place(session, namespace)
            if (stored := session.row("namespace_settled", place)) is not None:
                dimension, _ = stored
                fit(namespace, dimension, len(query))
            near = session.stream("namespace_nearest", place | {"vector": _spelled(query)})
            matches = (Match(id, score, json.loads(metadata)) for id, score, metadata in near)
            fitting = (one for one in matches if all(one.metadata.get(name) == value for name, value in wanted))
            return list(islice(fitting, k))

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        with self._database.writing(owner(namespace)) as session:
            rows = _place(session, namespace) | {"ids": [*dict.fromkeys(ids)]}
            gone = session.changed("namespace_delete", rows)  # first, as everybody does: nobody waits for each other
            session.send("delete_scores", rows)
            session.send("miss", rows | {"place": None})
            return gone

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self._database.writing(scope.tenant) as session:
            forget(session, scope, ids)

    def forget_tenant(self, tenant: str) -> None:
        with self._database.writing(tenant) as session:
            session.send("all_namespaces")
            session.send("all_scores")
            session.send("miss_tenant_again", {"tenant": session.cell("me")})

    def settled(self, namespace: str) -> tuple[int, str | None] | None:
        with self._database.reading(owner(namespace)) as session:
            found: Any = session.row("namespace_settled", _place(session, namespace))
            return None if found is None else tuple(found)

    def namespaces(self, scope: Scope) -> list[Settled]:
        with self._database.reading(scope.tenant) as session:
            names = _names(session, beginning(scope))
            return [Settled(*row) for row in session.rows("namespace_counts", {"names": names})]

    def held(self, scope: Scope, id: str) -> list[HeldVector]:
        with self._database.reading(scope.tenant) as session:
            rows = session.rows("namespace_held", {"names": _names(session, beginning(scope)), "id": id})
            return [
                HeldVector(name, model, json.loads(vector), json.loads(metadata), score, at)
                for name, model, vector, metadata, score, at in rows
            ]

    def places(self, scope: Scope, ids: Sequence[str]) -> list[PlacedVector]:
        with self._database.reading(scope.tenant) as session:
            names = [name for name in _names(session, f"{scope.tenant}\x1f") if sees(name, scope)]
            rows = session.rows("namespace_places", {"names": names, "ids": [*ids]}) if names else []
        return [PlacedVector(name, id, model, json.loads(metadata)) for name, id, model, metadata in rows]

    def scored(self, scores: Sequence[Scored]) -> None:
        whose: defaultdict[str | None, dict[tuple[str, str], Scored]] = defaultdict(dict)
        for one in scores:
            whose[owner(one.namespace)][one.namespace, one.id] = one
        for tenant, last in whose.items():
            with self._database.writing(tenant, durable=False) as session:
                rows = ((one.namespace, one.id, one.score, one.at) for one in last.values())
                session.send("put_scores", columns("namespaces ids scores ats", rows))

    def lags(self) -> list[Lag]:
        with self._database.reading(None) as session:
            return [Lag(*row) for row in session.rows("lags")]

    def lags_in(self, place: str, namespace: str) -> bool:
        with self._database.reading(None) as session:
            asked = {"place": place, "namespace": namespace, "tenant": owner(namespace)}
            return bool(session.cell("lags_in", asked))

    def missed(self, place: str, after: int, limit: int) -> list[Missed]:
        with self._database.reading(None) as session:
            rows = session.rows("all_missed", {"place": place, "after": after, "limit": limit})
            return [
                Missed(namespace, id, number, None)
                if vector is None
                else Missed(namespace, id, number, json.loads(vector), json.loads(metadata))
                for namespace, id, number, vector, metadata in rows
            ]

    def told(self, place: str, rows: Sequence[Missed], work: Work) -> None:
        with self._database.writing(None) as session:
            PostgresJobs(session).go_on(work)
            said = columns("namespaces ids numbers", ((one.namespace, one.id, one.number) for one in rows))
            session.send("told", said | {"place": place})
            session.send("place_error", {"place": place, "error": None})

    def untold(self, place: str, rows: Sequence[Missed]) -> None:
        for one in rows:
            with self._database.writing(owner(one.namespace)) as session:
                session.send("miss", _place(session, one.namespace) | {"ids": [one.id], "place": place})


def put(session: PostgresSession, row: Mapping[str, Any], vector: NDArray[np.float32]) -> None:
    session.send("namespace_upsert", {**row, "dimension": len(vector), "vector": _spelled(vector)})


def forget(session: PostgresSession, scope: Scope, ids: Collection[str]) -> None:
    """Delete what bears the id of one of these records, in the namespaces of whoever sees their scope."""
    session.send("namespaces_hold", _place(session, ""))
    for name in _names(session, f"{scope.tenant}\x1f"):
        if sees(name, scope):
            gone = _place(session, name) | {"ids": list(ids)}
            for statement in ("namespace_delete", "delete_scores", "miss_again"):
                session.send(statement, gone)


def _names(session: PostgresSession, beginning: str) -> list[str]:
    return [name for (name,) in session.rows("namespace_names", {"beginning": beginning})]


def _place(session: PostgresSession, namespace: str) -> dict[str, Any]:
    me = session.cell("me")
    return {"tenant": STORES if me is None else me, "namespace": namespace}


def _spelled(vector: Any) -> str:
    return json.dumps(vector.tolist())
