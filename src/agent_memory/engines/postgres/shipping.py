"""The `Shipping` port on PostgreSQL: rows have words and numbers of journals, and leave and come as they are."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from agent_memory.engines.postgres import storage
from agent_memory.engines.postgres.connection import Database, PostgresSession, Row
from agent_memory.engines.postgres.desk import place
from agent_memory.engines.postgres.namespaces import STORES, put
from agent_memory.engines.postgres.present import columns
from agent_memory.engines.postgres.schema import declare
from agent_memory.ledger import reading
from agent_memory.ledger.journal import genesis
from agent_memory.ledger.request import SALT_BYTES
from agent_memory.ledger.seals import checksum, sealed
from agent_memory.ledger.shipment import SECTIONS, check_mark, occupied, unfilled, whole
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Scope
from agent_memory.ports.clock import SystemClock
from agent_memory.ports.shipping import Cells, Show
from agent_memory.ports.vectors import owner
from agent_memory.ports.working import Desk

MARK = "migrating"
_FINISHING = ("finish_heads", "finish_founded", "finish_scopes", "used_refusals", "used_reads", "used_turns")


class PostgresShipping:
    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def showing(self, tenant: str | None = None) -> Iterator[Show]:
        with self._database.reading(None) as session:
            session.take_your_time()
            session.send("stay")

            def show(section: str) -> Iterator[Cells]:
                rows = session.stream(f"show_{section}", {"tenant": tenant})
                if section == "reads":
                    return reading.shipped(text for (text,) in rows)
                return map(_SHOWN[section], rows) if section in _SHOWN else rows

            yield show

    def mark(self) -> str | None:
        with self._database.reading(None) as session:
            found: str | None = session.cell("get_meta", {"name": MARK})
        return found

    def begin(self, mark: str) -> None:
        with self._database.writing(None) as session:
            session.send("schema_lock")
            if session.cell("holds_anything"):
                raise occupied(self._database.name)
            _empty(session)
            _note(session, MARK, mark)
            declare(session, filling=True)

    def take(self, rows: Sequence[tuple[str, Sequence[Cells]]], mark: str, *, after: str) -> None:
        with self._database.writing(None) as session:
            session.take_your_time()
            self._check(session, after)
            for section, several in rows:
                _take(session, section, several)
                if section == "store":  # it tells of tenants that are gone; those that come get other numbers
                    session.send("used_tenants")
            _note(session, MARK, mark)

    def finish(self, *, after: str) -> None:
        with self._database.writing(None) as session:
            session.take_your_time()
            self._check(session, after)
            for statement in _FINISHING:
                session.send(statement)
            for (table,) in session.rows("our_tables"):  # before the first question is planned
                session.send("count_table", table=table)

    def open(self, *, after: str) -> None:
        with self._database.writing(None) as session:
            self._check(session, after)
            session.send("drop_meta", {"name": MARK})
            declare(session)

    def abandon(self) -> None:
        with self._database.writing(None) as session:
            session.take_your_time()
            if session.cell("hold_meta", {"name": MARK}) is None:
                raise unfilled(self._database.name)
            _empty(session)
            salt = secrets.token_bytes(SALT_BYTES)
            session.send("insert_store", {"salt": salt, "genesis": genesis(salt, None)})
            declare(session)
            storage.owe(session, to_micros(SystemClock().now()), tenant=True)

    def _check(self, session: PostgresSession, after: str) -> None:
        check_mark(session.cell("hold_meta", {"name": MARK}), after, self._database.name)


def _empty(session: PostgresSession) -> None:
    """Of everything but what is owed to the files: what goes from the tables is still in those."""
    for (table,) in session.rows("our_tables"):
        if table != "storage":
            session.send("empty", table=table)
    session.send("empty_meta")


def _note(session: PostgresSession, name: str, value: str) -> None:
    session.send("put_meta", {"name": name, "value": value})


def _take(session: PostgresSession, section: str, rows: Sequence[Cells]) -> None:
    names = SECTIONS[section].columns
    if names[0] == "tenant":
        numbers = _numbers(session, {tenant for tenant, *_ in rows})
        rows = [(numbers[tenant], *rest) for tenant, *rest in rows]
    if section in _TAKEN:
        _TAKEN[section](session, rows)
    else:
        _many(session, section, names, rows)


def _many(session: PostgresSession, section: str, names: Iterable[str], rows: Iterable[Row]) -> None:
    session.send(f"take_{section}", columns(" ".join(names), rows))


def _numbers(session: PostgresSession, names: set[str]) -> dict[str, int]:
    """Of tenants. One that has no line was not told of, and is made."""
    known: dict[str, int] = dict(session.rows("numbers_of_tenants", {"names": [*names]}))
    for name in sorted(names - known.keys()):
        session.make(name)
        known[name] = session.cell("me")
    return known


def _common(session: PostgresSession, rows: Sequence[Row]) -> None:
    """Lines have their numbers here, and need no room."""


def _meta(session: PostgresSession, rows: Sequence[Row]) -> None:
    for name, value in rows:
        _note(session, name, value)


def _fields(session: PostgresSession, rows: Sequence[Row]) -> None:
    made = (
        (tenant, content, name, value, None)
        if isinstance(value, str)
        else (tenant, content, name, None, Decimal(value))
        for tenant, content, name, value in rows
    )
    _many(session, "fields", ("tenant", "content", "name", "word", "number"), made)


def _vectors(session: PostgresSession, rows: Sequence[Row]) -> None:
    spaces = _spaces(session)
    made = ((tenant, *sealed(line, place, spaces[space], *rest)) for tenant, line, place, space, *rest in rows)
    _many(session, "vectors", (*SECTIONS["vectors"].columns, "seal"), made)


def _pending(session: PostgresSession, rows: Sequence[Row]) -> None:
    spaces = _spaces(session)
    made = ((tenant, content, spaces[space], *rest) for tenant, content, space, *rest in rows)
    _many(session, "pending", SECTIONS["pending"].columns, made)


def _spaces(session: PostgresSession) -> dict[str, int]:
    return {f"{model}@{version}/{size}": space for space, model, version, size, _ in session.rows("spaces")}


def _answers(session: PostgresSession, rows: Sequence[Row]) -> None:
    made = ((tenant, *sealed(*rest)) for tenant, *rest in rows)
    _many(session, "answers", (*SECTIONS["answers"].columns, "seal"), made)


def _receipts(session: PostgresSession, rows: Sequence[Row]) -> None:
    for tenant, *row in rows:
        session.send("take_receipt", (tenant, *row, checksum(*row)))


def _values(session: PostgresSession, rows: Sequence[Row]) -> None:
    _many(session, "values", ("desk", "slot", *SECTIONS["values"].columns), (_placed(*row) for row in rows))


def _lists(session: PostgresSession, rows: Sequence[Row]) -> None:
    names = [name for name in SECTIONS["lists"].columns if name != "position"]
    made = (_placed(*row[:5], *row[6:]) for row in rows)
    _many(session, "lists", ("desk", "slot", *names), made)


def _placed(tenant: int, user: str, agent: str, conversation: str, name: str, *rest: Any) -> Row:
    found = place(Desk(Scope.trusted(tenant="", user=user, agent=agent), conversation), name)
    return (found["desk"], found["slot"], tenant, user, agent, conversation, name, *rest)


def _namespaces(session: PostgresSession, rows: Sequence[Row]) -> None:
    import numpy as np

    numbers = _numbers(session, {name for place, *_ in rows if (name := owner(place)) is not None})
    for namespace, id, vector, metadata, model in rows:
        whose = {"tenant": numbers.get(owner(namespace) or "", STORES), "namespace": namespace}
        put(session, whose | {"id": id, "metadata": metadata, "model": model}, np.frombuffer(vector, "<f4"))


def _owned(section: str) -> Callable[[PostgresSession, Sequence[Row]], None]:
    """Rows that name a namespace: its owner is their tenant."""
    place = SECTIONS[section].columns.index("namespace")

    def take(session: PostgresSession, rows: Sequence[Row]) -> None:
        numbers = _numbers(session, {name for row in rows if (name := owner(row[place])) is not None})
        made = ((numbers.get(owner(row[place]) or "", STORES), *row) for row in rows)
        _many(session, section, ("tenant", *SECTIONS[section].columns), made)

    return take


def _keys(session: PostgresSession, rows: Sequence[Row]) -> None:
    for row in rows:
        session.send("insert_key", row)


def _reads(session: PostgresSession, rows: Sequence[Row]) -> None:
    made = [(number, *page) for number, page in reading.received(rows)]
    _many(session, "reads", ("number", *reading.COLUMNS.split()), made)


_TAKEN: dict[str, Callable[[PostgresSession, Sequence[Row]], None]] = {
    "common": _common,
    "meta": _meta,
    "fields": _fields,
    "vectors": _vectors,
    "pending": _pending,
    "answers": _answers,
    "receipts": _receipts,
    "values": _values,
    "lists": _lists,
    "namespaces": _namespaces,
    "scores": _owned("scores"),
    "missed": _owned("missed"),
    "keys": _keys,
    "reads": _reads,
}
"""What is not stored as it is told; a tenant that comes first is its number already."""


def _field(row: Any) -> Cells:
    *said, word, number = row
    return (*said, whole(number) if word is None else word)


def _namespace(row: Any) -> Cells:
    import numpy as np

    namespace, id, embedding, *rest = row
    return namespace, id, np.array(embedding, "<f4").tobytes(), *rest


_SHOWN: dict[str, Callable[[Any], Cells]] = {"fields": _field, "namespaces": _namespace}
"""What is not told as it is stored."""
