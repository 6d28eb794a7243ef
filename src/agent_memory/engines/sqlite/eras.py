"""A file that was put back to an earlier state under a running process, by SQLite's own means, so that it is the same
file: `sqlite3 memory.db ".restore backup.db"`. One that was replaced is refused, by `Connections`."""

from __future__ import annotations

import sqlite3

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ledger.marks import Marks


class Eras:
    """Looks at every transaction of a file when it begins. All journals of the file are in one table, so that one mark
    is enough: the last line of all."""

    def __init__(self, connections: Connections, interning: Interning) -> None:
        self.era = 0
        self._connections = connections
        self._interning = interning
        self._marks = Marks()
        connections.recognise = self._recognise

    def renew(self) -> None:
        """In a child: another thread may have held a lock."""
        self._marks.renew()

    def _recognise(self, connection: sqlite3.Connection) -> None:
        held = self._marks.held(None)
        line, chain, there = connection.execute(SQL["last_and"], (held.seq,)).fetchone() or (0, b"", None)
        era = self._marks.seen(None, held, there, line, chain)
        if self.era == 0:
            self.era = era
        elif era != self.era:
            with self._connections.nobody_else():  # who began before would remember numbers of before
                self._interning.forget()
                self.era = era
