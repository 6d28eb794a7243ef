"""Exact search over the rows that a reader may see: similarity, words, recency and keys, as evidence for core."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent_memory.ledger.shelves.columns import NOBODYS, Numbering, hashed
from agent_memory.ledger.shelves.masks import believed, holding
from agent_memory.ledger.shelves.shelf import Field, Seen, Shelf
from agent_memory.ports.index import Pool, Probe, Snapshot
from agent_memory.ports.records import CONFINED, Filter
from agent_memory.ports.spans import span

BLOCK = 512  # vectors turned into floats at a time: 0.8 MB, which stays in the processor's cache


@dataclass
class Search:
    """One question, asked shelf by shelf, as of one snapshot."""

    snapshot: Snapshot
    probe: Probe
    parts: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    numberings: list[Numbering] = field(default_factory=list)
    hidden: Counter[str] = field(default_factory=Counter)
    damaged: int = 0
    beyond: int = 0  # documents that nobody looked at, about
    approximate: bool = False

    def __post_init__(self) -> None:
        self.seq, self.at = self.snapshot.seq, self.snapshot.at(self.probe.view)
        until = self.probe.vectors_until
        self.until = self.seq if until is None else min(self.seq, until)
        self.frequencies = np.zeros(len(self.probe.terms), np.int64)

    def add(self, shelf: Shelf) -> None:
        """Collect the evidence of one shelf: a row per visible version."""
        probe = self.probe
        with shelf.lock:
            seen = shelf.seen(probe.terms, fields(shelf.numbering, probe))
            query = probe.vector if shelf.space == probe.space else None
            ahead = shelf.seq > self.until
            self.damaged += shelf.damaged
        columns, order = seen.columns, seen.order
        rows = order[self._mask(seen)[order]]
        at = columns["place"][rows]
        told = at  # contents
        if probe.past:  # only there may several versions have one: before something else held, and after
            told, spread, telling = np.unique(at, return_inverse=True, return_counts=True)
        back = np.full(len(seen.lengths), -1, np.int64)
        back[told] = np.arange(len(told))
        counts = np.zeros((len(told) + 1, len(probe.terms)), np.uint8, order="F")  # core reads it word by word
        with span("gather.words", terms=len(seen.words)):
            for term, (places, times) in enumerate(seen.words):
                column = counts[:, term]
                column[back[places]] = times  # what is not shown goes to the last row, which nobody reads
                having = column[:-1]
                self.frequencies[term] += telling[having > 0].sum() if probe.past else np.count_nonzero(having)
        counts = counts[:-1]
        matching = counts.max(axis=1, initial=0) > 0
        if query is None or not seen.vectors or not len(rows):
            similarity = np.full(len(told), np.nan, np.float32)
        else:
            vectors = seen.vectors
            belonging = back[vectors["place"]]
            if ahead:  # of the snapshot, or of the moment that is replayed
                belonging[vectors["line"] > self.until] = -1
            with span("gather.vectors", vectors=len(belonging)):
                similarity = _similarity(vectors["data"], vectors["scale"], belonging, query, len(told))
        if probe.past:
            counts, matching, similarity = counts.T.take(spread, axis=-1).T, matching[spread], similarity[spread]
        self.numberings.append(seen.numbering)
        past = {"valid_to": columns["valid_to"][rows], "records": columns["record"][rows]} if probe.past else {}
        self.parts.append(
            past
            | self._aside(seen, rows)
            | {
                "handles": columns["version"][rows],
                "valid_from": columns["valid_from"][rows],
                "importance": columns["importance"][rows],
                "conversations": columns["conversation"][rows],
                "positions": columns["position"][rows],
                "exact": _equal(columns["key"][rows], hashed(probe.key)),
                "similarity": similarity,
                "counts": counts,
                "matching": matching,
                "lengths": seen.lengths[at],
            }
        )

    @property
    def shown(self) -> int:
        """How many rows of the last shelf are visible."""
        return len(self.parts[-1]["handles"])

    def pool(self) -> Pool:
        """All shelves together: statistics over everything, rows only of the candidates."""
        if not self.parts:
            self.add(Shelf(self.probe.view.scope))
        parts = self.parts
        joined = parts[0] if len(parts) == 1 else {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
        handles = joined["handles"]
        rows = self._candidates(joined)
        if len(parts) > 1:  # each shelf is in order, but a conversation may be on several
            hashes = [one.hashes.rows[p["conversations"]] for one, p in zip(self.numberings, parts, strict=True)]
            joined["conversations"] = np.zeros(len(handles), np.int32)
            joined["conversations"][rows] = _renumbered(np.concatenate(hashes)[rows])
            rows = rows[np.lexsort((handles[rows], joined["positions"][rows], joined["conversations"][rows]))]
        if len(parts) > 1 or len(rows) < len(handles):
            joined = {name: column.T.take(rows, axis=-1).T for name, column in joined.items()}
        told = ("handles", "valid_from", "importance", "conversations", "similarity", "counts", "lengths", "exact")
        past = ("valid_to", "records") if self.probe.past else ()
        aside = ("aside",) if self.probe.aside is not None else ()
        return Pool(
            seq=self.at,
            documents=len(handles) + self.beyond,
            pending=self.snapshot.pending,
            frequencies=self.frequencies,
            hidden=self.hidden if self.probe.tell_hidden else None,
            head=self.seq,
            store=self.snapshot.store,
            damaged=self.damaged,
            vocabularies=self.snapshot.vocabularies,
            approximate=self.approximate,
            **{name: joined[name] for name in (*told, *past, *aside)},
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

    def _mask(self, seen: Seen) -> NDArray[np.bool_]:
        """Which versions the view and the filter let through."""
        left = _known(seen, self.seq) if self.probe.tell_hidden else 0
        for reason, mask in self._narrowed(seen, self.probe.where, self.probe.past):
            if self.probe.tell_hidden:
                passed = int(mask.sum())
                self.hidden[reason] += left - passed
                left = passed
        return mask

    def _aside(self, seen: Seen, rows: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
        """Which of these rows are of a conversation that is put aside."""
        where, conversations = self.probe.aside, seen.columns["conversation"]
        if where is None:
            return {}
        apart = conversations[:0]
        if all(len(seen.fields.get(one, ())) for one in where.fields):
            for _, mask in self._narrowed(seen, where, ()):
                apart = conversations[mask]
        return {"aside": np.isin(conversations[rows], apart[apart > 0])}

    def _narrowed(
        self, seen: Seen, where: Filter, past: tuple[tuple[int, int], ...]
    ) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """What is left after each step, in the order of `HIDDEN`."""
        view, columns = self.probe.view, seen.columns
        valid_from = columns["valid_from"]
        mask = believed(columns, self.at)
        yield "recorded", mask
        mask = holding(columns, mask, view, past)
        yield "valid", mask
        if where.kinds is not None:
            mask &= _among(seen, "kind", where.kinds)
            yield "kinds", mask
        mask &= _among(seen, "status", where.statuses)
        yield "statuses", mask
        for name, column in (("conversation_id", "conversation"), ("repository", "repository")):
            if (text := getattr(where, name)) is not None:
                mask &= columns[column] == seen.numbering[text]
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
        for one in where.fields:
            mask &= _having(seen, one)
            yield "fields", mask
        if where.pages is not None:
            mask &= ~_elsewhere(seen, where)
            yield "pages", mask


def fields(numbering: Numbering, probe: Probe) -> list[Field]:
    """Those that a probe asks for on a shelf: none for kinds that it does not have."""
    where, aside = probe.where, probe.aside
    apart = aside is not None and any(numbering[kind] != NOBODYS for kind in aside.kinds or ())
    return [*where.fields, *_confining(numbering, where), *(aside.fields if aside is not None and apart else ())]


def _confining(numbering: Numbering, where: Filter) -> list[Field]:
    """The fields that say where what is confined belongs: anywhere, and then to these places; nothing is read where
    no row is confined."""
    kind, place = CONFINED
    if where.pages is None or numbering[kind] == NOBODYS:
        return []
    return [(place,), *((place, page) for page in where.pages)]


def _elsewhere(seen: Seen, where: Filter) -> NDArray[np.bool_]:
    """Which rows are confined to another place than these."""
    confined = _among(seen, "kind", CONFINED[:1])
    if confined.any():
        anywhere, *here = _confining(seen.numbering, where)
        confined &= _having(seen, anywhere)
        for one in here:
            confined &= ~_having(seen, one)
    return confined


def _among(seen: Seen, name: str, texts: tuple[str, ...]) -> NDArray[np.bool_]:
    """Whether each row has one of these: a table to look up, since texts have small numbers."""
    column, numbers = seen.columns[name], [seen.numbering[text] for text in texts]
    if len(numbers) == 1:
        return _equal(column, numbers[0])
    table = np.zeros(max([*numbers, int(column.max(initial=0))]) + 1, np.bool_)
    table[[number for number in numbers if number != NOBODYS]] = True
    listed: NDArray[np.bool_] = table[column]
    return listed


def _known(seen: Seen, seq: int) -> int:
    """How many versions came until then, without those that were erased."""
    return int(((seen.columns["version"] <= seq) & (seen.columns["ended"] > 0)).sum())


def _equal(column: NDArray[Any], value: int) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (column == value) & (value != NOBODYS)
    return same


def _having(seen: Seen, field: Field) -> NDArray[np.bool_]:
    """Which rows have a field, with a value or at all."""
    contents = np.zeros(len(seen.lengths), np.bool_)
    contents[seen.fields[field]] = True
    having: NDArray[np.bool_] = contents[seen.columns["place"]]
    return having


def _renumbered(hashes: NDArray[np.int64]) -> NDArray[np.int32]:
    """One number for a conversation on all shelves, in the order in which they come; 0 for none."""
    _, first, spread = np.unique(hashes, return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first)) + 1
    return np.where(hashes == NOBODYS, 0, numbers[spread]).astype(np.int32)


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
    if not whole:
        owners, scales = owners[chosen], scales[chosen]
    scores = np.empty(len(owners), np.float32)
    floats = np.empty((min(BLOCK, len(owners)), len(query)), np.float32)
    for start in range(0, len(owners), BLOCK):
        part = slice(start, start + BLOCK)
        block = vectors[part] if whole else vectors[chosen[part]]
        floats[: len(block)] = block
        scores[part] = floats[: len(block)] @ query
    best = np.full(rows, -2.0, np.float32)
    np.maximum.at(best, owners, scores * scales)
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
