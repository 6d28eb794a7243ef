"""The one write: the ledger wants, plans and answers; here it is read and written, all in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import psycopg

from agent_memory.engines.postgres import erase, vocabulary
from agent_memory.engines.postgres.connection import Database, PostgresSession, Row, lost
from agent_memory.engines.postgres.feed import PostgresJobs
from agent_memory.engines.postgres.journal import append, tell_store
from agent_memory.engines.postgres.present import PostgresLook, columns
from agent_memory.engines.postgres.receipts import believed
from agent_memory.ledger import repeats
from agent_memory.ledger.journal import Line, founding
from agent_memory.ledger.plan import Planned, plan
from agent_memory.ledger.quantise import quantised
from agent_memory.ledger.request import Request, wanted
from agent_memory.ledger.rows import AnswerRow, ContentRow, LinkRow, Rows, VectorRow, VersionRow
from agent_memory.ledger.seals import sealed
from agent_memory.models.errors import AgentMemoryError, StoreError
from agent_memory.ports.changes import Applied, Terms

PATIENCE_SECONDS = 20.0  # to find out what became of a write whose answer was lost
PAUSE_SECONDS = 0.2
TRIES = 3


def apply(database: Database, requests: Sequence[Request]) -> Sequence[Applied | AgentMemoryError]:
    """Requests of one tenant, in one transaction; when it returns, they are durable. Two that wait for each other, as
    the first writes of a new tenant may, are told apart by the database: one of them begins again."""
    for _ in range(TRIES - 1):
        try:
            return _apply(database, requests)
        except StoreError as error:
            if not isinstance(error.__cause__, psycopg.errors.DeadlockDetected):
                raise
    return _apply(database, requests)


def _apply(database: Database, requests: Sequence[Request]) -> Sequence[Applied | AgentMemoryError]:
    tenant = requests[0].author.scope.tenant
    planned = None
    try:
        with database.writing(tenant) as session:
            now = min(one.now for one in requests)
            look = PostgresLook(session, tenant, wanted(requests), now)
            planned = plan(requests, look.present())
            done = zip(requests, planned.answers, strict=True)
            writers = {one.author.scope for one, answer in done if isinstance(answer, Applied)}
            look.new = [scope for scope in look.new if scope in writers]
            PostgresWriter(session, look).write(planned.rows, now)
    except StoreError as error:
        if planned is None or not lost(error.__cause__):
            raise
        _find_out(database, tenant, planned, error)
        database.marks.at_least(tenant, planned.rows.lines[-1].seq)
    return [_owing(one) if isinstance(one, Applied) and one.erased else one for one in planned.answers]


def _owing(applied: Applied) -> Applied:
    """What was erased is out of reach, and in the files until they are rewritten."""
    return applied._replace(scrubbed=False)


def _find_out(database: Database, tenant: str, planned: Planned, error: StoreError) -> None:
    """The answer to a commit was lost: returns when it happened after all, else raises what says that it did not."""
    if not planned.rows.lines:
        raise StoreError(
            f"{error.message}; nobody knows whether it was noted", hint="it is safe to try again"
        ) from error
    if not _landed(database, tenant, planned.rows.lines[-1]):
        raise StoreError(f"{error.message}; nothing was written", hint="it is safe to try again") from error


def _landed(database: Database, tenant: str, line: Line) -> bool:
    """Whether this line is in the tenant's journal, after whatever still holds its head has come to an end."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with database.writing(tenant) as session:
                if session.row("lock_mine") is None:
                    session.make(tenant)  # waits for whoever is making it
                return bool(session.cell("line_there", {"seq": line.seq, "chain": line.chain}))
        except StoreError as error:
            if time.monotonic() > deadline:
                raise StoreError(
                    f"{error.message}; nobody knows whether the last write happened",
                    hint="look for it when the database is back; with an idempotency key it is safe to repeat",
                ) from error
            time.sleep(PAUSE_SECONDS)


