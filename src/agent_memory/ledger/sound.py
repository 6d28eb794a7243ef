"""What stands beside the records, for `verify`: rows with checksums of their own, keys against their journal lines, the
active space against its line, what is derived, the shape of vectors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from agent_memory.ledger.codecs import plain
from agent_memory.ledger.evidence import ContentAt, FieldAt, Sealed, VectorAt
from agent_memory.ledger.seals import checksum, key_seal
from agent_memory.ledger.tenants import NO_KEY
from agent_memory.ports.records import Checker

T = TypeVar("T", bound=Any)


class Along(Generic[T]):
    """A stream that goes along with another, by `row`. What belongs to none of its rows is `loose`."""

    def __init__(self, rows: Iterable[T], loose: Callable[[T], object] = lambda one: None) -> None:
        self._rows = iter(rows)
        self._loose = loose
        self._next = next(self._rows, None)

    def at(self, row: Any) -> list[T]:
        """What is there. Rows that were passed over are loose."""
        found, one = [], self._next
        while one is not None and one.row <= row:
            if one.row == row:
                found.append(one)
            else:
                self._loose(one)
            one = next(self._rows, None)
        self._next = one
        return found

    def end(self) -> None:
        while self._next is not None:
            self._loose(self._next)
            self._next = next(self._rows, None)


class Loose:
    """Rows that should not be there: by what they are how many, and the first."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, object]] = {}

    def add(self, what: str, row: object) -> None:
        count, first = self._found.get(what, (0, row))
        self._found[what] = (count + 1, first)

    def told(self) -> Iterator[str]:
        return (f"{what}: {count} (first: {first})" for what, (count, first) in self._found.items())


def underived(
    contents: Iterable[ContentAt],
    fields: Iterable[FieldAt],
    derive: Checker,
    proved: Callable[[Any], bool],
    checked: Counter[str],
) -> Iterator[str]:
    """Contents whose words or fields are not those that are derived from them today. Of a content that is not what was
    written nothing can be said."""
    wrong, along = Loose(), Along(fields)
    for row, kind, text, codec, payload, vocabulary, length, terms in contents:
        stored = along.at(row)
        derived = derive(kind, plain(text, codec), payload, vocabulary) if proved(row) else None
        if derived is None:
            continue
        checked["derived"] += 1
        if (length, terms) != (derived.terms.length, derived.terms.hashes + derived.terms.counts):
            wrong.add("words that do not follow from their content", row)
        if {(one.name, one.value) for one in stored} != set(derived.fields):
            wrong.add("fields that do not follow from their content", row)
    return (f"{one}; `agent-memory rebuild` helps" for one in wrong.told())


def unsound(tables: Iterable[Sealed], checked: Counter[str]) -> Iterator[str]:
    """Rows that are not what their checksum is over."""
    for table, columns, rows, told in tables:
        for *values, seal in rows:
            if seal is None:
                checked["rows without a checksum"] += 1
                if wrong := garbled(columns, values):
                    yield f"{table}: {row_named(columns[:1], values)}{wrong}"
                continue
            checked[table if told else "other rows"] += 1
            if seal != checksum(*values):
                named = row_named(columns[:1], values)
                yield f"{table}: {named} is not what was written{garbled(columns, values)}"


def unlocked(keys: Iterable[Sequence[object]], lines: Mapping[object, object], checked: Counter[str]) -> Iterator[str]:
    """Keys that are not as the last line about each (id -> its digest) left them."""
    there = set()
    for row in keys:
        id, *_ = row
        there.add(id)
        checked["keys"] += 1
        if id not in lines:
            yield f"keys: {row_named(('id',), row)}: no journal line tells of it"
        elif _key_seal(row) != lines[id]:
            yield f"keys: {row_named(('id',), row)} is not what was written"
    yield from (f"keys: {row_named(('id',), (id,))} is gone" for id in lines if id not in there and lines[id] != NO_KEY)


def _key_seal(row: Sequence[object]) -> bytes | None:
    try:
        return key_seal(*row)
    except ValueError:  # a text that is not UTF-8
        return None


def unspaced(active: Sequence[object], adopted: object) -> Iterator[str]:
    """The active space is the one that the last journal line about a space names."""
    if list(active) != ([] if adopted is None else [adopted]):
        yield "spaces: the active one is not the one that the journal names; `agent-memory rebuild --vectors` helps"


def misshapen(vectors: Iterable[VectorAt]) -> Iterator[str]:
    """Vectors that cannot be compared: not of their space's length; or, where nothing else proves them, not a unit."""
    import numpy as np

    for vector, scale, data, dimension, sealed in vectors:
        if len(data) != dimension:
            yield f"vectors: vector {vector} has {len(data)} numbers, its space {dimension}"
        elif not sealed and any(data):
            numbers = np.frombuffer(data, np.int8).astype(np.float32)
            length = math.sqrt(float(numbers @ numbers)) * scale
            if not abs(length - 1) <= math.sqrt(dimension) / 254 + 1e-3:  # what rounding to int8 can come to
                yield f"vectors: vector {vector} is {length:.3f} long, not 1"


def garbled(names: Sequence[str], values: Iterable[object]) -> str:
    """ ", its text is not UTF-8" for the columns of which that is true."""
    found = [name for name, value in zip(names, values, strict=False) if isinstance(value, str) and not _utf8(value)]
    return "".join(f": its {name} is not UTF-8" for name in found)


def row_named(keys: Sequence[str], values: Sequence[object]) -> str:
    """A row by its primary key, safe to print."""
    return ", ".join(f"{key} {_shown(value)}" for key, value in zip(keys, values, strict=False))


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
