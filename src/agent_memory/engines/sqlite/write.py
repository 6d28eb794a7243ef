"""The one write: the ledger wants, plans and answers; here it is read and written, all in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from agent_memory.engines.sqlite import erase, expiry, scrub, spaces, vocabulary
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.feed import SqliteJobs
from agent_memory.engines.sqlite.interning import Interning, Naming, founded, label
from agent_memory.engines.sqlite.journal import Lines
from agent_memory.engines.sqlite.present import SqliteLook
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.statements import SQL, VECTORS_PER_LINE, cell
from agent_memory.ledger import repeats
from agent_memory.ledger.groups import Answer
from agent_memory.ledger.plan import plan
from agent_memory.ledger.quantise import quantised
from agent_memory.ledger.request import Request, wanted
from agent_memory.ledger.rows import AnswerRow, ContentRow, Ended, LinkRow, Rows, VectorRow, VersionRow
from agent_memory.ledger.seals import sealed
from agent_memory.ledger.spaces import embedded
from agent_memory.ledger.tenants import another
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Applied, Terms
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Embedded


class _Undone(Exception):
    """Takes a transaction back in which no request succeeded."""


def together(connections: Connections, interning: Interning, requests: Sequence[Request]) -> Sequence[Answer]:
    """Requests of one tenant in one transaction, under the write lock. Of those that fail nothing is left.
    `scrubbed` is False in an answer where an erasure, whosever it was, has still to leave the disk."""
    answers: Sequence[Answer] = ()
    with suppress(_Undone), connections.writing() as connection:
        check_version(connection, connections.name)
        names = Naming(interning, connection)
        lines = Lines(connection, names, names.tenant(requests[0].author.scope.tenant))
        numbers = spaces.known(connection)
        look = SqliteLook(connection, names, lines)
        rows, answers = plan(requests, look.present(wanted(requests), tuple(numbers)))
        writers = {one.author.scope for one, done in zip(requests, answers, strict=True) if isinstance(done, Applied)}
        if not writers:
            raise _Undone
        names.withdraw(look.scopes.keys() - writers)
        SqliteWriter(connection, names, lines, look.scopes, numbers).write(rows, min(one.now for one in requests))
        if scrub.owed(connection) is not None:
            answers = [one._replace(scrubbed=False) if isinstance(one, Applied) else one for one in answers]
    if writers:
        names.settle()
    return answers


def scrubbed(connections: Connections, answer: Applied) -> Applied:
    """After the commit: who erased something waits until it has left the disk, too."""
    if answer.scrubbed:
        return answer
    gone = bool(answer.erased)
    paid = scrub.scrub(connections, patience=scrub.PATIENCE_SECONDS if gone else 0.0)
    return answer._replace(scrubbed=paid or not gone)


def embed(
    connection: sqlite3.Connection, names: Naming, space: Space, lines: Lines, batch: Sequence[Embedded], now: int
) -> None:
    """Vectors that come later than what they are of."""
    since = founded(connection, lines.tenant)
    batch = [one for one in batch if not another(since, one.store, one.handle)]
    lacking = spaces.lacking(connection, names, lines, space, (one.handle for one in batch))
    whose = {lack.scope for lack in lacking.values()}
    filled = embedded(batch, lacking, lines.head, {scope: names.within(scope) for scope in whose}, now)
    scopes = {scope: names.scope(scope) for scope in whose}
    lines.append(filled.lines, scopes)
    numbers = spaces.known(connection)
    for lack, part in filled.left:
        spaces.fill(connection, (scopes[lack.scope], numbers[space], lines[lack.content]), lack, part)
    SqliteWriter(connection, names, lines, scopes, numbers).vectors(filled.vectors)


class SqliteWriter:
    """Rows into tables: words become numbers here, and numbers of a journal lines of the file."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        names: Naming,
        lines: Lines,
        scopes: Mapping[Scope, int],
        spaces: Mapping[Space, int],
    ) -> None:
        self.connection = connection
        self.names = names
        self.lines = lines
        self.scopes = scopes
        self.spaces = spaces
        self._labels: dict[str, int | None] = {}

    def write(self, rows: Rows, now: int) -> None:
        self.lines.append(rows.lines, self.scopes)
        if rows.vocabulary:
            vocabulary.settle(self.connection, rows.vocabulary)
        erasing = erase.erase(self.connection, rows.gone, self.lines, self.scopes) if rows.gone else None
        self._contents(rows.contents)
        self._many("insert_version", map(self._version, rows.versions))
        self._many("end_version", map(self._ended, rows.ended_versions))
        self._many("insert_link", map(self._link, rows.links))
        self._many("end_link", map(self._ended, rows.ended_links))
        if erasing:
            erasing.finish(rows.gone[0].line, now)
        if rows.gone or rows.answers:
            self._expire(rows.answers[-1].at if rows.answers else rows.lines[-1].at)
        self._many("insert_answer", map(self._answer, rows.answers))
        for cursor in rows.cursors:
            SqliteJobs(self.connection).move(cursor)

    def _ended(self, row: Ended) -> tuple[object, ...]:
        return self.lines[row.line], self.lines[row.number]

    def derived(self, content: int, terms: Terms, fields: Iterable[tuple[str, str | int | float]]) -> None:
        """`content` is its line."""
        self.connection.execute(SQL["insert_words"], (content, terms.length, terms.hashes + terms.counts))
        self._many("insert_field", ((self._name(name), value, content) for name, value in fields))

    def vectors(self, rows: Iterable[VectorRow]) -> None:
        self._many(
            "insert_vector",
            (
                sealed(
                    self.lines[row.line] * VECTORS_PER_LINE + row.place,
                    *(self.spaces[row.space], self.scopes[row.scope], self.lines[row.content]),
                    *(row.vector.part, row.vector.start, row.vector.end),
                    *quantised(row.vector.numbers),
                )
                for row in rows
            ),
        )

    def _contents(self, rows: tuple[ContentRow, ...]) -> None:
        for number, body, terms, fields, _, lacks in rows:
            content = self.lines[number]
            self.connection.execute(SQL["insert_content"], (content, body.text, body.payload, body.salt))
            self.derived(content, terms, fields)
            for lack in lacks:
                pending = (content, self.spaces[lack.space], self.scopes[lack.scope], lack.part)
                self.connection.execute(SQL["insert_pending"], pending)
        self.vectors(vector for row in rows for vector in row.vectors)

    def _version(self, row: VersionRow) -> tuple[object, ...]:
        state, name, lines = row.state, self._name, self.lines
        return (
            *(lines[row.version], lines[row.place.record], row.place.id, row.number, lines[row.content]),
            self.scopes[row.place.scope],
            *(name(row.kind), state.key, self._label(state.conversation_id), state.position),
            *(self._label(state.repository), name(state.status), state.importance, state.confidence),
            *(name(state.source), state.valid_from, state.valid_to, None if row.ended is None else lines[row.ended]),
        )

    def _name(self, text: str) -> int:
        return self.names.number(self.lines.tenant, text)

    def _label(self, text: str | None) -> int | None:
        if text is not None and text not in self._labels:
            self._labels[text] = label(self.connection, self.lines.tenant, text)
        return None if text is None else self._labels[text]

    def _link(self, row: LinkRow) -> tuple[object, ...]:
        link, source, target = (self.lines[number] for number in row[:3])
        ended = None if row.ended is None else self.lines[row.ended]
        kind, scope = self._name(row.type), self.scopes[row.scope]
        return link, source, target, kind, scope, row.weight, row.properties, row.salt, ended

    def _answer(self, row: AnswerRow) -> tuple[object, ...]:
        return sealed(self.scopes[row.scope], row.key, row.answer.request, row.at, row.answer.text)

    def _expire(self, at: int) -> None:
        """Requests that were answered long ago."""
        oldest = (at - repeats.LIVE,)
        if cell(self.connection, SQL["anything_answered"], oldest) and expiry.believed(
            self.connection, at, repeats.LIVE
        ):
            self.connection.execute(SQL["expire_answers"], oldest)

    def _many(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        if made := list(rows):
            self.connection.executemany(SQL[statement], made)
