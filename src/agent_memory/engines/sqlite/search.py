"""Exact search over the rows that a reader may see: similarity, words, recency and keys, as evidence for core."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent_memory.engines.sqlite.interning import Interning, known_label
from agent_memory.engines.sqlite.shelf import Shelf
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ports.index import Pool, Probe
from agent_memory.ports.records import CONFINED
from agent_memory.ports.spans import span

BLOCK = 1024  # vectors turned into floats at a time: 1.5 MB, which stays in the processor's cache


@dataclass
class Search:
    """One question, asked shelf by shelf. `seq` is that of the snapshot."""

    connection: sqlite3.Connection
    interning: Interning
    probe: Probe
    seq: int
    parts: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    hidden: Counter[str] = field(default_factory=Counter)
    damaged: int = 0

    def __post_init__(self) -> None:
        asked = self.probe.view.seq
        self.at = self.seq if asked is None else min(self.seq, asked)
        until = self.probe.vectors_until
        self.until = self.seq if until is None else min(self.seq, until)
        self.frequencies = np.zeros(len(self.probe.terms), np.int64)

    def add(self, shelf: Shelf) -> None:
        """Collect the evidence of one shelf: a row per visible version."""
        probe = self.probe
        with shelf.lock:
            columns = {name: growing.rows for name, growing in shelf.columns.items()}
            order = shelf.order()
            place, lengths, contents = shelf.place.rows, shelf.lengths.rows, shelf.contents.count
            found = [shelf.postings.find(term) for term in probe.terms]
            vectors = None if shelf.vectors is None else shelf.vectors.rows
            scales, owners, lines = shelf.scales.rows, shelf.owners.rows, shelf.lines.rows
            ahead = shelf.seq > self.until
            self.damaged += len(shelf.damaged)
        rows = order[self._mask(columns)[order]]
        at = place[rows]
        told, telling = at, np.ones(len(at), np.int64)  # contents, and how many versions have each of them
        if probe.past:  # only there may several: before something else held, and after
            told, spread, telling = np.unique(at, return_inverse=True, return_counts=True)
        back = np.full(contents, -1, np.int64)
        back[told] = np.arange(len(told))
        counts = np.zeros((len(told), len(probe.terms)), np.uint8, order="F")  # core reads it word by word
        matching = np.zeros(len(told), np.bool_)
        with span("gather.words", terms=len(found)):
            for term, (places, times) in enumerate(found):
                here = back[places]
                shown = here >= 0
                here = here[shown]
                counts[here, term] = times[shown]
                matching[here] = True
                self.frequencies[term] += telling[here].sum()
        if probe.vector is None or vectors is None or not len(rows):
            similarity = np.full(len(told), np.nan, np.float32)
        else:
            belonging = back[owners]
            if ahead:  # of the snapshot, or of the moment that is replayed
                belonging[lines > self.until] = -1
            with span("gather.vectors", vectors=len(vectors)):
                similarity = _similarity(vectors, scales, belonging, probe.vector, len(told))
        if probe.past:
            counts, matching, similarity = counts.T.take(spread, axis=-1).T, matching[spread], similarity[spread]
        self.parts.append(
            {
                "handles": columns["version"][rows],
                "valid_from": columns["valid_from"][rows],
                "valid_to": columns["valid_to"][rows],
                "records": columns["record"][rows],
                "importance": columns["importance"][rows],
                "conversations": columns["conversation"][rows],
                "positions": columns["position"][rows],
                "similarity": similarity,
                "counts": counts,
                "matching": matching,
                "lengths": lengths[at],
            }
        )

    def pool(self, pending: int) -> Pool:
        """All shelves together: statistics over everything, rows only of the candidates."""
        parts = self.parts or [_nothing(len(self.probe.terms))]
        joined = parts[0] if len(parts) == 1 else {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
        handles = joined["handles"]
        joined["exact"] = np.isin(handles, self._exact())
        rows = self._candidates(joined)
        if len(parts) > 1:  # each shelf is in order, but a conversation may be on several
            rows = rows[np.lexsort((handles[rows], joined["positions"][rows], joined["conversations"][rows]))]
        if len(parts) > 1 or len(rows) < len(handles):
            joined = {name: column.T.take(rows, axis=-1).T for name, column in joined.items()}
        return Pool(
            seq=self.at,
            handles=joined["handles"],
            valid_from=joined["valid_from"],
            importance=joined["importance"],
            conversations=joined["conversations"],
            similarity=joined["similarity"],
            counts=joined["counts"],
            lengths=joined["lengths"],
            exact=joined["exact"],
            documents=len(handles),
            pending=pending,
            frequencies=self.frequencies,
            hidden=self.hidden if self.probe.tell_hidden else None,
            head=self.seq,
            damaged=self.damaged,
            valid_to=joined["valid_to"] if self.probe.past else None,
            records=joined["records"] if self.probe.past else None,
        )

    def _candidates(self, joined: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
        """The rows with a word or the key of the question, and the nearest and the newest."""
        handles = joined["handles"]
        if len(handles) <= self.probe.pool:
            return np.arange(len(handles))
        chosen = joined["matching"] | joined["exact"]
        if self.probe.also:
            chosen |= np.isin(handles, self.probe.also)
        for column in ("similarity", "valid_from"):
            chosen[_top(joined[column], handles, self.probe.pool)] = True
        return np.flatnonzero(chosen)

    def _exact(self) -> list[int]:
        """Versions whose natural key is just what was asked for."""
        if self.probe.key is None:
            return []
        return [version for (version,) in self.connection.execute(SQL["versions_with_key"], (self.probe.key,))]

    def _mask(self, columns: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Which versions the view and the filter let through."""
        left = int((columns["version"] <= self.seq).sum()) if self.probe.tell_hidden else 0
        for reason, mask in self._narrowed(columns):
            if self.probe.tell_hidden:
                passed = int(mask.sum())
                self.hidden[reason] += left - passed
                left = passed
        return mask

    def _narrowed(self, columns: dict[str, NDArray[Any]]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """What is left after each step, in the order of `HIDDEN`."""
        view, where = self.probe.view, self.probe.where
        valid_from, valid_to = columns["valid_from"], columns["valid_to"]
        mask: NDArray[np.bool_] = (columns["version"] <= self.at) & (columns["to_seq"] > self.at)
        yield "recorded", mask
        if view.valid_at is not None:
            mask &= (valid_from <= view.valid_at) & (valid_to > view.valid_at)
        else:
            over = mask & _held(columns, self.probe.past) & (valid_to <= view.now) if self.probe.past else None
            mask &= valid_to > view.now
            later = mask & (valid_from > view.now)
            if later.any():
                mask &= ~later
                coming = later & (valid_from < valid_to)  # what was cut to nothing never comes
                mask |= _first_to_come(columns, mask, coming)
            if over is not None:
                mask |= over
        yield "valid", mask
        if where.kinds is not None:
            mask &= self._among(columns["kind"], where.kinds)
            yield "kinds", mask
        mask &= self._among(columns["status"], where.statuses)
        yield "statuses", mask
        for name, column in (("conversation_id", "conversation"), ("repository", "repository")):
            if (text := getattr(where, name)) is not None:
                mask &= columns[column] == known_label(self.connection, text)
                yield name, mask
        if where.after is not None:
            mask &= valid_from >= where.after
            yield "after", mask
        if where.before is not None:
            mask &= valid_from < where.before
            yield "before", mask
        if where.min_confidence is not None:
            mask &= columns["confidence"] >= where.min_confidence
            yield "min_confidence", mask
        for name, value in where.fields:
            asked = (self.interning.known(self.connection, name), value)
            named = self.connection.execute(SQL["contents_with_field"], asked)
            mask &= np.isin(columns["content"], [content for (content,) in named])
            yield "fields", mask
        if where.pages is not None:
            mask &= ~self._elsewhere(columns, mask, where.pages)
            yield "pages", mask

    def _elsewhere(
        self, columns: dict[str, NDArray[Any]], mask: NDArray[np.bool_], pages: tuple[str, ...]
    ) -> NDArray[np.bool_]:
        """Which rows are confined to another place than these; nothing is read where no row could be."""
        kind, field = CONFINED
        confined: NDArray[np.bool_] = mask & self._among(columns["kind"], (kind,))
        if confined.any():
            asked = {
                "contents": json.dumps(columns["content"][confined].tolist()),
                "place": self.interning.known(self.connection, field),
                "pages": json.dumps(pages),
            }
            named = self.connection.execute(SQL["elsewhere"], asked)
            confined &= np.isin(columns["content"], [content for (content,) in named])
        return confined

    def _among(self, column: NDArray[Any], names: tuple[str, ...]) -> NDArray[np.bool_]:
        """Whether each row has one of these names: a table to look up, since names have small numbers."""
        numbers = [self.interning.known(self.connection, name) for name in names]
        if len(numbers) == 1:
            same: NDArray[np.bool_] = column == numbers[0]
            return same
        table = np.zeros(max([*numbers, int(column.max(initial=0))]) + 1, np.bool_)
        table[numbers] = True
        table[0] = False
        listed: NDArray[np.bool_] = table[column]
        return listed


def _held(columns: dict[str, NDArray[Any]], past: tuple[tuple[int, int], ...]) -> NDArray[np.bool_]:
    """Which versions held at some moment of one of these intervals."""
    begins, ends = columns["valid_from"], columns["valid_to"]
    held = np.zeros(len(begins), np.bool_)
    for start, end in past:
        held |= np.maximum(begins, start) < np.minimum(ends, end)
    return held


def _first_to_come(
    columns: dict[str, NDArray[Any]], held: NDArray[np.bool_], coming: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Of records that only begin in the future, the version that begins first."""
    first = np.zeros(len(held), np.bool_)
    begins = columns["record"][coming]
    holding = set(begins[np.isin(begins, columns["record"][held])].tolist())
    earliest: dict[int, int] = {}
    for row in np.flatnonzero(coming).tolist():
        record = int(columns["record"][row])
        other = earliest.get(record)
        if record not in holding and (other is None or columns["valid_from"][row] < columns["valid_from"][other]):
            earliest[record] = row
    first[list(earliest.values())] = True
    return first


def _similarity(
    vectors: NDArray[np.int8],
    scales: NDArray[np.float32],
    owners: NDArray[np.int64],
    query: NDArray[np.float32],
    rows: int,
) -> NDArray[np.float32]:
    """int8 rows against a float query, block by block; the best passage of each of the `rows` counts.
    `owners` says to which row a vector belongs (-1: to none that is visible)."""
    chosen = np.flatnonzero(owners >= 0)
    whole = len(chosen) == len(vectors)
    scores = np.empty(len(chosen), np.float32)
    for start in range(0, len(chosen), BLOCK):
        block = vectors[start : start + BLOCK] if whole else vectors[chosen[start : start + BLOCK]]
        scores[start : start + BLOCK] = block.astype(np.float32) @ query
    best = np.full(rows, -2.0, np.float32)
    np.maximum.at(best, owners[chosen], scores * scales[chosen])
    best[best == -2.0] = np.nan
    return best


def _top(values: NDArray[Any], handles: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The places of the largest values, NaN left out. Of equals the oldest come first, so the answer is one."""
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
        equal = np.flatnonzero(values == least)
        equal = equal[np.argsort(handles[places[equal]])][: count - len(above)]
        places = places[np.concatenate([above, equal])]
    return places


def _nothing(terms: int) -> dict[str, NDArray[Any]]:
    return {
        "handles": np.empty(0, np.int64),
        "valid_from": np.empty(0, np.int64),
        "valid_to": np.empty(0, np.int64),
        "records": np.empty(0, np.int64),
        "importance": np.empty(0, np.float32),
        "conversations": np.empty(0, np.int32),
        "positions": np.empty(0, np.int64),
        "similarity": np.empty(0, np.float32),
        "counts": np.empty((0, terms), np.uint8),
        "matching": np.empty(0, np.bool_),
        "lengths": np.empty(0, np.int32),
    }
