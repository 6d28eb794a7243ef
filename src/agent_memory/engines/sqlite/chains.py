"""One journal for all tenants, as versions before 0.2 kept it, becomes one for each and one for the store.

No number and no digest changes. With N the last line of the old journal, each of the new ones goes on at N + 1, with
gaps below; so what was noted elsewhere (receipts, cursors, as-of) means what it meant. The chains are made anew, each
from a beginning that seals N and the old chain's end; the old values stay, and `verify` goes on proving them.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from agent_memory.engines.sqlite import owning
from agent_memory.engines.sqlite.cells import lenient
from agent_memory.engines.sqlite.interning import Interning, Naming
from agent_memory.engines.sqlite.journal import STORE, Lines
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ledger.journal import NOBODYS, Common, broken, chained, founding, genesis
from agent_memory.ledger.request import SALT_BYTES
from agent_memory.ledger.seals import checksum
from agent_memory.models.errors import Corrupt
from agent_memory.ports.progress import tell

BATCH = 4096


class Old(NamedTuple):
    """A line of the old journal. `tenant` and `number` are those of its scope; None: it concerned the store."""

    line: int
    at: int
    operation: int
    scope: int
    record: int | None
    other: int | None
    actor: str
    reason: str | None
    digest: bytes
    chain: bytes
    tenant: str | None
    number: int | None

    @property
    def said(self) -> tuple[object, ...]:
        return self.line, self.at, self.operation, self.scope, self.record, self.other, self.actor, self.reason


def part(connection: sqlite3.Connection, name: str, *, accept_damage: bool = False) -> None:
    """In the transaction of the upgrade. First the old chain is walked: what is broken is not sealed anew, unless an
    operator accepts it; then the store's journal tells which lines these are."""
    with lenient(connection):
        common = _walk(connection)
        if common.broken and not accept_damage:
            _refuse(common, name)
        last, before = common.last, common.value
        connection.execute(SQL["number_scopes"])
        _seal_scopes(connection)
        numbers = _tenants(connection, last, before)
        _chain(connection, numbers, last)
        _label(connection)
    for sql in ("index_scopes", "index_journal", "index_adopted"):
        connection.execute(SQL[sql])
    names = Naming(Interning(), connection)
    if common.broken:
        store = Lines(connection, names, STORE)
        store.append([broken(store.head, common, 0)])
    for number, beginning in numbers.values():
        if last and number != STORE:  # who has not written yet is told of by the first write
            store = Lines(connection, names, STORE)
            store.append([founding(store.head, number, beginning, 0)])


def _lines(connection: sqlite3.Connection) -> Iterator[Old]:
    """In batches: the rows may change behind them."""
    after = -(2**63)
    while rows := connection.execute(SQL["old_lines"], {"after": after, "limit": BATCH}).fetchall():
        for line in map(Old._make, rows):
            yield line
            after = line.line


def _walk(connection: sqlite3.Connection) -> Common:
    common = Common()
    for line in _lines(connection):
        common.follow(line.line, line.said, line.digest, line.chain)
    return common


def _refuse(common: Common, name: str) -> None:
    first, *more = common.broken
    others = ", nor are others" if more else ""
    raise Corrupt(
        f"the store cannot be upgraded: line {first.start} of its journal is not what was written{others}: {name}",
        hint="nothing was changed; restore a backup; without one, `agent-memory upgrade --accept-damage` goes on, and "
        "`agent-memory verify` tells of it from then on",
    )


def _tenants(connection: sqlite3.Connection, last: int, before: bytes) -> dict[str | None, tuple[int, bytes]]:
    """Each gets a number, and a beginning for its chain."""
    before = before if last else b""
    beginnings: dict[str | None, tuple[int, bytes]] = {}
    for name in (None, *(name for (name,) in connection.execute(SQL["old_tenants"]).fetchall())):
        salt = secrets.token_bytes(SALT_BYTES)
        beginning = genesis(salt, name, last, before)
        if name is None:
            connection.execute(SQL["insert_store"], (last, salt, beginning))
            number = STORE
        else:
            (number,) = connection.execute(SQL["insert_tenant"], (name, last, salt, beginning)).fetchone()
        beginnings[name] = number, beginning
    return beginnings


def _chain(connection: sqlite3.Connection, tenants: dict[str | None, tuple[int, bytes]], last: int) -> None:
    names, chains = Naming(Interning(), connection), {name: beginning for name, (_, beginning) in tenants.items()}
    renewed: list[tuple[object, ...]] = []
    actors = set()
    for line in _lines(connection):
        number, _ = tenants[line.tenant]
        actors.add(line.actor)
        actor = _readable(line.actor)
        said = (*line.said[:3], NOBODYS if line.number is None else line.number, *line.said[4:6], actor, line.reason)
        try:
            chains[line.tenant] = chained(chains[line.tenant], said, line.digest)
        except (TypeError, ValueError):
            raise Corrupt(
                f"the store cannot be upgraded: line {line.line} of its journal cannot be read at all",
                hint="nothing was changed; restore a backup",
            ) from None
        renewed.append((number, names.actor(number, actor), chains[line.tenant], line.line))
        if len(renewed) == BATCH or line.line == last:
            connection.executemany(SQL["renew_line"], renewed)
            renewed = []
            tell("journal", line.line, last)
    whole = [text for text in actors if text == _readable(text)]
    words = [row for text in whole for row in connection.execute(SQL["old_name"], (text,)).fetchall()]
    connection.execute(SQL["forget_actors"], (json.dumps([number for (number,) in words]),))


def _readable(text: object) -> str:
    """An actor whose name is damaged, or gone, has some name from now on; the line counts as broken."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(text, str) else "?"


def _seal_scopes(connection: sqlite3.Connection) -> None:
    """What was sound has its number sealed, too; what was not goes on telling."""
    for *columns, number, seal in connection.execute(SQL["old_scopes"]).fetchall():
        if seal == checksum(*columns):
            connection.execute(SQL["seal_scope"], (checksum(*columns, number), columns[0]))


def _label(connection: sqlite3.Connection) -> None:
    connection.execute(SQL["move_labels"])
    for column in ("conversation", "repository"):
        connection.execute(SQL["move_column"].format(column=column))
    owning.replace(connection, "labels", "own_labels")
