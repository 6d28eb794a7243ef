"""Making everything derived again: in short transactions, between which others read and write, and which need not be
made twice. Until the last of them, rows of both kinds stand beside each other, and each is found in its own words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from agent_memory.engines.postgres import spaces, views, vocabulary
from agent_memory.engines.postgres.connection import Database, PostgresSession, Row
from agent_memory.engines.postgres.present import columns
from agent_memory.engines.postgres.write import FIELD, cells, fields
from agent_memory.ledger import rebuild as rules
from agent_memory.ledger.seals import sealed_again
from agent_memory.ledger.spaces import REBUILT
from agent_memory.models.kinds.kind import Kind
from agent_memory.ports.changes import Derived
from agent_memory.ports.progress import counted
from agent_memory.ports.records import Analysis

BATCH = 256  # rows of one transaction: the tenant's writers wait for it


class PostgresRebuild:
    """One run, from the beginning or from where another was stopped."""

    def __init__(self, database: Database, analysis: Analysis) -> None:
        self._database = database
        self._analysis = analysis

    def run(self, kinds: Iterable[Kind]) -> Mapping[str, int]:
        with self._database.writing(None) as session:
            vocabulary.begin(session, self._analysis.vocabulary)
            tenants, total = session.rows("tenant_names"), session.cell("count_contents")
        made = sum(1 for (tenant,) in tenants for _ in counted(self._contents(tenant), "contents", lambda: total))
        for (tenant,) in tenants:
            self._receipts(tenant)
        known = [*kinds]
        with self._step(None, durable=True) as session:
            self._finish(session, known)
        return {"contents": made, "views": len(known)}

    @contextmanager
    def _step(self, tenant: str | None, *, durable: bool = False) -> Iterator[PostgresSession]:
        """What is lost with the power is made again by the next run; only the end has to be safe."""
        with self._database.writing(tenant, durable=durable) as session:
            session.send("lock_mine" if tenant else "change_spaces")
            rules.goes_on(vocabulary.written(session), self._analysis.vocabulary)
            yield session

    def _contents(self, tenant: str) -> Iterator[int]:
        after = 0
        while True:
            with self._step(tenant) as session:
                rows = session.rows("old_words", {"after": after, "limit": BATCH})
                made = {number: self._derived(*said) for number, *said in rows}
                if made:
                    _put(session, made)
            if not made:
                return
            after = max(made)
            yield from made

    def _derived(self, kind: str, text: str | None, encoded: bytes | None, codec: str | None, payload: str) -> Derived:
        return rules.derived(self._analysis, kind, text if codec is None else encoded, codec, payload)

    def _receipts(self, tenant: str) -> None:
        """Their queries in the words of what may be forgotten."""
        after = 0
        while True:
            with self._step(tenant) as session:
                rows = session.rows("old_receipts", {"after": after, "limit": BATCH})
                asked = [again for row in rows if (again := self._asked(*row))]
                if asked:
                    session.send("put_asked", columns("receipts terms seals", asked))
            if not rows:
                return
            after = max(receipt for receipt, *_ in rows)

    def _asked(self, receipt: int, *row: Any) -> Row | None:
        *said, terms, body, told, seal = row
        asked = rules.asked(self._analysis, body, terms)
        if asked == terms:
            return None
        *_, proof = sealed_again((*said, terms, body, told, seal), *said, asked, body, told)
        return receipt, asked, proof

    def _finish(self, session: PostgresSession, kinds: Iterable[Kind]) -> None:
        session.send("drop_old_vocabularies")
        if (space := spaces.active(session)) is not None:
            session.send("pend_everything", {"space": spaces.number(session, space)})
        spaces.tell(session, REBUILT)
        views.create(session, kinds, anew=True)


def _put(session: PostgresSession, made: Mapping[int, Derived]) -> None:
    session.send("put_words", columns("contents lengths terms", ((n, *cells(one.terms)) for n, one in made.items())))
    session.send("drop_fields", {"contents": [*made]})
    rows = [row for number, one in made.items() for row in fields(number, one.fields)]
    session.send("insert_fields", columns(FIELD, rows))
