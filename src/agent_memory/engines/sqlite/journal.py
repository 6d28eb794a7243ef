"""The table of all journals. A row of the file is known by its line; outside, by its number in its tenant's journal."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping

from agent_memory.engines.sqlite.interning import Naming, touch
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.journal import NOBODYS, Head, Line, founding
from agent_memory.models.errors import Corrupt
from agent_memory.models.record import Scope

STORE = 0
"""The tenant whose journal is the store's own."""

FIRST = -(2**63)
LATEST = 2**63 - 1


def head(connection: sqlite3.Connection, tenant: int) -> Head:
    """Nothing but zeros for who has never written."""
    return Head(*(connection.execute(SQL["head"], (tenant,)).fetchone() or ()))


def line_at(connection: sqlite3.Connection, tenant: int, seq: int) -> int:
    """The last line of a tenant up to this number; 0: it had none yet."""
    line, _, _ = _upto(connection, tenant, max(FIRST, min(seq, LATEST)))
    return line


def seq_at(connection: sqlite3.Connection, tenant: int, moment: int) -> int:
    """Recorded times only grow with a tenant's numbers: a binary search needs no index. Some numbers are nobody's."""
    low, high = 0, head(connection, tenant).seq
    while low < high:
        middle = (low + high + 1) // 2
        _, number, at = _upto(connection, tenant, middle)
        if at <= moment:
            low = middle
        else:
            high = number - 1
    _, number, _ = _upto(connection, tenant, low)
    return number


def moments(connection: sqlite3.Connection, until: int) -> Iterator[int]:
    """When the last line of each journal up to a moment was written, where it has one."""
    for (tenant,) in connection.execute(SQL["tenants"]).fetchall():
        _, _, at = _upto(connection, tenant, seq_at(connection, tenant, until))
        if at:
            yield at


def _upto(connection: sqlite3.Connection, tenant: int, seq: int) -> tuple[int, int, int]:
    """The last line of a tenant up to this number, its number, and when it was written; zeros: it had none yet."""
    found: tuple[int, int, int] | None = connection.execute(SQL["line_at"], (tenant, seq)).fetchone()
    return found or (0, 0, 0)


class Lines:
    """A journal in a write: which line has which of its numbers. Of the rows that are there, those are known that were
    read; more are not needed."""

    def __init__(self, connection: sqlite3.Connection, names: Naming, tenant: int) -> None:
        self.head = head(connection, tenant)
        self.tenant = tenant
        self._connection = connection
        self._names = names
        self._known: dict[int, int] = {}
        self._last = 0

    def read(self, line: int, number: int | None) -> int:
        """The number of a row that was read, to be used from here on."""
        if number is None:
            raise Corrupt(f"row {line} has no journal line", hint="`agent-memory verify` names the damage")
        self._known[number] = line
        return number

    def __getitem__(self, number: int) -> int:
        new = number - self.head.seq
        return self._last + new if new > 0 else self._known[number]

    def append(self, lines: Iterable[Line], scopes: Mapping[Scope, int] | None = None) -> None:
        """`scopes` has the row of each that a line is about: whoever holds what is in it notices by that row."""
        made, known = list(lines), scopes or {}
        if made and not self.head.seq and self.tenant != STORE:
            self._found(made[0].at)
        self._last = cell(self._connection, SQL["last_line"])
        own = self._names.actor
        self._connection.executemany(
            SQL["insert_journal"],
            [
                (
                    *(self[seq], self.tenant, seq, at, operation, NOBODYS if scope is None else known[scope]),
                    *(self._line(record), self._line(other), own(self.tenant, actor), *rest),
                )
                for seq, at, operation, scope, record, other, actor, *rest in made
            ],
        )
        lasts = {known[line.scope]: line.seq for line in made if line.scope is not None}
        for scope, seq in lasts.items():
            touch(self._connection, scope, seq)

    def _line(self, number: int | None) -> int | None:
        return number if number is None or self.tenant == STORE else self[number]

    def _found(self, at: int) -> None:
        """A tenant that writes for the first time."""
        beginning = cell(self._connection, SQL["genesis"], (self.tenant,))
        store = Lines(self._connection, self._names, STORE)
        store.append([founding(store.head, self.tenant, beginning, at)])
