"""A store as one stream of JSON Lines: which sections it has, in which order, and what proves that two are the same.

An engine shows rows and takes rows (`ports/shipping.py`); every line is made and read here. What seals are over crosses
as it is: numbers of journals, of scopes within their tenant and of tenants, salts, digests and values of chains. So the
chains of both stores end in the same heads. `docs/guides/migrating.md` describes the stream for whoever reads it.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple

from agent_memory.ledger import reading, spending
from agent_memory.ledger.journal import (
    ADOPT,
    CLOSED,
    KEY,
    OPERATIONS,
    TENANT,
    Head,
    Journal,
    LineSubject,
    Signature,
    genesis,
)
from agent_memory.ledger.request import SALT_BYTES
from agent_memory.ledger.seals import key_seal
from agent_memory.ledger.tenants import missing
from agent_memory.models.errors import Conflict, InvalidInput, StoreError
from agent_memory.ports.shipping import Cells, Show

FORMAT = 1
FILLING = 1_000_000
"""Added to the number of the schema while a store is being filled: every version of agent-memory refuses it then."""


class Section(NamedTuple):
    """Columns whose name ends in `*` hold bytes: base64 in a line."""

    name: str
    columns: tuple[str, ...]
    packed: frozenset[str]


def _section(name: str, columns: str) -> Section:
    told = columns.split()
    packed = frozenset(one[:-1] for one in told if one.endswith("*"))
    return Section(name, tuple(one.rstrip("*") for one in told), packed)


SECTIONS = {
    name: _section(name, columns)
    for name, columns in {
        "common": "line value*",
        "meta": "name value",
        "vocabularies": "vocabulary name digest active",
        "spaces": "model version dimension active",
        "places": "name error",
        "tenants": "number name base salt* genesis*",
        "scopes": "tenant number user agent old",
        "journal": "tenant seq at operation scope record other actor reason digest* chain* old*",
        "store": "seq at operation record other actor reason digest* chain* old*",
        "contents": "tenant content text encoded* codec payload salt* vocabulary length terms*",
        "fields": "tenant content name value",
        "versions": "tenant version record id number content scope kind key conversation position repository status "
        "importance confidence source valid_from valid_to ended",
        "links": "tenant link source target type scope weight properties salt* ended",
        "tombstones": "tenant record id scope line",
        "vectors": "tenant line place space scope content part start end scale data*",
        "pending": "tenant content space scope part",
        "answers": "tenant scope key request* at answer",
        "receipts": "tenant id user agent at seq terms* body told",
        "accesses": "tenant record count last",
        "accessed": "tenant record at times",
        "values": "tenant user agent conversation key value expires_at",
        "lists": "tenant user agent conversation name position value expires_at",
        "namespaces": "namespace id vector* metadata model",
        "scores": "namespace id score at",
        "missed": "place namespace id turn at",
        "cursors": "tenant job seq chain turn",
        "debts": "place tenant user agent id seq at",
        "keys": "id digest* label tenant user permissions created_at expires_at ended_at",
        "refusals": "number at tenant user operation reason key",
        "reads": f"number {reading.SHIPPED}",
        "spending": spending.COLUMNS,
        "budgets": spending.LIMITS,
    }.items()
}
"""In the order in which they are shown and taken: what a row names is there before it."""
UNTOLD = tuple(
    "vectors pending answers receipts accesses accessed values lists namespaces scores missed cursors debts refusals "
    "reads spending budgets".split()
)
"""Sections whose rows come and go without a line in a journal."""


class ShippedRow(NamedTuple):
    """A row, and the line that it is."""

    section: Section
    cells: Cells
    line: bytes


class Tally:
    """How many rows each section has, and a sum over their lines: the same for the same rows, in whatever order."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = dict.fromkeys(SECTIONS, 0)
        self._sums: dict[str, int] = dict.fromkeys(SECTIONS, 0)

    def add(self, item: ShippedRow) -> None:
        name = item.section.name
        self.rows[name] += 1
        self._sums[name] = (self._sums[name] + int.from_bytes(sha256(item.line).digest())) % 2**256

    def told(self) -> dict[str, list[Any]]:
        return {name: [rows, f"{self._sums[name]:064x}"] for name, rows in self.rows.items()}


def unlike(one: Mapping[str, list[Any]], other: Mapping[str, list[Any]]) -> list[str]:
    """Sections that differ, each in words; of two `told`."""
    found = []
    for name in SECTIONS:
        (rows, digest), (others, other_digest) = one[name], other[name]
        if rows != others:
            found.append(f"{name}: {rows} rows here, {others} there")
        elif digest != other_digest:
            found.append(f"{name}: a row is not the same")
    return found


def items(show: Show, tenant: str | None = None, sections: Iterable[str] = SECTIONS) -> Iterator[ShippedRow]:
    """Everything that is shown, in the order of the sections, or what is in some of them. `NotFound`, and that at once,
    where there is no such tenant."""
    rows = show if tenant is None else _alone(show, tenant)
    return (
        ShippedRow(SECTIONS[name], cells, written(SECTIONS[name], cells)) for name in sections for cells in rows(name)
    )


def written(section: Section, cells: Cells) -> bytes:
    said = {"in": section.name}
    for name, cell in zip(section.columns, cells, strict=True):
        said[name] = b64encode(cell).decode() if isinstance(cell, bytes) else cell
    return _encode(said).encode() + b"\n"


