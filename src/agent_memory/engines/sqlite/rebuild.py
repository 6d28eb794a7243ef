"""Making everything derived again: in short transactions, between which others read and write, and which need not be
made twice. Until the last of them, rows of both kinds stand beside each other, and each is found in its own words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from agent_memory.engines.sqlite import schema, scrub, spaces, vocabulary
from agent_memory.engines.sqlite.cells import count, lenient
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning, Naming
from agent_memory.engines.sqlite.journal import STORE, Lines
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.engines.sqlite.write import SqliteWriter
from agent_memory.ledger import rebuild as rules
from agent_memory.ledger.seals import sealed_again
from agent_memory.ledger.spaces import REBUILT, adopting
from agent_memory.models.kinds.kind import Kind
from agent_memory.ports.progress import counted
from agent_memory.ports.records import Analysis

BATCH = 256  # rows of one transaction: others wait for it


class SqliteRebuild:
    """One run, from the beginning or from where another was stopped."""

    def __init__(self, connections: Connections, interning: Interning, analysis: Analysis) -> None:
        self._connections = connections
        self._interning = interning
        self._analysis = analysis

    def run(self, kinds: Iterable[Kind]) -> Mapping[str, int]:
        with self._connections.writing() as connection:
            schema.check_version(connection, self._connections.name)
            vocabulary.begin(connection, self._analysis.vocabulary)
        made = sum(1 for _ in counted(self._contents(), "contents", self._total))
        self._receipts()
        views = [*kinds]
        with self._step(durable=True) as connection:
            self._finish(connection, views)
        with self._connections.plain() as connection:
            connection.execute("vacuum")
        scrub.scrub(self._connections, patience=scrub.PATIENCE_SECONDS)
        return {"contents": made, "views": len(views)}

    @contextmanager
    def _step(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """What is lost with the power is made again by the next run; only the end has to be safe."""
        with self._connections.writing(durable=durable) as connection:
            schema.check_version(connection, self._connections.name)
            rules.goes_on(vocabulary.written(connection), self._analysis.vocabulary)
            yield connection

    def _total(self) -> int:
        with self._connections.reading() as connection:
            return count(connection, "contents")

    def _contents(self) -> Iterator[int]:
        after = 0
        while True:
            with self._step() as connection, lenient(connection):
                rows = connection.execute(SQL["old_words"], {"after": after, "limit": BATCH}).fetchall()
                writers = {tenant: self._writer(connection, tenant) for _, tenant, *_ in rows}
                for content, tenant, *said in rows:
                    derived = rules.derived(self._analysis, *said)
                    connection.execute(SQL["erase_fields"], (content,))
                    writers[tenant].derived(content, derived.terms, derived.fields)
            if not rows:
                return
            made = [content for content, *_ in rows]
            after = made[-1]
            yield from made

    def _writer(self, connection: sqlite3.Connection, tenant: int) -> SqliteWriter:
        names = Naming(self._interning, connection)
        return SqliteWriter(connection, names, Lines(connection, names, tenant), {}, {})

    def _receipts(self) -> None:
        """Their queries in the words of what may be forgotten."""
        after = 0
        while True:
            with self._step() as connection:
                rows = connection.execute(SQL["old_receipts"], {"after": after, "limit": BATCH}).fetchall()
                for row in rows:
                    self._ask_again(connection, *row)
            if not rows:
                return
            after = max(receipt for receipt, *_ in rows)

    def _ask_again(self, connection: sqlite3.Connection, receipt: int, *row: Any) -> None:
        *said, terms, body, seal = row
        asked = rules.asked(self._analysis, body, terms)
        if asked != terms:
            shown = [record for (record,) in connection.execute(SQL["shown_by"], (receipt,))]
            before = (receipt, *said, terms, body, shown, seal)
            *_, proof = sealed_again(before, receipt, *said, asked, body, shown)
            connection.execute(SQL["put_asked"], (asked, proof, receipt))

    def _finish(self, connection: sqlite3.Connection, kinds: Iterable[Kind]) -> None:
        for statement in ("drop_loose_words", "drop_loose_fields", "drop_old_vocabularies"):
            connection.execute(SQL[statement])
        number, space = spaces.active(connection)
        if space is not None:
            connection.execute(SQL["pend_everything"], {"space": number})
        # A line that concerns everybody: whoever holds the old words in memory reads them again.
        store = self._writer(connection, STORE).lines
        line = adopting(store.head, REBUILT)
        store.append([line])
        scrub.owe(connection, store[line.seq])
        schema.create_views(connection, kinds, replace=True)
