"""Forgetting for real: no row, no index entry, no trace beside the records keeps what was erased. What is left of it on
the disk is `scrub`'s."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from agent_memory.engines.sqlite import debts, namespaces, reading, scrub
from agent_memory.engines.sqlite.desk import forget, readers, sweep
from agent_memory.engines.sqlite.journal import Lines
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ledger import repeats
from agent_memory.ledger.rows import Gone
from agent_memory.ledger.seals import checksum
from agent_memory.ledger.traces import ENTRY, Traces, words
from agent_memory.models.record import Scope

_BY_CONTENT = ("erase_words", "erase_fields", "erase_pending", "erase_content")


def erase(connection: sqlite3.Connection, gone: Iterable[Gone], lines: Lines, scopes: Mapping[Scope, int]) -> Erasing:
    """What is about these records goes; what is beside them, when the rest of the write is done."""
    erasing = Erasing(connection, lines, scopes)
    for one in gone:
        erasing.erase(one)
    return erasing


class Erasing:
    """The erasures of one write. Rows go one by one; their traces are looked for once, by `finish`."""

    def __init__(self, connection: sqlite3.Connection, lines: Lines, scopes: Mapping[Scope, int]) -> None:
        self.connection = connection
        self.scopes = scopes
        self._lines = lines
        self._first = 0
        self._traces: defaultdict[Scope, Traces] = defaultdict(Traces)

    def erase(self, gone: Gone) -> None:
        """Delete everything of one record. Its journal lines stay: they hold numbers and salted digests, and the
        salt goes now. The tombstone keeps the id, so that an import cannot bring it back unnoticed."""
        connection, (number, id, whose) = self.connection, gone.place
        scope, record, line = self.scopes[whose], self._lines[number], self._lines[gone.line]
        contents = connection.execute(SQL["contents_of"], (id, scope)).fetchall()
        known = [words(terms or b"", ENTRY) for _, terms in contents]
        self._traces[whose].add(id, known + [words(one.hashes) for one in gone.words])
        numbers = [(content,) for content, _ in contents]
        for statement in _BY_CONTENT:
            connection.executemany(SQL[statement], numbers)
        connection.executemany(SQL["erase_vectors"], [(scope, content) for content, _ in contents])
        connection.execute(SQL["erase_versions"], (id, scope))
        connection.execute(SQL["erase_links"], {"record": record})
        for statement in ("erase_accesses", "erase_accessed"):
            connection.execute(SQL[statement], (record,))
        self._drop(connection.execute(SQL["receipts_showing"], (record,)).fetchall())
        connection.execute(SQL["insert_tombstone"], (record, id, scope, line))
        self._first = self._first or line

    def finish(self, seq: int, now: int) -> None:
        """Receipts that asked in the same words, working sets, vectors of callers, answered requests, unused labels;
        and what places outside must forget."""
        for scope, traces in self._traces.items():
            whose = readers(self.connection, scope)
            self._drop([(receipt,) for receipt in traces.asking(self.connection.execute(SQL["asked"], (whose,)))])
            forget(self.connection, whose, traces.ids)
            namespaces.forget(self.connection, scope, traces.ids)
            self._forget_answers(whose, traces)
            reading.forget(self.connection, scope.tenant, traces.ids)
        debts.incur(self.connection, {scope: sorted(traces.ids) for scope, traces in self._traces.items()}, seq, now)
        sweep(self.connection, now)
        self.connection.execute(SQL["erase_labels"], (self._lines.tenant,))
        scrub.owe(self.connection, self._first)

    def _forget_answers(self, scopes: str, traces: Traces) -> None:
        """Leave nothing but the key of requests that wrote one of these records."""
        request, text = repeats.FORGOTTEN
        told = [
            (checksum(scope, key, request, at, text), scope, key)
            for scope, key, at, answer in self.connection.execute(SQL["answers_of"], (scopes,)).fetchall()
            if repeats.wrote(answer, traces.ids)
        ]
        self.connection.executemany(SQL["forget_answer"], told)

    def _drop(self, receipts: Sequence[tuple[int]]) -> None:
        for statement in ("erase_receipt", "erase_shown"):
            self.connection.executemany(SQL[statement], receipts)
