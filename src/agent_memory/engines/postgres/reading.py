"""The `ReadingLog` port on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from agent_memory.engines.postgres.connection import BRIEF_SECONDS, Database, PostgresSession, Row
from agent_memory.engines.postgres.present import columns
from agent_memory.engines.postgres.receipts import believed
from agent_memory.ledger import reading
from agent_memory.ports.reading import ReadLine, ReadsWanted
from agent_memory.ports.receipts import RETENTION


class PostgresReading:
    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, lines: Sequence[ReadLine], *, durable: bool = False) -> None:
        for tenant, theirs in reading.by_tenant(lines).items():
            with self._database.writing(tenant, durable=durable, seconds=BRIEF_SECONDS) as session:
                if session.cell("tenant_is_there", {"tenant": tenant}):
                    told = _told(session, tenant, theirs)
                    session.send("insert_reads", columns(reading.COLUMNS, reading.pages(told)))
        if lines:
            self._expire(max(line.at for line in lines))

    def lines(self, tenant: str, wanted: ReadsWanted, limit: int) -> list[ReadLine]:
        asked = {**reading.sought(wanted), "tenant": tenant}
        with self._database.reading(tenant) as session:
            return reading.found((text for (text,) in session.rows("reads", asked)), wanted, limit)

    def _expire(self, now: int) -> None:
        oldest = now - RETENTION
        with self._database.reading(None) as session:
            first = session.cell("oldest_read")
            if first is None or first >= oldest or not believed(session, now, RETENTION):
                return
        with self._database.writing(None, durable=False) as session:
            session.send("expire_reads", {"oldest": oldest})


def forget(session: PostgresSession, explained: Iterable[Row], ids: Collection[str]) -> None:
    """Take the reasons from lines that name one of these records; `explained` are the pages that have any."""
    for number, text in explained:
        reasons, left = reading.forgotten(text, ids)
        session.send("forget_why", {"number": number, "reasons": reasons, "lines": left})


def _told(session: PostgresSession, tenant: str, lines: Sequence[ReadLine]) -> list[ReadLine]:
    """As they may be kept: a record that one names may be forgotten meanwhile."""
    ids = reading.reasoned(lines)
    gone = {id for (id,) in session.rows("unknown_ids", {"tenant": tenant, "ids": ids})} if ids else set()
    return reading.without_reasons(lines, gone)
