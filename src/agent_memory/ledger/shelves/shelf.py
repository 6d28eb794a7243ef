"""One scope's rows as columns in memory, so that a search is arithmetic.

A shelf is loaded when its scope is first searched and brought up to a snapshot's seq before every search. Rows are only
ever added; what is erased is masked where it stands. Readers mask by seq, so a shelf that is ahead of somebody's
snapshot still answers as of that snapshot.

Texts become numbers: those that repeat small ones, keys and fields Python's hash. It has 64 bits, is keyed for each
process, and is the same for 1 and 1.0, as fields compare.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent_memory.ledger.shelves.postings import ENTRY, Postings
from agent_memory.ledger.shelves.stock import Cells, News, Row, Stock, Vectors
from agent_memory.models.record import Scope
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Calling

Field = tuple[str] | tuple[str, str | int | float]
"""A field with a value, or with whatever value."""

NAME, TEXT = 400, 150  # bytes that a name, or a text with a number, takes in memory, about
NOBODYS = -1  # what no text hashes to

Types = dict[str, tuple[type, ...]]
_TEXTS = ("kind", "status", "conversation", "repository")
_WHOLE = ("version", "record", "content", "position", "valid_from", "valid_to", "ended")
_COLUMNS: dict[str, Any] = dict.fromkeys(_WHOLE, np.int64) | dict.fromkeys(_TEXTS, np.int32)
_COLUMNS |= {"importance": np.float32, "confidence": np.float64, "key": np.int64}
_VERSION: Types = {**dict.fromkeys(_WHOLE, (int,)), **dict.fromkeys(_TEXTS, (str, type(None)))}
_VERSION |= {"importance": (float,), "confidence": (float,)}
_VECTOR: Types = {"line": (int,), "content": (int,), "scale": (float,), "data": (bytes,)}


def hashed(text: object) -> int:
    return str.__hash__(text) if isinstance(text, str) else NOBODYS  # an enum has a hash of its own


def posted(field: Field) -> int:
    """Under which number a field stands in postings."""
    return hash(tuple(str(one) if isinstance(one, str) else one for one in field)) % 2**64


def _misfits(batch: Any, types: Types) -> set[int]:
    """The rows with a cell of another type: some files take anything."""
    wrong = {name: allowed for name, allowed in types.items() if not {*map(type, getattr(batch, name))} <= {*allowed}}
    return {
        place
        for name, allowed in wrong.items()
        for place, cell in enumerate(getattr(batch, name))
        if type(cell) not in allowed
    }


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

    def extend(self, rows: Any) -> None:
        needed = self.count + len(rows)
        if needed > len(self._data):
            grown = np.empty((max(needed, len(self._data) * 5 // 4 + 16), *self._shape), self._data.dtype)
            grown[: self.count] = self._data[: self.count]
            self._data = grown
        self._data[self.count : needed] = np.asarray(rows, self._data.dtype)
        self.count = needed

    @property
    def rows(self) -> NDArray[Any]:
        return self._data[: self.count]


class Numbering:
    """Small numbers for texts that repeat, in the order in which they come; 0 is for none."""

    def __init__(self) -> None:
        self._known = {NOBODYS: 0}
        self.hashes = Growing(np.int64)  # by number; those of a text are the same on every shelf
        self.hashes.extend([NOBODYS])

    def numbers(self, texts: Cells) -> list[int]:
        found, new = {}, []
        for text in dict.fromkeys(texts):
            key = hashed(text)
            if key not in self._known:
                self._known[key] = len(self._known)
                new.append(key)
            found[text] = self._known[key]
        self.hashes.extend(new)
        return [found[text] for text in texts]

    def __getitem__(self, text: str) -> int:
        """NOBODYS where it has none."""
        return self._known.get(hashed(text), NOBODYS)


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
    """Columns of versions, postings of words and fields, int8 vectors with the place of the content they belong to."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.lock = threading.Lock()
        self._empty()

    def _empty(self) -> None:
        self.seq = self.adopted = 0
        self.space: Space | None = None
        self.columns = {name: Growing(dtype) for name, dtype in _COLUMNS.items()}
        self.numbering = Numbering()
        self.columns["place"] = Growing(np.int64)  # where its content stands in `contents`
        self.contents = Growing(np.int64)
        self.lengths = Growing(np.int32)
        self.there = Growing(np.bool_)  # of each content: it was not erased
        self.words, self.fields = Postings(), Postings()
        self.fielded: dict[str, int] = {}  # fields that were asked for, and until which line they are posted
        self.vectors: dict[str, Growing] = {}
        self._order: NDArray[np.int64] | None = None
        self.names: dict[str, dict[int, int]] = {}  # name -> record -> its first version that goes by it
        self.named = 0  # how many versions were asked for their names
        self.gone = 0  # versions that were erased
        self.damaged = 0  # rows that cannot be read, and are left out

    def follow(self, stock: Stock) -> bool:
        """Bring the shelf up to the stock's seq, and say whether that was needed."""
        with self.lock:
            if self.seq >= stock.seq and self.adopted >= stock.adopted:
                return False
            if self.adopted < stock.adopted:
                self._empty()
            try:
                self._read(stock)
            except BaseException:
                self._empty()  # some rows are in, and would come in again
                raise
            self.seq, self.adopted = stock.seq, stock.adopted
            return True

    def _read(self, stock: Stock) -> None:
        news = stock.follow(self.scope, self.seq)
        if news.erased:
            self._erase(news.erased)
        # Which of the damaged rows were erased, nobody knows; and what is mostly gone is better read again.
        if news.erased and (self.damaged or self.gone * 2 > self.columns["place"].count):
            self._empty()
            news = stock.follow(self.scope, 0)
        if stock.space is not None and not self.vectors:
            self.space = stock.space  # a vector has the place of its content, and the line that brought it
            self.vectors = {name: Growing(np.int64) for name in ("place", "line")}
            self.vectors |= {"scale": Growing(np.float32), "data": Growing(np.int8, stock.space.dimension)}
        self._add(news)
        versions, ended = self.columns["version"].rows, self.columns["ended"].rows
        for version, line in news.ended:
            place = int(np.searchsorted(versions, version))
            if place < len(versions) and versions[place] == version:
                ended[place] = line

    def _erase(self, records: Collection[int]) -> None:
        """Where it stands: no moment shows it any more, and its vectors say nothing."""
        rows = np.flatnonzero(np.isin(self.columns["record"].rows, [*records]))
        places = self.columns["place"].rows[rows]
        self.columns["ended"].rows[rows] = 0
        self.there.rows[places] = False
        if self.vectors:
            self.vectors["data"].rows[np.isin(self.vectors["place"].rows, places)] = 0
        for having in self.names.values():
            for record in records:
                having.pop(record, None)
        self.names = {name: having for name, having in self.names.items() if having}
        self.gone += len(rows)

    def _add(self, news: News) -> None:
        versions = self._sound(news.versions, _misfits(news.versions, _VERSION))
        if versions.version:
            self._add_words(news.words, sorted({content for content in versions.content if content > self.seq}))
            places = self._places(versions.content)
            if (places < 0).any():  # of a damaged version, which was left out
                versions = self._sound(versions, {*np.flatnonzero(places < 0).tolist()})
                places = places[places >= 0]
            rows = versions._asdict() | {"key": [*map(hashed, versions.key)], "place": places}
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
        misfits = _misfits(batch, _VECTOR)
        if not misfits:
            places = self._places(batch.content)
            misfits = {*np.flatnonzero(places < 0).tolist()}
            if {*map(len, batch.data)} != {dimension}:
                misfits |= {place for place, data in enumerate(batch.data) if len(data) != dimension}
        if misfits:
            sound = self._sound(batch, misfits)
            return self._add_vectors(sound) if sound.data else None
        data = np.frombuffer(b"".join(batch.data), np.int8).reshape(-1, dimension)
        for name, cells in (batch._asdict() | {"place": places, "data": data}).items():
            if name in self.vectors:
                self.vectors[name].extend(cells)
        return None

    def _sound(self, batch: Any, misfits: Collection[int]) -> Any:
        """Without those that are damaged."""
        if not misfits:
            return batch
        self.damaged += len(misfits)
        return batch._make([cell for place, cell in enumerate(cells) if place not in misfits] for cells in batch)

    def _places(self, contents: Sequence[int]) -> NDArray[np.int64]:
        """Where each of these stands; NOBODYS where it does not."""
        asked = np.array(contents, np.int64)
        places = np.searchsorted(self.contents.rows, asked)
        known = np.append(self.contents.rows, NOBODYS)[places] == asked
        return np.where(known, places, NOBODYS)

    def seen(self, stock: Stock, terms: Sequence[int], fields: Collection[Field]) -> Seen:
        """With the lock held."""
        for name in {name for name, *_ in fields}:
            self._read_fields(stock, name)
        if self._order is None or len(self._order) != self.columns["place"].count:
            self._order = np.lexsort([self.columns[name].rows for name in ("version", "position", "conversation")])
        columns, vectors = ({name: one.rows for name, one in group.items()} for group in (self.columns, self.vectors))
        words = [self.words.find(term) for term in terms]
        having = {field: self.fields.find(posted(field))[0] for field in fields}
        return Seen(columns, self._order, self.numbering, self.lengths.rows, words, having, vectors)

    def _read_fields(self, stock: Stock, name: str) -> None:
        """Of what this snapshot shows, and no question asked for before."""
        before = self.fielded.get(name, 0)
        if before >= min(self.seq, stock.seq):
            return
        rows = stock.fields(self.scope, before, name)
        places = self._places([content if type(content) is int else NOBODYS for content, _ in rows])
        marks = np.array([hash((name, value)) for _, value in rows], np.int64).view(np.uint64)
        for words in (marks, np.full(len(places), posted((name,)), np.uint64)):
            self.fields.add(words[places >= 0], places[places >= 0].astype(np.int32))
        self.fielded[name] = stock.seq

    def has(self, term: int) -> bool:
        with self.lock:
            return bool(self.there.rows[self.words.find(term)[0]].any())

    def called(self, stock: Stock, names: Collection[str], calling: Calling) -> dict[str, dict[int, int]]:
        """Of these names, which records ever had them, each from which version on."""
        with self.lock:
            known = int(np.searchsorted(self.columns["version"].rows, stock.seq, "right"))
            if known > self.named:
                self._read_names(stock, known, calling)
            return {name: dict(self.names[name]) for name in names if name in self.names} if self.names else {}

    def _read_names(self, stock: Stock, known: int, calling: Calling) -> None:
        kinds = {self.numbering[kind]: named for kind, named in calling.items()}
        said = ("version", "record", "content", "kind", "ended")
        *columns, kind, ended = (self.columns[name].rows[self.named : known] for name in said)
        new = np.flatnonzero(np.isin(kind, list(kinds)) & (ended > 0))  # an older snapshot still has what was erased
        if len(new):
            payloads = stock.payloads(columns[2][new].tolist())
            for version, record, content, number in zip(*(one[new].tolist() for one in (*columns, kind)), strict=True):
                for name in _names(kinds[number], payloads.get(content)):
                    self.names.setdefault(name, {}).setdefault(record, version)
        self.named = known

    @property
    def bytes(self) -> int:
        arrays = [*self.columns.values(), *self.vectors.values(), self.contents, self.lengths, self.there]
        texts = NAME * len(self.names) + TEXT * self.numbering.hashes.count
        return sum(array.rows.nbytes for array in arrays) + self.words.bytes + self.fields.bytes + texts
