"""One scope's rows as columns in memory, so that a search is arithmetic.

A shelf is loaded when its scope is first searched and brought up to a snapshot's seq before every search. It only
ever grows, except after an erasure, which makes it load again. Readers mask by seq, so a shelf that is ahead of
somebody's snapshot still answers as of that snapshot.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent_memory.engines.sqlite.postings import ENTRY, Postings
from agent_memory.engines.sqlite.statements import SQL, VECTORS_PER_LINE
from agent_memory.ledger.journal import ADOPT, AMEND, EMBED, ERASE, OPERATIONS, PUT

FAR_BEHIND = 20_000  # journal lines; beyond it, loading afresh is cheaper than following
NAME = 400  # bytes that a name takes in memory, about

_COLUMNS = {
    "version": np.int64,
    "record": np.int64,
    "content": np.int64,
    "kind": np.int32,
    "status": np.int32,
    "conversation": np.int32,
    "position": np.int64,
    "repository": np.int32,
    "importance": np.float32,
    "confidence": np.float64,
    "valid_from": np.int64,
    "valid_to": np.int64,
    "to_seq": np.int64,
}


Row = tuple[Any, ...]
_TYPES = tuple(float if dtype in (np.float32, np.float64) else int for dtype in _COLUMNS.values())
_SMALL = [place for place, dtype in enumerate(_COLUMNS.values()) if dtype is np.int32]


def _is_version(row: Row) -> bool:
    """Whether every column holds what it should: SQLite would take anything."""
    return tuple(map(type, row)) == _TYPES and all(-(2**31) <= row[place] < 2**31 for place in _SMALL)


def _is_words(row: Row) -> bool:
    _, length, terms = row
    return type(length) is int and 0 <= length < 2**31 and type(terms) is bytes and len(terms) % ENTRY == 0


def _names(called: Callable[[dict[str, Any]], Sequence[str]], payload: object) -> Sequence[str]:
    """None where the payload cannot be read: `hydrate` says so, when it comes to that."""
    try:
        return called(json.loads(payload))  # type: ignore[arg-type]
    except (TypeError, ValueError, KeyError, AttributeError):
        return ()


class Growing:
    """An array that is appended to. Views handed out before stay valid: rows below `count` never move."""

    def __init__(self, dtype: Any, width: int = 0) -> None:
        self._shape = (width,) if width else ()
        self._data = np.empty((0, *self._shape), dtype)
        self.count = 0

    def extend(self, rows: NDArray[Any]) -> None:
        needed = self.count + len(rows)
        if needed > len(self._data):
            grown = np.empty((max(needed, len(self._data) * 5 // 4 + 16), *self._shape), self._data.dtype)
            grown[: self.count] = self._data[: self.count]
            self._data = grown
        self._data[self.count : needed] = rows
        self.count = needed

    @property
    def rows(self) -> NDArray[Any]:
        return self._data[: self.count]


class Shelf:
    """Columns of versions, postings of words, int8 vectors with the position of the content they belong to."""

    def __init__(self, scope: int) -> None:
        self.scope = scope
        self.lock = threading.Lock()
        self._empty()

    def _empty(self) -> None:
        self.seq = -1
        self.space = 0
        self.columns = {name: Growing(dtype) for name, dtype in _COLUMNS.items()}
        self.place = Growing(np.int64)  # of each version: where its content stands in `contents`
        self.contents = Growing(np.int64)
        self.lengths = Growing(np.int32)
        self.postings = Postings()
        self.vectors: Growing | None = None
        self.scales = Growing(np.float32)
        self.owners = Growing(np.int64)  # of each vector: where its content stands
        self.lines = Growing(np.int64)  # of each vector: the journal line that brought it
        self._order: NDArray[np.int64] | None = None
        self.names: dict[str, dict[int, int]] = {}  # name -> record -> its first version that goes by it
        self.named = 0  # how many versions were asked for their names
        self.damaged: set[tuple[str, int]] = set()  # rows that cannot be read, and are left out

    def follow(self, connection: sqlite3.Connection, seq: int, space: tuple[int, int] | None) -> bool:
        """Bring the shelf up to `seq`, and say whether that was needed; `space` is the active one and its dimension."""
        with self.lock:
            if self.seq >= seq and (space is None or self.space == space[0]):
                return False
            try:
                if self.seq < 0 or seq - self.seq > FAR_BEHIND:
                    self._empty()
                    self._read(connection, 0, space)
                else:
                    self._catch_up(connection, space)
            except BaseException:
                self._empty()  # some rows are in, and would come in again
                raise
            self.seq = max(self.seq, seq)
            return True

    def _catch_up(self, connection: sqlite3.Connection, space: tuple[int, int] | None) -> None:
        changes = connection.execute(SQL["shelf_changes"], (self.seq, self.scope)).fetchall()
        operations = {operation for _, operation, _ in changes}
        if operations & {OPERATIONS[ERASE], OPERATIONS[ADOPT]}:
            self._empty()
            self._read(connection, 0, space)
        elif operations & {OPERATIONS[PUT], OPERATIONS[AMEND], OPERATIONS[EMBED]}:
            self._read(connection, self.seq, space)
            versions, to_seq = self.columns["version"].rows, self.columns["to_seq"].rows
            for record in {record for _, _, record in changes if record is not None}:
                for version, ended in connection.execute(SQL["ended"], (record,)):
                    place = int(np.searchsorted(versions, version))
                    if place < len(versions) and versions[place] == version:
                        to_seq[place] = ended

    def _read(self, connection: sqlite3.Connection, after: int, space: tuple[int, int] | None) -> None:
        rows = connection.execute(SQL["shelf_versions"], (self.scope, after)).fetchall()
        versions = self._sound("version", rows, _is_version)
        if versions:
            new = dict(zip(_COLUMNS, zip(*versions, strict=True), strict=True))
            last = int(self.contents.rows[-1]) if self.contents.count else 0
            self._read_words(connection, after, sorted({content for content in new["content"] if content > last}))
            for name, dtype in _COLUMNS.items():
                self.columns[name].extend(np.array(new[name], dtype))
            self.place.extend(np.searchsorted(self.contents.rows, np.array(new["content"], np.int64)))
        if space is not None:
            self._read_vectors(connection, after, space)

    def _read_words(self, connection: sqlite3.Connection, after: int, contents: list[int]) -> None:
        """Of these new contents; one whose words are not there, or cannot be read, is found by other means."""
        if not contents:
            return
        first = self.contents.count
        rows = connection.execute(SQL["shelf_words"], (self.scope, after, contents[0] - 1)).fetchall()
        words = {content: (length, terms) for content, length, terms in self._sound("words", rows, _is_words)}
        self.damaged |= {("words", content) for content in contents if content not in words}
        lengths, terms = zip(*(words.get(content, (0, b"")) for content in contents), strict=True)
        self.contents.extend(np.array(contents, np.int64))
        self.lengths.extend(np.array(lengths, np.int32))
        self.postings.extend(first, terms)

    def _sound(self, what: str, rows: list[Row], is_sound: Callable[[Row], bool]) -> list[Row]:
        """Without those that are damaged, whose number is the first column."""
        kept = [row for row in rows if is_sound(row)]
        if len(kept) < len(rows):
            self.damaged |= {(what, number) for number, *rest in rows if not is_sound((number, *rest))}
        return kept

    def _read_vectors(self, connection: sqlite3.Connection, after: int, space: tuple[int, int]) -> None:
        number, dimension = space
        if self.space != number or self.vectors is None:
            self.space, self.vectors = number, Growing(np.int8, dimension)
            self.scales, self.owners, self.lines = Growing(np.float32), Growing(np.int64), Growing(np.int64)
            after = 0
        if after:
            first = (after + 1) * VECTORS_PER_LINE
            cursor = connection.execute(SQL["shelf_new_vectors"], (self.scope, number, first))
        else:
            cursor = connection.execute(SQL["shelf_vectors"], (self.scope, number))
        known = set(self.contents.rows.tolist())

        def is_vector(row: Row) -> bool:
            _, content, scale, data = row
            return content in known and type(scale) is float and type(data) is bytes and len(data) == dimension

        while found := cursor.fetchmany(4096):
            if rows := self._sound("vector", found, is_vector):
                vectors, contents, scales, data = zip(*rows, strict=True)
                self.owners.extend(np.searchsorted(self.contents.rows, np.array(contents, np.int64)))
                self.scales.extend(np.array(scales, np.float32))
                self.lines.extend(np.array(vectors, np.int64) // VECTORS_PER_LINE)
                self.vectors.extend(np.frombuffer(b"".join(data), np.int8).reshape(-1, dimension))

    def has(self, term: int) -> bool:
        with self.lock:
            return len(self.postings.find(term)[0]) > 0

    def called(
        self,
        connection: sqlite3.Connection,
        seq: int,
        kinds: Mapping[int, Callable[[dict[str, Any]], Sequence[str]]],
        names: Collection[str],
    ) -> dict[str, dict[int, int]]:
        """Of these names, which records ever had them, each from which version on."""
        with self.lock:
            known = int(np.searchsorted(self.columns["version"].rows, seq, "right"))
            if known > self.named:
                self._read_names(connection, known, kinds)
            return {name: dict(self.names[name]) for name in names if name in self.names} if self.names else {}

    def _read_names(
        self, connection: sqlite3.Connection, known: int, kinds: Mapping[int, Callable[[dict[str, Any]], Sequence[str]]]
    ) -> None:
        columns = [self.columns[name].rows[self.named : known] for name in ("version", "record", "content", "kind")]
        new = np.flatnonzero(np.isin(columns[3], list(kinds)))
        if len(new):
            contents = json.dumps(columns[2][new].tolist())
            payloads = dict(connection.execute(SQL["shelf_payloads"], (contents,)).fetchall())
            for version, record, content, kind in zip(*(column[new].tolist() for column in columns), strict=True):
                for name in _names(kinds[kind], payloads.get(content)):
                    self.names.setdefault(name, {}).setdefault(record, version)
        self.named = known

    def order(self) -> NDArray[np.int64]:
        """The versions so that those of one conversation stand together, in order."""
        if self._order is None or len(self._order) != self.columns["version"].count:
            columns = [self.columns[name].rows for name in ("version", "position", "conversation")]
            self._order = np.lexsort(columns)
        return self._order

    @property
    def bytes(self) -> int:
        beside = [self.place, self.contents, self.lengths, self.scales, self.owners, self.lines]
        vectors = 0 if self.vectors is None else self.vectors.rows.nbytes
        arrays = [*self.columns.values(), *beside]
        names = NAME * len(self.names)
        return sum(array.rows.nbytes for array in arrays) + self.postings.bytes + vectors + names
