"""The `ReadingLog` port on PostgreSQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from agent_memory.engines.postgres.connection import BRIEF_SECONDS, Database, PostgresSession
from agent_memory.engines.postgres.present import columns
from agent_memory.engines.postgres.receipts import believed
from agent_memory.ledger.reading import COLUMNS, cells, restored
from agent_memory.ports.reading import ReadLine, ReadsWanted
from agent_memory.ports.receipts import RETENTION


class PostgresReading:
    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, lines: Sequence[ReadLine], *, durable: bool = False) -> None:
        tenants: defaultdict[str, list[ReadLine]] = defaultdict(list)
        for line in lines:
            tenants[line.tenant].append(line)
        for tenant, theirs in tenants.items():
            with self._database.writing(tenant, durable=durable, seconds=BRIEF_SECONDS) as session:
                if session.cell("tenant_is_there", {"tenant": tenant}):
                    told = _told(session, tenant, theirs)
                    session.send("insert_reads", columns(COLUMNS, map(cells, told)))
        if lines:
            self._expire(max(line.at for line in lines))

    def lines(self, tenant: str, wanted: ReadsWanted, limit: int) -> list[ReadLine]:
        asked = {**wanted._asdict(), "tenant": tenant, "limit": limit}
        with self._database.reading(tenant) as session:
            return [restored(row) for row in session.rows("reads", asked)]

    def _expire(self, now: int) -> None:
        oldest = now - RETENTION
        with self._database.reading(None) as session:
            first = session.cell("oldest_read")
            if first is None or first >= oldest or not believed(session, now, RETENTION):
                return
        with self._database.writing(None, durable=False) as session:
            session.send("expire_reads", {"oldest": oldest})


def _told(session: PostgresSession, tenant: str, lines: Sequence[ReadLine]) -> list[ReadLine]:
    """As they may be kept: a record that one names may be forgotten meanwhile."""
    ids = sorted({id for line in lines if line.why is not None for id in line.ids})
    gone = {id for (id,) in session.rows("unknown_ids", {"tenant": tenant, "ids": ids})} if ids else set()
    return [line if gone.isdisjoint(line.ids) else line._replace(why=None) for line in lines]
