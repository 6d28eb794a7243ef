"""The `RecordStore` port on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from agent_memory.engines.postgres import proof, views, write
from agent_memory.engines.postgres.connection import Row
from agent_memory.engines.postgres.read import (
    VersionRow,
    conditions,
    links,
    moment,
    position,
    prefix,
    reader,
    record,
    records,
    whole,
)
from agent_memory.engines.postgres.reads import Reads
from agent_memory.engines.postgres.rebuild import PostgresRebuild
from agent_memory.engines.postgres.statements import SQL
from agent_memory.ledger.groups import Groups
from agent_memory.ledger.journal import NAMES
from agent_memory.ledger.proof import ProofRequest
from agent_memory.ledger.request import Request
from agent_memory.models.errors import NotFound, StoreError
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.moment import from_micros
from agent_memory.models.record import SHARED, JournalLine, Link, Linked, Record, Scope
from agent_memory.ports.changes import Applied, Author, Change, Expect, Mark, Once, Verified
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Work
from agent_memory.ports.records import Analysis, Checker, Filter, View


class PostgresRecords:
    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._database = database = reads.primary
        self.groups = Groups(partial(write.apply, database))
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
        return self.groups.apply(Request(changes, author, now, expect, once, work))

    def get(self, view: View, ids: Sequence[str]) -> list[Record]:
        return records(view.scope.tenant, self._rows("shown", view, ids=[*ids]))

    def by_key(self, view: View, kind: str, key: str) -> Record | None:
        return next(iter(records(view.scope.tenant, self._rows("shown_by_key", view, kind=kind, key=key))), None)

    def head(self, scope: Scope, kind: str, *, key: str | None = None, id: str | None = None) -> Record | None:
        by, name = (SQL["named_by_key"], key) if id is None else (SQL["named_by_id"], id)
        rows = [*map(VersionRow._make, self._rows("current", View(scope, 0), {"named": by}, kind=kind, named=name))]
        if not rows:
            return None
        return record(scope.tenant, rows[-1]).model_copy(update={"version": max(row.number for row in rows)})

    def find(
        self, view: View, where: Filter, *, limit: int, after: str | None = None, oldest_first: bool = False
    ) -> list[Record]:
        made, values = conditions(where)
        if after is not None:
            last = [*map(VersionRow._make, self._rows("shown", view, ids=[after]))]
            if not last:
                raise NotFound(
                    f"no record {after!r} to continue after", hint="start from the first page", field="after"
                )
            made += " and " + SQL["where_newer" if oldest_first else "where_older"]
            values |= position(last)
        filled = {"conditions": made, "direction": "asc" if oldest_first else "desc"}
        return records(view.scope.tenant, self._rows("find", view, filled, limit=limit, **values))

    def history(self, view: View, id: str) -> list[Record]:
        if not (rows := self._rows("history", view, ids=[id])):
            raise NotFound(f"no record {id!r}", hint="`agent-memory list` shows what there is", field="id")
        return records(view.scope.tenant, rows)

    def beginning(self, view: View, start: str, *, limit: int) -> list[str]:
        return [id for (id,) in self._rows("beginning", view, limit=limit, **prefix(start))]

    def believed(self, view: View, where: Filter, *, after: int, limit: int) -> list[Linked]:
        made, values = conditions(where)
        asked = moment(view) | values | {"last": whole(after), "limit": limit}
        with self._database.reading(view.scope.tenant) as session:
            rows = [*map(VersionRow._make, session.rows("believed_after", asked, conditions=made))]
            starts = {"records": [*{row.record for row in rows}]}
            starting = session.send("links_from", moment(view) | starts, ends=SQL["at_records"])
        known = links(starting)
        found = ((row, record(view.scope.tenant, row)) for row in rows)
        return [Linked.trusted(**dict(one), links=known.get(row.record, [])) for row, one in found]

    def links(self, view: View, ids: Sequence[str]) -> list[Link]:
        rows = self._rows("links_of", view, {"ends": SQL["at_numbered"]}, ids=[*ids])
        return [link for row in rows for found in links([row]).values() for link in found]

    def agents(self, tenant: str, user: str) -> list[str]:
        with self._database.reading(tenant) as session:
            return [agent for (agent,) in session.rows("agents", {"user": user, "shared": SHARED})]

    def seq_at(self, tenant: str, moment: int) -> int:
        with self._database.reading(tenant) as session:
            found: int = session.cell("seq_at", {"moment": moment})
        return found

    def journal(self, view: View, *, after: int = 0, limit: int = 100, id: str | None = None) -> list[JournalLine]:
        asked: dict[str, Any] = {"after": whole(after), "limit": limit, "ids": [] if id is None else [id]}
        return [
            JournalLine.trusted(
                seq=seq,
                at=from_micros(at),
                operation=NAMES[operation],
                actor=actor,
                reason=reason,
                record_id=id,
                digest=digest.hex(),
                chain=chain.hex(),
            )
            for seq, at, operation, actor, reason, id, digest, chain in self._rows("journal", view, **asked)
        ]

    def verify(
        self, tenant: str | None, derive: Checker | None = None, expect: Mark | None = None, *, alone: bool = False
    ) -> Verified:
        with self._database.reading(None) as session:
            return proof.verify(session, ProofRequest(tenant, expect, alone), derive)

    def rebuild(self, analysis: Analysis) -> Mapping[str, int]:
        return PostgresRebuild(self._database, analysis).run(self.kinds)

    def stats(self, view: View) -> dict[str, Any]:
        mine = reader(view.scope)
        with self._database.reading(view.scope.tenant) as session:
            counted, kinds, accesses = (session.send(one, mine) for one in ("stats", "stats_kinds", "stats_accesses"))
            spaces, pending = session.send("spaces"), session.send("active_pending", mine)
            owed = session.cell("storage_owed")
        records, versions, links, vectors, receipts, seq, bytes = counted.fetchone() or ()
        recalled, recalls, last = accesses.fetchone() or ()
        space = next((Space(*said) for _, *said, is_active in spaces if is_active), None)
        return {
            "kinds": dict(kinds.fetchall()),
            "records": records,
            "versions": versions,
            "links": links,
            "vectors": vectors,
            "receipts": receipts,
            "pending_vectors": sum(waiting for (waiting,) in pending),
            "accesses": {"records": recalled, "times": recalls, "last": last},
            "seq": seq or 0,
            "space": space.fingerprint if space else None,
            "bytes_on_disk": bytes,
            "scrub_owed_since": owed,
            **self._replicated(view.scope.tenant, seq or 0),
        }

    def _replicated(self, tenant: str, seq: int) -> dict[str, Any]:
        """How far a replica is behind, where there is one: null where it cannot be asked."""
        if self._reads.replica is None:
            return {}
        try:
            standing = self._reads.replica.standing(tenant)
        except StoreError:
            return {"replica": None}
        return {"replica": {"seconds_behind": standing.seconds, "lines_behind": max(0, seq - standing.seq)}}

    def prepare(self, kinds: Iterable[Kind]) -> None:
        self.kinds = list(kinds)
        views.prepare(self._database, self.kinds)

    def _rows(self, name: str, view: View, filled: Mapping[str, str] | None = None, **asked: Any) -> list[Row]:
        values, within = moment(view) | asked, filled or {}
        return self._reads.only(view.scope.tenant, lambda session: session.send(name, values, **within)).fetchall()
