"""What stands beside the records, for `verify`: rows with checksums of their own, keys against their journal lines,
the active space against its line, what is derived, the shape of vectors, and the pages of the file."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from agent_memory.engines.sqlite import vocabulary
from agent_memory.engines.sqlite.cells import count, garbled, row_named
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ledger.codecs import plain
from agent_memory.ledger.seals import checksum, key_seal
from agent_memory.ledger.tenants import NO_KEY
from agent_memory.ports.progress import counted
from agent_memory.ports.records import Checker

SEALED = {
    "meta": ("name", "value"),
    "scopes": ("scope", "tenant", "user", "agent", "number", "last"),
    "spaces": ("space", "model", "version", "dimension", "active"),
    "vocabularies": ("vocabulary", "name", "digest", "active"),
    "vectors": ("vector", "space", "scope", "content", "part", "start", "end", "scale", "data"),
    "receipts": ("receipt", "id", "scope", "at", "seq", "terms", "body"),
    "accesses": ("record", "count", "last"),
    "accessed": ("record", "at", "times"),
    "working": ("scope", "conversation", "key", "value", "expires_at"),
    "lists": ("item", "scope", "conversation", "name", "value", "expires_at"),
    "repeats": ("scope", "key", "request", "at", "answer"),
    "namespaces": ("namespace", "id", "scale", "data", "metadata"),
    "leases": ("name", "token", "holder", "since", "until", "ran_at", "seconds", "did", "failed_at", "error"),
    "cursors": ("job", "tenant", "seq", "chain", "turn"),
    "places": ("place", "name", "error"),
    "debts": ("place", "tenant", "user", "agent", "id", "seq", "at"),
    "refusals": ("number", "at", "tenant", "user", "operation", "reason", "key"),
}
"""Rows that no journal line seals, and the columns that their checksum is over. That of a receipt is also over the
records that it showed; that of a scope without a last line is over the rest."""

_TOLD = ("vectors", "receipts")  # whose numbers are told by name; the others are counted together
_META = {"accessed", "scrub"}

Row = tuple[object, ...]


def unsound(connection: sqlite3.Connection, checked: Counter[str]) -> Iterator[str]:
    """Rows that are not what their checksum is over."""
    for table, columns in SEALED.items():
        names = ", ".join(f'"{column}"' for column in (*columns, "seal"))
        rows: Iterable[Row] = connection.execute(SQL["rows_of"].format(table=table, columns=names))
        if table == "receipts":
            rows = _with_shown(connection, rows)
        elif table == "scopes":
            rows = ((*row, seal) if last is None else (*row, last, seal) for *row, last, seal in rows)
        for *values, seal in counted(rows, table, lambda table=table: count(connection, table)):  # type: ignore[misc]
            if seal is None:
                checked["rows without a checksum"] += 1
                if wrong := garbled(columns, values):
                    yield f"{table}: {row_named(columns[:1], values)}{wrong}"
                continue
            checked[table if table in _TOLD else "other rows"] += 1
            if seal != checksum(*values):
                named = row_named(columns[:1], values)
                yield f"{table}: {named} is not what was written{garbled(columns, values)}"


def _with_shown(connection: sqlite3.Connection, rows: Iterable[Row]) -> Iterator[Row]:
    for receipt, *columns, seal in rows:
        shown = [record for (record,) in connection.execute(SQL["shown_by"], (receipt,))]
        yield (receipt, *columns, shown, seal)


def unlocked(connection: sqlite3.Connection, lines: Mapping[object, object], checked: Counter[str]) -> Iterator[str]:
    """Keys that are not as the last line about each (id -> its digest) left them."""
    there = set()
    for row in connection.execute(SQL["keys"]):
        id, *_ = row
        there.add(id)
        checked["keys"] += 1
        if id not in lines:
            yield f"keys: {row_named(('id',), row)}: no journal line tells of it"
        elif _key_seal(row) != lines[id]:
            yield f"keys: {row_named(('id',), row)} is not what was written"
    yield from (f"keys: {row_named(('id',), (id,))} is gone" for id in lines if id not in there and lines[id] != NO_KEY)


def _key_seal(row: Row) -> bytes | None:
    try:
        return key_seal(*row)
    except ValueError:  # a text that is not UTF-8
        return None


def unspaced(connection: sqlite3.Connection, adopted: object) -> Iterator[str]:
    """The active space is the one that the last journal line about a space names."""
    named = [space for (space,) in connection.execute(SQL["active_spaces"])]
    if named != ([] if adopted is None else [adopted]):
        yield "spaces: the active one is not the one that the journal names; `agent-memory rebuild --vectors` helps"


def misshapen(connection: sqlite3.Connection) -> Iterator[str]:
    """Vectors that cannot be compared: not of their space's length; or, where nothing else proves them, not a unit."""
    import numpy as np

    for vector, scale, data, dimension, seal in connection.execute(SQL["vectors_and_dimensions"]):
        if len(data) != dimension:
            yield f"vectors: vector {vector} has {len(data)} numbers, its space {dimension}"
        elif seal is None and any(data):
            numbers = np.frombuffer(data, np.int8).astype(np.float32)
            length = math.sqrt(float(numbers @ numbers)) * scale
            if not abs(length - 1) <= math.sqrt(dimension) / 254 + 1e-3:  # what rounding to int8 can come to
                yield f"vectors: vector {vector} is {length:.3f} long, not 1"


def unknown(connection: sqlite3.Connection) -> Iterator[str]:
    for name, value in connection.execute(SQL["all_meta"]):
        if name not in _META or not str(value).removeprefix("-").isdecimal():
            yield f"meta: {row_named(('name',), (name,))} is unknown, or its value is not a number"


def unnamed(connection: sqlite3.Connection) -> Iterator[str]:
    for table, key in (("names", "name"), ("labels", "label"), ("actors", "actor")):
        for number, text in connection.execute(SQL[f"all_{table}"]):
            if wrong := garbled(("text",), (text,)):
                yield f"{table}: {key} {number}{wrong}"


def unsound_pages(connection: sqlite3.Connection) -> Iterator[str]:
    return (f"file: {text}" for (text,) in connection.execute("pragma integrity_check(5)") if text != "ok")


def underived(
    connection: sqlite3.Connection, derive: Checker, sealed: set[int], checked: Counter[str]
) -> Iterator[str]:
    """Contents whose words or fields are not those that are derived from them today. Of a content that is not what was
    written nothing can be said."""
    rows = counted(connection.execute(SQL["contents_and_words"]), "contents", lambda: count(connection, "contents"))
    wrong: defaultdict[str, list[int]] = defaultdict(list)
    names = vocabulary.names(connection)
    for content, kind, text, codec, payload, words, length, terms in rows:
        derived = derive(kind, plain(text, codec), payload, names.get(words, "")) if content in sealed else None
        if derived is None:
            continue
        checked["derived"] += 1
        if (length, terms) != (derived.terms.length, derived.terms.hashes + derived.terms.counts):
            wrong["words"].append(content)
        if set(connection.execute(SQL["fields_of"], (content,))) != set(derived.fields):
            wrong["fields"].append(content)
    for what, found in wrong.items():
        yield (
            f"{what} that do not follow from their content: {len(found)} (first: {found[0]}); "
            "`agent-memory rebuild` helps"
        )
