"""`memory.vectors`: several embeddings of a record, each in a namespace, behind the same wall. L5, L9."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from agent_memory.app.client import Client
from agent_memory.app.following import shown_here
from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.core.recall.near import near, receipt
from agent_memory.core.write.embed import BATCH, meanings
from agent_memory.models.embedding import MemoryIndex, VectorHit, VectorMatch, VectorNamespace, VectorRecalled
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.limits import Hits, Query
from agent_memory.models.model import Name, new_id
from agent_memory.models.moment import maybe_moment
from agent_memory.models.record import Record, Status
from agent_memory.ports.records import CONFINED
from agent_memory.ports.vectors import HeldVector, called, inside


class Vectors(Namespace):
    """Namespaces of vectors, of this user's own: nobody else reads or deletes them."""

    @operation("vectors.upsert", "PUT /vectors/{namespace}/{id}", permission=Permission.WRITE)
    def upsert(
        self,
        namespace: Name,
        id: Name,
        vector: list[float],
        metadata: dict[str, Any] | None = None,
        model: Name | None = None,
    ) -> None:
        """Store a vector under an id; the same id again replaces it.

        `model` says which one made it. All vectors of a namespace are of one model and one dimension.
        """
        self._client.runtime.mirroring.upsert(self._inside(namespace), id, vector, metadata or {}, model)

    @operation("vectors.query", "POST /vectors/{namespace}/near")
    def query(
        self,
        namespace: Name,
        vector: list[float],
        k: Hits = 10,
        where: dict[str, Any] | None = None,
    ) -> list[VectorMatch]:
        """The nearest, among those whose metadata equals `where` in every field it names."""
        runtime, name = self._client.runtime, self._inside(namespace)
        found = runtime.mirroring.query(name, vector, k, where)
        runtime.mirroring.score(name, found.matches, self._client.now())
        return [
            VectorMatch(
                id=one.id, score=one.score, metadata=dict(one.metadata), source=found.source, trouble=found.trouble
            )
            for one in found.matches
        ]

    @operation("vectors.delete", "POST /vectors/{namespace}/delete", permission=Permission.WRITE)
    def delete(self, namespace: Name, ids: list[Name]) -> int:
        """Delete vectors; says how many there were."""
        return self._client.runtime.mirroring.delete(self._inside(namespace), ids)

    @operation("vectors.embed", "POST /vectors/embed", permission=Permission.WRITE)
    def embed(
        self, ids: list[Name], namespaces: list[Name], metadata: dict[str, Any] | None = None
    ) -> list[MemoryIndex]:
        """Put records into namespaces: each gets an embedding there, made from its text by the namespace's embedder
        (the store's own, unless another is set). An existing embedding is replaced."""
        runtime = self._client.runtime
        known = self._texts(ids)
        if missing := [id for id in ids if id not in known]:
            raise NotFound(f"ids: there is no record {missing[0]!r}", field="ids")
        models: defaultdict[str, list[str]] = defaultdict(list)
        for name in dict.fromkeys(namespaces):
            models[_check_model(self._client, name)].append(name)
        try:
            for names in models.values():
                rest = iter(known.items())
                while some := dict(islice(rest, BATCH)):
                    self._put(some, names, metadata or {})
        finally:
            runtime.mirroring.tell_soon()
        wanted = {self._inside(name) for name in namespaces}
        return [_index(id, one) for id in ids for one in self._held(id) if one.namespace in wanted]

    def _put(self, texts: Mapping[str, str], namespaces: Sequence[str], metadata: Mapping[str, Any]) -> None:
        """Into namespaces of one model. What is forgotten while the model thinks is not put there; what is forgotten
        since goes again."""
        mirror, embedder = self._client.runtime.store.vectors, self._client.runtime.embedder_of(namespaces[0])
        made = dict(zip(texts, meanings(embedder, [*texts.values()]), strict=True))
        there = [*self._texts([*made])]
        for name in map(self._inside, namespaces):
            for id in there:
                mirror.upsert(name, id, made[id], metadata, embedder.space.fingerprint)
        left = self._texts(there)
        if gone := [id for id in there if id not in left]:
            for name in map(self._inside, namespaces):
                mirror.delete(name, gone)

    def _texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Of those that there are right now."""
        return {one.id: one.text for one in self._client.runtime.store.records.get(self._client.view(), ids)}

    @operation("vectors.recall", "POST /vectors/{namespace}/recall")
    def recall(
        self, query: Query, namespace: Name, k: Hits = 10, where: dict[str, Any] | None = None
    ) -> VectorRecalled:
        """Search the records of one namespace by meaning, in that namespace's model.

        `where` compares the metadata they were stored with. If a vector store is unreachable, only `source` differs:
        the mirror in the store has all vectors.
        """
        return recalled_from(self._client, query, namespace, k, where)

    @operation("vectors.of", "GET /vectors/of/{id}")
    def of(self, id: Name, vectors: bool = False) -> list[MemoryIndex]:
        """The embeddings that a record has, by namespace, with the last score of each; `vectors`: and their numbers."""
        return [_index(id, one, vectors=vectors) for one in self._held(id)]

    @operation("vectors.namespaces", "GET /vectors")
    def namespaces(self) -> list[VectorNamespace]:
        """The namespaces, with their model, dimension and number of vectors."""
        return [
            VectorNamespace(name=called(one.namespace), model=one.model, dimension=one.dimension, vectors=one.vectors)
            for one in self._client.runtime.store.vectors.namespaces(self._client.scope)
        ]

    def _inside(self, namespace: str) -> str:
        return inside(self._client.scope, namespace)

    def _held(self, id: str) -> list[HeldVector]:
        runtime = self._client.runtime
        runtime.mirroring.scores.flush()
        return runtime.store.vectors.held(self._client.scope, id)


def recalled_from(client: Client, query: str, namespace: str, k: int, where: dict[str, Any] | None) -> VectorRecalled:
    runtime, name, started, view = client.runtime, inside(client.scope, namespace), time.perf_counter(), client.view()
    embedder = runtime.embedder_of(namespace)
    _check_model(client, namespace)
    vector = embedder.embed_many([query])[0].tolist()
    shown = partial(_shown, client)
    seen, found = near(lambda k: runtime.mirroring.query(name, vector, k, where), shown, k)
    runtime.mirroring.score(name, [match for _, match in seen], client.now())
    recalled = VectorRecalled(
        query=query,
        namespace=namespace,
        hits=[VectorHit(record=one, score=match.score, metadata=dict(match.metadata)) for one, match in seen],
        source=found.source,
        trouble=found.trouble,
        model=embedder.space.fingerprint,
        receipt_id=new_id(),
    )
    asked = {"k": k, "where": where, "milliseconds": round((time.perf_counter() - started) * 1000, 3)}
    seq = runtime.store.records.seq_at(client.scope.tenant, view.now)
    runtime.receipts.add(receipt(recalled, view, seq, asked))
    return recalled


def _shown(client: Client, ids: Sequence[str]) -> list[Record]:
    """Those that hold now, and are not confined to another place."""
    kind, place = CONFINED
    found = client.runtime.store.records.get(client.view(), ids)
    pages = shown_here(client, None) if any(one.kind == kind for one in found) else ()
    return [
        one
        for one in found
        if one.status is Status.ACTIVE and (one.kind != kind or one.payload.get(place) in (None, *pages))
    ]


def _check_model(client: Client, namespace: str) -> str:
    """The model of a namespace. One that another has filled is not touched, nor asked in this one's numbers."""
    model = client.runtime.embedder_of(namespace).space.fingerprint
    settled = client.runtime.store.vectors.settled(inside(client.scope, namespace))
    if settled is not None and settled[1] != model:
        other = settled[1] or "a model that nobody named"
        ours = other in {one.fingerprint for one in client.runtime.embedder_of(namespace).earlier}
        raise InvalidInput(
            f"namespace: {namespace!r} holds vectors of {other}, not of {model}",
            hint="an earlier version of this package made them: delete them, and embed their records again"
            if ours
            else "set its embedder in AGENT_MEMORY_EMBEDDERS, or bring vectors of your own: upsert and query",
            field="namespace",
        )
    return model


def _index(id: str, held: HeldVector, *, vectors: bool = False) -> MemoryIndex:
    return MemoryIndex(
        id=id,
        namespace=called(held.namespace),
        model=held.model,
        dimension=len(held.vector),
        metadata=dict(held.metadata),
        score=held.score,
        scored_at=maybe_moment(held.scored_at),
        vector=[*held.vector] if vectors else None,
    )
