"""What a reader sees of the tables, by looking at every row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from tests.toy.tables import Tables

from agent_memory.ledger.journal import NAMES
from agent_memory.ledger.rows import LinkRow, VersionRow
from agent_memory.models.errors import NotFound
from agent_memory.models.moment import from_micros, maybe_moment
from agent_memory.models.record import JournalLine, Link, Linked, Record, Scope
from agent_memory.ports.index import NEVER
from agent_memory.ports.records import CONFINED, Filter, View


class Reader:
    def __init__(self, tables: Tables, view: View) -> None:
        self.tables, self.view = tables, view
        self.scopes = view.scope.readable()
        self.seq = NEVER if view.seq is None else view.seq

    # -- what stands

    def record_at(self, id: str) -> int | None:
        """Of the record with this id, in the narrowest scope that had one by then."""
        found = {row.place.scope: row.place.record for row in self.tables.versions.values() if row.place.id == id}
        return next((found[one] for one in self.scopes if one in found and found[one] <= self.seq), None)

    def stands(self, number: int, ended: int | None) -> bool:
        return number <= self.seq < (NEVER + 1 if ended is None else ended)

    def believed_rows(self, record: int | None = None) -> list[VersionRow]:
        rows = (row for row in self.tables.versions.values() if record in (None, row.place.record))
        return [row for row in rows if row.place.scope in self.scopes and self.stands(row.version, row.ended)]

    def shown(self, record: int | None) -> VersionRow | None:
        rows = sorted(self.believed_rows(record), key=lambda row: row.state.valid_from) if record else []
        if (at := self.view.valid_at) is not None:
            return next((row for row in rows if row.state.valid_from <= at < _end(row)), None)
        return next((row for row in rows if _end(row) > max(self.view.now, row.state.valid_from)), None)

    def all_shown(self) -> Iterator[VersionRow]:
        for record in sorted({row.place.record for row in self.tables.versions.values()}):
            if row := self.shown(record):
                yield row

    def fits(self, row: VersionRow, where: Filter) -> bool:
        state, fields = row.state, self.tables.contents[row.content].fields
        kind, place = CONFINED
        confined = [value for name, value in fields if name == place] if row.kind == kind else []
        return (
            (where.kinds is None or row.kind in where.kinds)
            and state.status in where.statuses
            and where.conversation_id in (None, state.conversation_id)
            and where.repository in (None, state.repository)
            and (where.after is None or state.valid_from >= where.after)
            and (where.before is None or state.valid_from < where.before)
            and (where.min_confidence is None or state.confidence >= where.min_confidence)
            and all(one in fields for one in where.fields)
            and (where.pages is None or all(one in where.pages for one in confined))
        )

    # -- records

    def get(self, ids: Sequence[str]) -> list[Record]:
        return [self.record(row) for id in ids if (row := self.shown(self.record_at(id)))]

    def by_key(self, kind: str, key: str) -> Record | None:
        rows = [row for row in self.all_shown() if (row.kind, row.state.key) == (kind, key)]
        return self.record(min(rows, key=lambda row: self.scopes.index(row.place.scope))) if rows else None

    def head(self, scope: Scope, kind: str, key: str | None, id: str | None) -> Record | None:
        rows = [row for row in self.believed_rows() if (row.place.scope, row.kind) == (scope, kind)]
        named = {row.place for row in rows if (row.state.key == key if id is None else row.place.id == id)}
        mine = sorted((row.state.valid_from, row.version) for row in rows if row.place in named)
        if not mine:
            return None
        number = max(row.number for row in rows if row.place in named)
        return self.record(self.tables.versions[mine[-1][1]]).model_copy(update={"version": number})

    def find(self, where: Filter, *, limit: int, after: str | None = None, oldest_first: bool = False) -> list[Record]:
        rows = sorted((row for row in self.all_shown() if self.fits(row, where)), key=_age, reverse=not oldest_first)
        if after is not None:
            if (last := self.shown(self.record_at(after))) is None:
                raise NotFound(f"no record {after!r} to continue after", field="after")
            rows = [row for row in rows if (_age(row) > _age(last)) == oldest_first and row.place != last.place]
        return [self.record(row) for row in rows[:limit]]

    def history(self, id: str) -> list[Record]:
        if (record := self.record_at(id)) is None:
            raise NotFound(f"no record {id!r}", field="id")
        rows = (row for _, row in sorted(self.tables.versions.items()) if row.place.record == record)
        return [self.record(row) for row in rows if row.version <= self.seq]

    def beginning(self, prefix: str, *, limit: int) -> list[str]:
        seen = {row.place.id for row in self.tables.versions.values() if self.sees(row)}
        return sorted(id for id in seen if id.startswith(prefix))[:limit]

    def sees(self, row: VersionRow) -> bool:
        return row.version <= self.seq and row.place.scope in self.scopes

    def believed(self, where: Filter, *, after: int, limit: int) -> list[Linked]:
        at = self.view.valid_at
        rows = [row for row in self.believed_rows() if row.version > after and self.fits(row, where)]
        rows = [row for row in rows if at is None or row.state.valid_from <= at < _end(row)]
        found = []
        for row in sorted(rows, key=lambda row: row.version)[:limit]:
            starting = [link for link in self.links_at({row.place.record}) if link.source == row.place.record]
            inside = [link for link in starting if self.tables.versions[link.target].place.scope in self.scopes]
            found.append(Linked(**dict(self.record(row)), links=[self.link(one) for one in inside]))
        return found

    def record(self, row: VersionRow) -> Record:
        state, body = row.state, self.tables.contents[row.content].body
        said = {name: getattr(state, name) for name in "key conversation_id repository status source".split()}
        return Record(
            **said,
            id=row.place.id,
            kind=row.kind,
            scope=row.place.scope,
            text=body.text,
            payload=json.loads(body.payload),
            importance=state.importance,
            confidence=state.confidence,
            valid_from=from_micros(state.valid_from),
            valid_to=maybe_moment(state.valid_to),
            recorded_at=from_micros(self.tables.at(row.version)),
            recorded_to=None if row.ended is None else from_micros(self.tables.at(row.ended)),
            seq=row.version,
            version=row.number,
        )

    # -- links and lines

    def links_at(self, records: set[int]) -> list[LinkRow]:
        rows = (link for link in self.tables.links.values() if link.scope in self.scopes)
        return [link for link in rows if records & {link.source, link.target} and self.stands(link.link, link.ended)]

    def links(self, ids: Sequence[str]) -> list[Link]:
        found = self.links_at({record for id in ids if (record := self.record_at(id))})
        return [self.link(one) for one in found if self.shown(one.source) and self.shown(one.target)]

    def link(self, row: LinkRow) -> Link:
        source, target = (self.tables.versions[end].place.id for end in (row.source, row.target))
        properties = json.loads(row.properties)
        return Link(source_id=source, target_id=target, type=row.type, weight=row.weight, properties=properties)

    def journal(self, *, after: int = 0, limit: int = 100, id: str | None = None) -> list[JournalLine]:
        record = self.record_at(id) if id else None
        names = {row.place.record: row.place.id for row in (*self.tables.versions.values(), *self.tables.tombstones)}
        lines = [
            JournalLine(
                seq=line.seq,
                at=from_micros(line.at),
                operation=NAMES[line.operation],
                actor=line.actor,
                reason=line.reason,
                record_id=names.get(line.record),
                digest=line.digest.hex(),
                chain=line.chain.hex(),
            )
            for line in self.tables.lines
            if line.scope in self.scopes and after < line.seq <= self.seq
            if id is None or (record is not None and line.record == record)
        ]
        return lines[:limit]


def _end(row: VersionRow) -> int:
    return NEVER if row.state.valid_to is None else row.state.valid_to


def _age(row: VersionRow) -> tuple[int, int]:
    return row.state.valid_from, row.place.record
