"""One scope's rows as columns in memory, so that a search is arithmetic.

A shelf is loaded when its scope is first searched, and brought up to date before a search when its scope has changed.
Rows are only ever added; what is erased is masked where it stands. Readers mask by seq, so a shelf that is ahead of
somebody's snapshot still answers as of that snapshot.

Texts become numbers: those that repeat small ones, keys and fields Python's hash. It has 64 bits, is keyed for each
process, and is the same for 1 and 1.0, as fields compare.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent_memory.ledger.marks import same_era
from agent_memory.ledger.shelves.columns import NOBODYS, Growing, Numbering, Types, end, hashed, misfits, standing
from agent_memory.ledger.shelves.filed import Filed
from agent_memory.ledger.shelves.links import LinkEnd, Links
from agent_memory.ledger.shelves.postings import ENTRY, Postings
from agent_memory.ledger.shelves.stock import Row, ShelfNews, Stock, Vectors
from agent_memory.models.errors import StoreError
from agent_memory.models.record import Scope, Status
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Calling, Snapshot

Field = tuple[str] | tuple[str, str | int | float]
"""A field with a value, or with whatever value."""

Need = tuple[str, ...]
"""What only some questions need of a shelf, and is read for the first of them: NAMES, LINKS, or ("field", its name)."""

NAMES, LINKS = ("names",), ("links",)
LINES = 4096  # of the journal that are read at once, where memory is bounded
SEARCHED = 3  # times the memory of a shelf that filling and searching it take, with all that is made on the way
NAME, TEXT = 400, 150  # bytes that a name, or a text with a number, takes in memory, about

_TEXTS = ("kind", "status", "conversation", "repository")
_WHOLE = ("version", "record", "content", "position", "valid_from", "valid_to", "ended")
_COLUMNS: dict[str, Any] = dict.fromkeys(_WHOLE, np.int64) | dict.fromkeys(_TEXTS, np.int32)
_COLUMNS |= {"importance": np.float32, "confidence": np.float64, "key": np.int64}
_SHOWN = ("version", "record", "valid_from", "valid_to", "ended", "status")
_VERSION: Types = {**dict.fromkeys(_WHOLE, (int,)), **dict.fromkeys(_TEXTS, (str, type(None)))}
_VERSION |= {"importance": (float,), "confidence": (float,)}
_VECTOR: Types = {"line": (int,), "content": (int,), "scale": (float,), "data": (bytes,)}


def posted(field: Field) -> int:
    """Under which number a field stands in postings."""
    return hash(tuple(str(one) if isinstance(one, str) else one for one in field)) % 2**64


def _names(called: Callable[[dict[str, Any]], Sequence[str]], payload: object) -> Sequence[str]:
    """None where the payload cannot be read: `hydrate` says so, when it comes to that."""
    try:
        return called(json.loads(payload))  # type: ignore[arg-type]
    except (TypeError, ValueError, KeyError, AttributeError):
        return ()


def _without(batch: Any, places: Collection[int]) -> Any:
    return batch._make([cell for place, cell in enumerate(cells) if place not in places] for cells in batch)


Needs = Callable[[Numbering], Collection[Need]]
"""What a question needs, which may depend on the texts that a shelf has."""


class Seen(NamedTuple):
    """A shelf at a moment, as far as one question needs it. `words` and `fields` are what was found of those asked
    for: where such contents stand."""

    columns: dict[str, NDArray[Any]]
    order: NDArray[np.int64]
    numbering: Numbering
    lengths: NDArray[np.int32]
    words: list[tuple[NDArray[np.int32], NDArray[np.uint8]]]
    fields: dict[Field, NDArray[np.int32]]
    vectors: dict[str, NDArray[Any]]


class Shelf:
    """Columns of versions and links, postings of words and fields, int8 vectors with the place of the content they
    belong to. `since`: only of contents that came after this line. `most`: within so many bytes it is searched, too;
    then rows are read in slices, and vectors stay in a file."""

    def __init__(self, scope: Scope, since: int = 0, most: int | None = None) -> None:
        self.scope, self.since, self._most = scope, since, most
        self.lock = threading.Lock()
        self._empty()

    def _empty(self) -> None:
        self.seq, self.adopted, self.era = self.since, 0, 0
        self.space: Space | None = None
        self.columns = {name: Growing(dtype) for name, dtype in _COLUMNS.items()}
        self.numbering = Numbering()
        self.columns["place"] = Growing(np.int64)  # where its content stands in `contents`
        self.contents = Growing(np.int64)
        self.lengths = Growing(np.int32)
        self.there = Growing(np.bool_)  # of each content: it was not erased
        self.words, self.fields = Postings(), Postings()
        self.until: dict[Need, int] = {}  # what was needed, and until which line it is here
        self.later = Postings()  # of each record, its versions but the first, which has its number
        self.links = Links()
        self.vectors: dict[str, Any] = {}  # each `Growing`, or `Filed`
        self._order: NDArray[np.int64] | None = None
        self.names: dict[str, dict[int, int]] = {}  # name -> each version that goes by it, and its record
        self.named = 0  # how many versions were asked for their names
        self.gone = 0  # versions that were erased
        self.damaged = 0  # rows that cannot be read, and are left out

    def behind(self, snapshot: Snapshot, needs: Needs) -> bool:
        """Whether there is something to read first. If not, nothing was missed up to this snapshot."""
        last = snapshot.lasts[self.scope]
        with self.lock:
            if self.era < snapshot.era or self.adopted < snapshot.adopted or self.seq < last:
                return True
            same_era(snapshot.era, self.era)
            if any(self.until.get(need, 0) < last for need in needs(self.numbering)):
                return True
            self.seq = max(self.seq, snapshot.seq)
            self.until = {need: max(line, snapshot.seq) if line >= last else line for need, line in self.until.items()}
            return False

    def follow(self, stock: Stock, needs: Needs, calling: Calling) -> None:
        """Bring the shelf up to the stock's seq, with what was needed before and what is needed now."""
        with self.lock:
            if self.adopted < stock.adopted or self.era < stock.era:
                self._empty()
            if self.era > stock.era:  # this stock was opened before others found out
                return
            try:
                while self.seq < stock.seq:
                    self._read(stock, None if self._most is None else min(stock.seq, self.seq + LINES))
                for need in {*self.until, *needs(self.numbering)}:
                    if (before := self.until.get(need, self.since)) < stock.seq:
                        self._read_more(stock, need, before, calling)
                    self.until[need] = max(before, stock.seq)
                self.adopted, self.era = max(self.adopted, stock.adopted), stock.era
            except BaseException:
                self._empty()  # some rows are in, and would come in again
                raise

    def put(self, news: ShelfNews, space: Space | None) -> None:
        """Rows that were read for one question."""
        self._make_room(space)
        self._add(news)

    def _make_room(self, space: Space | None) -> None:
        if space is not None and not self.vectors:
            self.space = space  # a vector has the place of its content, and the line that brought it
            self.vectors = {name: Growing(np.int64) for name in ("place", "line")}
            bounded = self._most is not None and hasattr(os, "pread")
            data = Filed(space.dimension) if bounded else Growing(np.int8, space.dimension)
            self.vectors |= {"scale": Growing(np.float32), "data": data}

    def _read(self, stock: Stock, until: int | None) -> None:
        news = stock.follow(self.scope, self.seq, until)
        if news.erased:
            self._erase(news.erased)
        # Which of the damaged rows were erased, nobody knows; and what is mostly gone is better read again.
        if news.erased and (self.damaged or self.gone * 2 > self.columns["place"].count):
            self._empty()
            news = stock.follow(self.scope, self.since, until)
        self._make_room(stock.space)
        self._add(news)
        end(self.columns["version"], self.columns["ended"], news.ended)
        self.seq = stock.seq if until is None else until
        self._check_size()

    def _check_size(self) -> None:
        if self._most is not None and self.bytes * SEARCHED > self._most:
            raise StoreError(
                f"the memories of {self.scope.user} do not fit into the memory that this process may take",
                hint=f"raise its bound by {((self.bytes * SEARCHED - self._most) >> 20) + 1} MB, or forget some",
            )

    def _read_more(self, stock: Stock, need: Need, after: int, calling: Calling) -> None:
        if need == NAMES:
            self._read_names(stock, calling)
        elif need == LINKS:
            self.links.add(*stock.links(self.scope, after))
        else:
            self.read_fields(need[1], stock.fields(self.scope, after, need[1]))

    def _erase(self, records: Collection[int]) -> None:
        """Where it stands: no moment shows it any more, its words and fields are taken out, its vectors and keys say
        nothing."""
        rows = np.flatnonzero(np.isin(self.columns["record"].rows, [*records]))
        places = self.columns["place"].rows[rows]
        self.columns["ended"].rows[rows] = 0
        self.columns["key"].rows[rows] = NOBODYS
        self.there.rows[places] = False
        for postings in (self.words, self.fields):
            postings.drop(~self.there.rows)
        if self.vectors:
            self.vectors["data"].rows[np.isin(self.vectors["place"].rows, places)] = 0
        left = {
            name: {version: record for version, record in having.items() if record not in records}
            for name, having in self.names.items()
        }
        self.names = {name: having for name, having in left.items() if having}
        self.gone += len(rows)

    def _add(self, news: ShelfNews) -> None:
        versions = self._own(self._sound(news.versions, misfits(news.versions, _VERSION)))
        if versions.version:
            self._add_words(news.words, sorted({content for content in versions.content if content > self.seq}))
            places = self._places(versions.content)
            if (places < 0).any():  # of a damaged version, which was left out
                versions = self._sound(versions, {*np.flatnonzero(places < 0).tolist()})
                places = places[places >= 0]
            rows = versions._asdict() | {"key": [*map(hashed, versions.key)], "place": places}
            records = np.array(versions.record, np.int64)
            later = np.flatnonzero(records != np.array(versions.version, np.int64))
            self.later.add(records[later].view(np.uint64), (later + self.columns["place"].count).astype(np.int32))
            for name, column in self.columns.items():
                column.extend(self.numbering.numbers(rows[name]) if name in _TEXTS else rows[name])
        for vectors in news.vectors:
            self._add_vectors(vectors)

    def _add_words(self, words: Sequence[Row], contents: list[int]) -> None:
        """Of these new contents; one whose words are not there, or cannot be read, is found by other means."""
        sound = {
            content: (length, terms)
            for content, length, terms in words
            if type(length) is int and 0 <= length < 2**31 and type(terms) is bytes and len(terms) % ENTRY == 0
        }
        lacking = {content for content in contents if content not in sound}
        if len(sound) < len(words):
            lacking |= {content for content, _, _ in words} - sound.keys()
        self.damaged += len(lacking)
        if contents:
            lengths, terms = zip(*(sound.get(content, (0, b"")) for content in contents), strict=True)
            self.words.extend(self.contents.count, terms)
            self.contents.extend(contents)
            self.lengths.extend(lengths)
            self.there.extend([True] * len(contents))

    def _add_vectors(self, batch: Vectors) -> None:
        dimension = self.space.dimension if self.space else 0
        batch = self._own(batch)
        if not batch.data:
            return None
        wrong = misfits(batch, _VECTOR)
        if not wrong:
            places = self._places(batch.content)
            wrong = {*np.flatnonzero(places < 0).tolist()}
            if {*map(len, batch.data)} != {dimension}:
                wrong |= {place for place, data in enumerate(batch.data) if len(data) != dimension}
        if wrong:
            sound = self._sound(batch, wrong)
            return self._add_vectors(sound) if sound.data else None
        data = np.frombuffer(b"".join(batch.data), np.int8).reshape(-1, dimension)
        for name, cells in (batch._asdict() | {"place": places, "data": data}).items():
            if name in self.vectors:
                self.vectors[name].extend(cells)
        return None

    def _own(self, batch: Any) -> Any:
        """Without those of older contents, where this shelf has only newer ones: an older one may have got another
        version, or its vectors, since."""
        if not self.since or min(batch.content, default=self.since + 1) > self.since:
            return batch
        return _without(batch, {place for place, content in enumerate(batch.content) if content <= self.since})

    def _sound(self, batch: Any, wrong: Collection[int]) -> Any:
        """Without those that are damaged."""
        if not wrong:
            return batch
        self.damaged += len(wrong)
        return _without(batch, wrong)

    def _places(self, contents: Sequence[int]) -> NDArray[np.int64]:
        """Where each of these stands; NOBODYS where it does not."""
        asked = np.array(contents, np.int64)
        places = np.searchsorted(self.contents.rows, asked)
        known = np.append(self.contents.rows, NOBODYS)[places] == asked
        return np.where(known, places, NOBODYS)

    def seen(self, terms: Sequence[int], fields: Collection[Field]) -> Seen:
        """With the lock held."""
        if self._order is None or len(self._order) != self.columns["place"].count:
            self._order = np.lexsort([self.columns[name].rows for name in ("version", "position", "conversation")])
        columns, vectors = ({name: one.rows for name, one in group.items()} for group in (self.columns, self.vectors))
        words = [self.words.find(term) for term in terms]
        having = {field: self.fields.find(posted(field))[0] for field in fields}
        return Seen(columns, self._order, self.numbering, self.lengths.rows, words, having, vectors)

    def read_fields(self, name: str, rows: Sequence[Row]) -> None:
        places = self._places([content if type(content) is int else NOBODYS for content, _ in rows])
        marks = np.array([hash((name, value)) for _, value in rows], np.int64).view(np.uint64)
        for words in (marks, np.full(len(places), posted((name,)), np.uint64)):
            self.fields.add(words[places >= 0], places[places >= 0].astype(np.int32))

    def has(self, term: int) -> bool:
        with self.lock:
            return bool(self.there.rows[self.words.find(term)[0]].any())

    def called(self, names: Collection[str]) -> dict[str, dict[int, int]]:
        """Of these names, the versions that go by each, and their records."""
        with self.lock:
            return {name: dict(self.names[name]) for name in names if name in self.names} if self.names else {}

    def _read_names(self, stock: Stock, calling: Calling) -> None:
        known = int(np.searchsorted(self.columns["version"].rows, stock.seq, "right"))
        kinds = {self.numbering[kind]: named for kind, named in calling.items()}
        said = ("version", "record", "content", "kind", "ended")
        *columns, kind, ended = (self.columns[name].rows[self.named : known] for name in said)
        new = np.flatnonzero(np.isin(kind, list(kinds)) & (ended > 0))  # an older stock still has what was erased
        if len(new):
            payloads = stock.payloads(columns[2][new].tolist())
            for version, record, content, number in zip(*(one[new].tolist() for one in (*columns, kind)), strict=True):
                for name in _names(kinds[number], payloads.get(content)):
                    self.names.setdefault(name, {})[version] = record
        self.named = max(self.named, known)

    def versions_of(self, records: NDArray[np.uint64]) -> tuple[dict[str, NDArray[Any]], dict[int, Status]]:
        """All versions of these records that were not erased, and which status has which number."""
        with self.lock:
            versions, ended = self.columns["version"].rows, self.columns["ended"].rows
            rows = np.concatenate([standing(versions, records.view(np.int64)), self.later.among(records)])
            rows = rows[ended[rows] > 0]
            columns = {name: self.columns[name].rows[rows] for name in _SHOWN}
            return columns, {self.numbering[status]: status for status in Status}

    def records_of(self, versions: Collection[int]) -> list[int]:
        with self.lock:
            rows = standing(self.columns["version"].rows, np.array([*versions], np.int64))
            records: list[int] = self.columns["record"].rows[rows].tolist()
            return records

    def edges(self, records: NDArray[np.uint64], at: int) -> list[LinkEnd]:
        """The links that begin or end at these records, as of a journal line."""
        with self.lock:
            return self.links.edges(records, at)

    @property
    def bytes(self) -> int:
        arrays: list[Growing | Filed] = [*self.columns.values(), *self.vectors.values()]
        arrays += [self.contents, self.lengths, self.there]
        postings = (self.words, self.fields, self.later, self.links)
        texts = NAME * len(self.names) + TEXT * self.numbering.hashes.count
        return sum(array.rows.nbytes for array in arrays) + sum(one.bytes for one in postings) + texts
