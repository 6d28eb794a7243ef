"""Exact search over the rows that a reader may see: similarity, words, recency and keys, as evidence for core."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent_memory.engines.sqlite import spaces
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning, known_label, readable
from agent_memory.engines.sqlite.journal import OURSELVES, Ledger
from agent_memory.engines.sqlite.read import Reader
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.shelf import Shelf
from agent_memory.models.record import Record, Scope
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Embedded, Pool, Probe, Unembedded
from agent_memory.ports.records import Filter, View

BLOCK = 1024  # vectors turned into floats at a time: 1.5 MB, which stays in the processor's cache
CACHE_BYTES = 512 * 1024 * 1024  # shelves beyond this are dropped, the longest unused first


class SqliteIndex:
    """The `Index` port. Shelves are shared by all threads of the process."""

    def __init__(self, connections: Connections, interning: Interning) -> None:
        self._connections = connections
        self._interning = interning
        self._shelves: OrderedDict[int, Shelf] = OrderedDict()
        self._guard = threading.Lock()

    def gather(self, probe: Probe) -> Pool:
        with self._connections.reading() as connection:
            seq = connection.execute("select coalesce(max(seq), 0) from journal").fetchone()[0]
            number, space = spaces.active(connection)
            if probe.vector is not None and probe.space != space:
                raise spaces.mismatch(probe.space, space)
            parts = []
            for scope in readable(connection, probe.view.scope):
                shelf = self._shelf(scope)
                shelf.follow(connection, seq, (number, space.dimension) if space else None)
                parts.append(_search(connection, self._interning, shelf, probe, seq))
            self._trim()
            exact = _exact(connection, probe)
        at = seq if probe.view.seq is None else min(seq, probe.view.seq)
        return _merge(parts, probe, at, exact)

    def hydrate(self, handles: Sequence[int]) -> list[Record]:
        with self._connections.reading() as connection:
            return Reader(connection, self._interning, View(Scope(), 0)).hydrate(handles)

    def space(self) -> Space | None:
        with self._connections.reading() as connection:
            return spaces.active(connection)[1]

    def begin(self, space: Space) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            spaces.begin(connection, self._interning, space)

    def switch(self, space: Space) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            spaces.switch(connection, self._interning, space)

    def pending(self, space: Space, view: View | None = None) -> int:
        with self._connections.reading() as connection:
            return spaces.pending(connection, space, view)

    def unembedded(self, space: Space, view: View | None, limit: int) -> list[Unembedded]:
        with self._connections.reading() as connection:
            return spaces.unembedded(connection, space, view, limit)

    def embedded(self, space: Space, batch: Sequence[Embedded], *, now: int) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            ledger = Ledger(connection, now, self._interning.name(connection, OURSELVES), None)
            spaces.embedded(connection, ledger, space, batch)

    def _shelf(self, scope: int) -> Shelf:
        with self._guard:
            shelf = self._shelves.setdefault(scope, Shelf(scope))
            self._shelves.move_to_end(scope)
            return shelf

    def _trim(self) -> None:
        with self._guard:
            total = sum(shelf.bytes for shelf in self._shelves.values())
            while total > CACHE_BYTES and len(self._shelves) > 1:
                _, oldest = self._shelves.popitem(last=False)
                total -= oldest.bytes


def _exact(connection: sqlite3.Connection, probe: Probe) -> set[int]:
    """Versions whose natural key is just what was asked for."""
    if probe.key is None:
        return set()
    return {row[0] for row in connection.execute("select version from versions where key = ?", (probe.key,))}


def _search(
    connection: sqlite3.Connection, interning: Interning, shelf: Shelf, probe: Probe, seq: int
) -> dict[str, NDArray[Any]]:
    """The evidence of one shelf: a row per visible version."""
    with shelf.lock:
        columns = {name: growing.rows for name, growing in shelf.columns.items()}
        place, lengths, contents = shelf.place.rows, shelf.lengths.rows, shelf.contents.count
        found = [shelf.postings.find(term) for term in probe.terms]
        vectors = None if shelf.vectors is None else shelf.vectors.rows
        scales, owners = shelf.scales.rows, shelf.owners.rows
    rows = np.flatnonzero(_mask(connection, interning, columns, probe.view, probe.where, seq))
    at = place[rows]
    counts = np.zeros((len(rows), len(probe.terms)), np.uint8)
    back = np.full(contents, -1, np.int64)
    back[at] = np.arange(len(rows))
    for term, (places, times) in enumerate(found):
        here = back[places]
        counts[here[here >= 0], term] = times[here >= 0]
    similarity = np.full(len(rows), np.nan, np.float32)
    if probe.vector is not None and vectors is not None and len(vectors) and len(rows):
        chosen = np.flatnonzero(back[owners] >= 0)
        scores = _dot(vectors, chosen, probe.vector) * scales[chosen]
        best = np.full(len(rows), -2.0, np.float32)
        np.maximum.at(best, back[owners[chosen]], scores)
        similarity = np.where(best > -2.0, best, np.float32(np.nan))
    return {
        "handles": columns["version"][rows],
        "valid_from": columns["valid_from"][rows],
        "importance": columns["importance"][rows],
        "similarity": similarity,
        "counts": counts,
        "lengths": lengths[at],
    }


def _mask(
    connection: sqlite3.Connection,
    interning: Interning,
    columns: dict[str, NDArray[Any]],
    view: View,
    where: Filter,
    seq: int,
) -> NDArray[np.bool_]:
    """Which versions this view and filter let through."""
    at = seq if view.seq is None else min(seq, view.seq)
    valid_from, valid_to = columns["valid_from"], columns["valid_to"]
    mask = (columns["version"] <= at) & (columns["to_seq"] > at)
    if view.valid_at is not None:
        mask &= (valid_from <= view.valid_at) & (valid_to > view.valid_at)
    else:
        mask &= valid_to > np.maximum(valid_from, view.now)  # cut to nothing: it will never hold
        later = mask & (valid_from > view.now)
        if later.any():
            mask &= ~later | _first_to_come(columns, mask, later)
    if where.kinds is not None:
        mask &= np.isin(columns["kind"], [interning.known(connection, kind) for kind in where.kinds])
    statuses = [interning.known(connection, status) for status in where.statuses]
    mask &= np.isin(columns["status"], statuses)
    for column, text in (("conversation", where.conversation_id), ("repository", where.repository)):
        if text is not None:
            mask &= columns[column] == known_label(connection, text)
    if where.after is not None:
        mask &= valid_from >= where.after
    if where.before is not None:
        mask &= valid_from < where.before
    for name, value in where.fields:
        sql = "select content from fields where name = ? and value = ?"
        named = connection.execute(sql, (interning.known(connection, name), value)).fetchall()
        mask &= np.isin(columns["content"], [row[0] for row in named])
    return mask


def _first_to_come(
    columns: dict[str, NDArray[Any]], mask: NDArray[np.bool_], later: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Of records that only begin in the future, the version that begins first."""
    first = np.zeros(len(mask), np.bool_)
    holding = set(columns["record"][mask & ~later].tolist())
    earliest: dict[int, int] = {}
    for row in np.flatnonzero(later).tolist():
        record = int(columns["record"][row])
        other = earliest.get(record)
        if record not in holding and (other is None or columns["valid_from"][row] < columns["valid_from"][other]):
            earliest[record] = row
    first[list(earliest.values())] = True
    return first


