"""The `RecordStore` port on SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from agent_memory.engines.sqlite import proof, schema, scrub, spaces, write
from agent_memory.engines.sqlite.connection import BRIEF_SECONDS, Connections
from agent_memory.engines.sqlite.interning import Interning
from agent_memory.engines.sqlite.journal import head, seq_at
from agent_memory.engines.sqlite.read import SqliteReader
from agent_memory.engines.sqlite.rebuild import SqliteRebuild
from agent_memory.engines.sqlite.statements import SQL, cell, listed
from agent_memory.ledger.groups import Groups
from agent_memory.ledger.proof import ProofRequest
from agent_memory.ledger.request import Request
from agent_memory.models.errors import StoreError
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.record import SHARED, JournalLine, Link, Linked, Record, Scope
from agent_memory.ports.changes import Applied, Author, Change, Expect, Mark, Once, Verified
from agent_memory.ports.feed import Work
from agent_memory.ports.records import Analysis, Checker, Filter, View


class SqliteRecords:
    def __init__(self, connections: Connections, interning: Interning) -> None:
        self._connections = connections
        self._interning = interning
        self.groups = Groups(partial(write.together, connections, interning))
        self.kinds: list[Kind] = []

    def apply(
        self,
        changes: Sequence[Change],
        *,
        author: Author,
        now: int,
        expect: Sequence[Expect] = (),
        once: Once | None = None,
        work: Work | None = None,
    ) -> Applied:
        answer = self.groups.apply(Request(changes, author, now, expect, once, work))
        return write.scrubbed(self._connections, answer)

    def get(self, view: View, ids: Sequence[str]) -> list[Record]:
        with self._connections.reading() as connection:
            return SqliteReader(connection, self._interning, view).get(ids)

    def by_key(self, view: View, kind: str, key: str) -> Record | None:
        with self._connections.reading() as connection:
            return SqliteReader(connection, self._interning, view).by_key(kind, key)

    def head(self, scope: Scope, kind: str, *, key: str | None = None, id: str | None = None) -> Record | None:
        with self._connections.reading() as connection:
            return SqliteReader(connection, self._interning, View(scope, 0)).head(scope, kind, key, id)

    def find(
        self, view: View, where: Filter, *, limit: int, after: str | None = None, oldest_first: bool = False
    ) -> list[Record]:
        with self._connections.reading() as connection:
            return SqliteReader(connection, self._interning, view).find(where, limit, after, oldest_first)

    def history(self, view: View, id: str) -> list[Record]:
        with self._connections.reading() as connection:
            return SqliteReader(connection, self._interning, view).history(id)

    def beginning(self, view: View, prefix: str, *, limit: int) -> list[str]:
        with self._connections.reading() as connection:
            return SqliteReader(connection, self._interning, view).beginning(prefix, limit)

    def believed(self, view: View, where: Filter, *, after: int, limit: int) -> list[Linked]:
        with self._connections.reading() as connection:
            return SqliteReader(connection, self._interning, view).believed(where, after, limit)

    def links(self, view: View, ids: Sequence[str]) -> list[Link]:
        with self._connections.reading() as connection:
            return SqliteReader(connection, self._interning, view).links(ids)

    def agents(self, tenant: str, user: str) -> list[str]:
        with self._connections.reading() as connection:
            return [agent for (agent,) in connection.execute(SQL["agents"], (tenant, user, SHARED))]

    def seq_at(self, tenant: str, moment: int) -> int:
        with self._connections.reading() as connection:
            return seq_at(connection, self._interning.tenant(connection, tenant), moment)

    def journal(self, view: View, *, after: int = 0, limit: int = 100, id: str | None = None) -> list[JournalLine]:
        with self._connections.reading() as connection:
            return SqliteReader(connection, self._interning, view).journal(after, limit, id)

    def verify(
        self, tenant: str | None, derive: Checker | None = None, expect: Mark | None = None, *, alone: bool = False
    ) -> Verified:
        with self._connections.reading() as connection:
            return proof.verify(connection, ProofRequest(tenant, expect, alone), derive)

    def rebuild(self, analysis: Analysis) -> Mapping[str, int]:
        return SqliteRebuild(self._connections, self._interning, analysis).run(self.kinds)

    def stats(self, view: View) -> dict[str, Any]:
        with self._connections.reading() as connection:
            scopes = listed(self._interning.readable(connection, view.scope))
            number, space = spaces.active(connection)
            kinds = connection.execute(SQL["stats_kinds"].format(scopes=scopes)).fetchall()
            records, versions, links, vectors, receipts, pending = connection.execute(
                SQL["stats"].format(scopes=scopes), {"space": number}
            ).fetchone()
            recalled, recalls, last = connection.execute(SQL["stats_accesses"].format(scopes=scopes)).fetchone()
            pages, size = (cell(connection, f"pragma {name}") for name in ("page_count", "page_size"))
            seq = head(connection, self._interning.tenant(connection, view.scope.tenant)).seq
            owed = cell(connection, SQL["moment_of"], (scrub.owed(connection),))
        return {
            "kinds": dict(kinds),
            "records": records,
            "versions": versions,
            "links": links,
            "vectors": vectors,
            "receipts": receipts,
            "pending_vectors": pending,
            "accesses": {"records": recalled, "times": recalls, "last": last},
            "seq": seq,
            "space": space.fingerprint if space else None,
            "bytes_on_disk": pages * size,
            "scrub_owed_since": owed,
        }

    def prepare(self, kinds: Iterable[Kind]) -> None:
        self.kinds = list(kinds)
        with self._connections.reading() as connection:
            taken = {name for name, type in connection.execute(SQL["tables_and_views"]) if type == "view"}
        if any(kind.plural not in taken for kind in self.kinds):
            # Other tools can wait for their views: where nothing can be written now, the next one to open makes them.
            with suppress(StoreError), self._connections.writing(seconds=BRIEF_SECONDS) as connection:
                schema.create_views(connection, self.kinds)