class PostgresWriter:
    """Rows into tables. `look` is what was read for them."""

    def __init__(self, session: PostgresSession, look: PostgresLook) -> None:
        self.session = session
        self.tenant, self.genesis = look.tenant, look.genesis
        self.scopes, self.spaces, self.new = look.scopes, look.spaces, look.new
        self.stale = look.stale

    def write(self, rows: Rows, now: int) -> None:
        if rows.lines or rows.answers:
            self._rows("insert_scopes", "scopes users agents", ((self.scopes[s], s.user, s.agent) for s in self.new))
        if rows.vocabulary:
            vocabulary.settle_first(self.session, rows.vocabulary)
        self.lines(rows.lines)
        if rows.gone:
            erase.erase(self.session, rows.gone, self.scopes, now)
        self._contents(rows.contents)
        self._rows("insert_versions", _VERSION, map(self._version, rows.versions))
        self._rows("end_versions", "numbers lines", rows.ended_versions)
        self._rows("insert_links", _LINK, map(self._link, rows.links))
        self._rows("end_links", "numbers lines", rows.ended_links)
        self._expire(rows)
        self._rows("insert_answers", "scopes keys requests moments answers seals", map(self._answer, rows.answers))
        for cursor in rows.cursors:
            PostgresJobs(self.session).move(cursor)

    def lines(self, lines: Sequence[Line]) -> None:
        if lines and lines[0].seq == 1:
            tell_store(self.session, lambda head: [founding(head, self.tenant, self.genesis, lines[0].at)])
            self.session.send("found_tenant", {"tenant": self.tenant})
        append(self.session, self.tenant, lines, self.scopes)

    def vectors(self, rows: Iterable[VectorRow]) -> None:
        self._rows(
            "insert_vectors",
            "lines places spaces scopes contents parts starts ends scales data seals",
            (
                sealed(
                    *(row.line, row.place, self.spaces[row.space], self.scopes[row.scope], row.content),
                    *(row.vector.part, row.vector.start, row.vector.end, *quantised(row.vector.numbers)),
                )
                for row in rows
            ),
        )

    def _contents(self, rows: Sequence[ContentRow]) -> None:
        self._rows(
            "insert_contents",
            "contents texts payloads salts lengths terms",
            ((r.content, r.body.text, r.body.payload, r.body.salt, *cells(r.terms)) for r in rows),
        )
        self._rows("insert_fields", FIELD, (cell for row in rows for cell in fields(row.content, row.fields)))
        self.vectors(vector for row in rows for vector in row.vectors)
        lacks = (lack for row in rows for lack in row.lacks)
        self._rows(
            "insert_pending",
            "contents spaces scopes parts",
            ((one.content, self.spaces[one.space], self.scopes[one.scope], one.part) for one in lacks),
        )

    def _version(self, row: VersionRow) -> Row:
        state = row.state
        return (
            *(row.version, row.place.record, row.place.id, row.number, row.content, self.scopes[row.place.scope]),
            *(row.kind, state.key, state.conversation_id, state.position, state.repository, state.status.value),
            *(float(state.importance), float(state.confidence), state.source),
            *(state.valid_from, state.valid_to, row.ended),
        )

    def _link(self, row: LinkRow) -> Row:
        return (*row[:4], self.scopes[row.scope], float(row.weight), row.properties, row.salt, row.ended)

    def _answer(self, row: AnswerRow) -> Row:
        return sealed(self.scopes[row.scope], row.key, row.answer.request, row.at, row.answer.text)

    def _expire(self, rows: Rows) -> None:
        """Requests that were answered long ago."""
        if rows.answers and self.stale and believed(self.session, rows.answers[-1].at, repeats.LIVE):
            self.session.send("expire_answers", {"oldest": rows.answers[-1].at - repeats.LIVE})

    def _rows(self, statement: str, names: str, rows: Iterable[Any]) -> None:
        if made := list(rows):
            self.session.send(statement, columns(names, made))


_VERSION = (
    "versions records ids numbers contents scopes kinds keys conversations positions repositories statuses importances "
    "confidences sources begin end ended"
)
_LINK = "links sources targets types scopes weights properties salts ended"
FIELD = "contents names words numbers"


def cells(terms: Terms) -> tuple[int, bytes]:
    """The words of a content, as they are stored."""
    return terms.length, terms.hashes + terms.counts


def fields(content: int, said: Iterable[tuple[str, str | int | float]]) -> Iterator[Row]:
    """Each once, exactly as it came."""
    for name, value in dict.fromkeys(said):
        word = value if isinstance(value, str) else None
        yield content, name, word, None if isinstance(value, str) else Decimal(value)