def _dot(vectors: NDArray[np.int8], chosen: NDArray[np.int64], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """int8 rows against a float query, block by block."""
    scores = np.empty(len(chosen), np.float32)
    whole = len(chosen) == len(vectors)
    for start in range(0, len(chosen), BLOCK):
        end = start + BLOCK
        block = vectors[start:end] if whole else vectors[chosen[start:end]]
        scores[start:end] = block.astype(np.float32) @ query
    return scores


def _merge(parts: list[dict[str, NDArray[Any]]], probe: Probe, seq: int, exact: set[int]) -> Pool:
    """All shelves together: statistics over everything, rows only of the candidates."""
    if not parts:
        parts = [_nothing(len(probe.terms))]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    handles, counts, lengths = joined["handles"], joined["counts"], joined["lengths"]
    matches = np.isin(handles, list(exact)) if exact else np.zeros(len(handles), np.bool_)
    chosen = counts.any(axis=1) | matches
    for column in ("similarity", "valid_from"):
        chosen[_top(joined[column], probe.pool)] = True
    rows = np.flatnonzero(chosen)
    return Pool(
        seq=seq,
        handles=handles[rows],
        valid_from=joined["valid_from"][rows],
        importance=joined["importance"][rows],
        similarity=joined["similarity"][rows],
        counts=counts[rows],
        lengths=lengths[rows],
        exact=matches[rows],
        documents=len(handles),
        mean_length=float(lengths.mean()) if len(lengths) else 0.0,
        frequencies=(counts > 0).sum(axis=0),
    )


def _top(values: NDArray[Any], count: int) -> NDArray[np.int64]:
    """The places of the largest values, NaN left out. Ties are decided by place, so the answer is one."""
    if values.dtype.kind == "f":
        places = np.flatnonzero(~np.isnan(values))
        values = values[places]
    else:
        places = np.arange(len(values))
    if count <= 0:
        return places[:0]
    if len(values) > count:
        least = np.partition(values, len(values) - count)[len(values) - count]
        above = np.flatnonzero(values > least)
        equal = np.flatnonzero(values == least)[: count - len(above)]
        places = places[np.concatenate([above, equal])]
    return places


def _nothing(terms: int) -> dict[str, NDArray[Any]]:
    return {
        "handles": np.empty(0, np.int64),
        "valid_from": np.empty(0, np.int64),
        "importance": np.empty(0, np.float32),
        "similarity": np.empty(0, np.float32),
        "counts": np.empty((0, terms), np.uint8),
        "lengths": np.empty(0, np.int32),
    }