_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


def heading(tenant: str | None) -> bytes:
    return _encode({"agent-memory": "migrate", "format": FORMAT, "tenant": tenant}).encode() + b"\n"


def ending(tally: Tally) -> bytes:
    return _encode({"end": tally.told()}).encode() + b"\n"


def read(lines: Iterable[bytes], name: str) -> Iterator[ShippedRow]:
    """What a stream holds that was kept in a file: `InvalidInput` where it is not one, not whole, or was changed. Its
    first line is read at once."""
    numbered = enumerate(lines, 1)
    with _readable(name, 1):
        heading = json.loads(next(numbered, (1, b""))[1])
        if heading["agent-memory"] != "migrate" or heading["format"] != FORMAT:
            raise ValueError("another version wrote it")
    return _read(numbered, name)


def _read(lines: Iterable[tuple[int, bytes]], name: str) -> Iterator[ShippedRow]:
    tally, ended, number = Tally(), False, 1
    for number, line in lines:
        with _readable(name, number):
            said = json.loads(line)
            if ended:
                raise ValueError("it comes after the end")
            if "in" not in said:
                ended = True
                if said["end"] != tally.told():
                    raise ValueError("the rows are not those that were written")
                continue
            item = _item(said, line)
        tally.add(item)
        yield item
    with _readable(name, number):
        if not ended:
            raise ValueError("the end is missing")


@contextmanager
def _readable(name: str, number: int) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        why = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise InvalidInput(
            f"{name}, line {number}: not a whole stream of `agent-memory migrate`: {why}",
            hint="write it again with `agent-memory migrate STORE FILE`",
            field="source",
        ) from error


def _item(said: dict[str, Any], line: bytes) -> ShippedRow:
    section = SECTIONS[said["in"]]
    cells = (said[one] for one in section.columns)
    named = zip(section.columns, cells, strict=True)
    made = tuple(
        b64decode(cell, validate=True) if name in section.packed and cell is not None else cell for name, cell in named
    )
    return ShippedRow(section, made, line if line.endswith(b"\n") else line + b"\n")


def whole(number: float) -> int | float:
    """A number as every engine gives it back: without a fraction it is an integer."""
    return int(number) if number == int(number) and abs(number) < 2**53 else float(number)


def being_filled(place: str) -> StoreError:
    return StoreError(
        f"the store is being filled by `agent-memory migrate`, and cannot be used before that is done: {place}",
        hint="run the same `agent-memory migrate FROM TO` again to finish it, or `agent-memory migrate --abandon TO` "
        "to empty it",
    )


def occupied(place: str) -> Conflict:
    return Conflict(
        f"there is something in the target already, and nothing was changed: {place}",
        hint="name a file that is not there yet, or an empty database",
    )


def check_mark(found: str | None, expected: str, place: str) -> None:
    """For whoever fills a store, in each transaction: it is still theirs."""
    if found is None:
        raise Conflict(
            f"the target is not being filled any more: another `migrate` finished or abandoned it: {place}",
            hint="look at what it holds; if that is nothing, run this one again",
        )
    if found != expected:
        raise Conflict(
            f"another `agent-memory migrate` is filling the target at the same time: {place}",
            hint="let that one finish; if it was stopped since, run this one again",
        )


def unfilled(place: str) -> Conflict:
    return Conflict(f"no `migrate` is filling this store: {place}", hint="nothing was changed; it can be used as it is")


def _alone(show: Show, tenant: str) -> Show:
    """One tenant, in a store of its own. The journal of that store begins with what it has to tell: nothing of the
    store that it came from, whose journal says what others did."""
    mine = next((row for row in show("tenants") if row[1] == tenant), None)
    if mine is None:
        raise missing(tenant)
    number, _, base, _, beginning = mine
    salt = sha256(beginning).digest()[:SALT_BYTES]  # the same each time, so that a stream can be gone on with
    journal = Journal(Head(chain=genesis(salt, None)))
    if base:
        line, value = next(iter(show("common")), None) or _closed(show)
        journal.append(CLOSED, LineSubject(None, line), Signature(0), value)
    for *space, active in show("spaces"):
        if active:
            model, version, dimension = space
            journal.append(ADOPT, LineSubject(), Signature(0, reason=f"{model}@{version}/{dimension}"))
    for key in show("keys"):
        journal.append(KEY, LineSubject(), Signature(0, reason=key[0]), key_seal(*key))
    if base or next(iter(show("journal")), None) is not None:
        journal.append(TENANT, LineSubject(None, number), Signature(0), beginning)
    made: dict[str, Iterable[Cells]] = {
        "common": (),
        "tenants": ((0, None, 0, salt, genesis(salt, None)), mine),
        "store": [(*line[:3], *line[4:], None) for line in journal.lines],
    }

    def rows(section: str) -> Iterator[Cells]:
        if section in made:
            return iter(made[section])
        if section in ("scopes", "journal"):  # the last column is for the one journal that all had
            return ((*cells[:-1], None) for cells in show(section))
        return show(section)

    return rows


def _closed(show: Show) -> tuple[int, bytes]:
    """Where the one journal ended that all tenants had, as a store tells that has not all of it any more."""
    for _, _, operation, line, _, _, _, digest, *_ in show("store"):
        if operation == OPERATIONS[CLOSED]:
            return line, digest
    return 0, b""
