"""Reads by id, key, filter and link. Every statement names the scopes that the reader may see."""

from __future__ import annotations

import heapq
import json
import sqlite3
import sys
from collections import namedtuple
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any

from agent_memory.engines.sqlite.interning import Interning, known_label
from agent_memory.engines.sqlite.journal import LATEST, line_at
from agent_memory.engines.sqlite.statements import SQL, cell, listed
from agent_memory.ledger.codecs import plain
from agent_memory.ledger.journal import NAMES
from agent_memory.models.errors import Corrupt, NotFound
from agent_memory.models.moment import from_micros, maybe_moment
from agent_memory.models.record import JournalLine, Link, Linked, Record, Scope, Status
from agent_memory.ports.records import CONFINED, Filter, View

VersionRow = namedtuple(  # as `version_columns` gives it; anything may stand in a damaged file
    "VersionRow",
    "version id kind scope text payload key conversation repository status importance confidence source valid_from "
    "valid_to number record at ended codec",
)
LinkRow = namedtuple("LinkRow", "link source target type weight properties")


class SqliteReader:
    """One snapshot, seen by one reader."""

    def __init__(self, connection: sqlite3.Connection, interning: Interning, view: View) -> None:
        self.connection = connection
        self.interning = interning
        self.view = view
        self.tenant = interning.tenant(connection, view.scope.tenant)
        self.scopes = interning.readable(connection, view.scope, self.tenant)
        self.moment = {
            "seq": LATEST if view.seq is None else line_at(connection, self.tenant, view.seq),
            "now": view.now,
            "valid_at": view.valid_at,
        }

    def get(self, ids: Sequence[str]) -> list[Record]:
        found = (self._shown(self.number(id)) for id in ids)
        return [self.record(row) for row in found if row is not None]

    def by_key(self, kind: str, key: str) -> Record | None:
        number = self._known(kind)
        for scope in self.scopes:
            rows = self._versions(SQL["shown_by_key"], key=key, kind=number, scope=scope)
            if rows:
                return self.record(rows[-1])
        return None

    def head(self, scope: Scope, kind: str, key: str | None, id: str | None) -> Record | None:
        number = next((number for number, one in self.scopes.items() if one == scope), None)
        known = self._known(kind)
        if id is None:
            record, found = cell(self.connection, SQL["record_by_key"], (key, known, number)), known
        else:
            record, found = self.connection.execute(SQL["record_by_id"], (id, number)).fetchone() or (None, known)
        if record is None or found != known:
            return None
        # All that is believed of the record, also under another key: what follows may have got a new one.
        rows = self._versions(SQL["current"], record=record)
        return self.record(rows[-1]).model_copy(update={"version": max(row.number for row in rows)})

    def find(self, where: Filter, limit: int, after: str | None, oldest_first: bool) -> list[Record]:
        """Per scope and kind an index gives the right order; the short lists are merged."""
        chosen = None if where.kinds is None else {self._known(kind) for kind in where.kinds}
        conditions, values = self._conditions(where)
        if after is not None:
            conditions.append(SQL["where_newer" if oldest_first else "where_older"])
            values |= self._position(after)
        sql = SQL["find"].format(conditions=" and ".join(conditions), direction="asc" if oldest_first else "desc")
        lists = [
            self._versions(sql, scope=scope, kind=kind, limit=limit, **values)
            for scope in self.scopes
            for kind in (self._kinds(scope) if chosen is None else chosen)
        ]
        merged = heapq.merge(*lists, key=lambda row: (row.valid_from, row.record), reverse=not oldest_first)
        return [self.record(row) for row, _ in zip(merged, range(limit), strict=False)]

    def history(self, id: str) -> list[Record]:
        record = self.number(id)
        if record is None:
            raise NotFound(f"no record {id!r}", hint="`agent-memory list` shows what there is", field="id")
        return [self.record(row) for row in self._versions(SQL["history"], record=record)]

    def beginning(self, prefix: str, limit: int) -> list[str]:
        """A range of the index of ids: nothing that a name can hold sorts after the last character there is."""
        sql = SQL["beginning"].format(scopes=listed(self.scopes))
        asked = (prefix, prefix + chr(sys.maxunicode), self.moment["seq"], limit)
        return [id for (id,) in self.connection.execute(sql, asked)]

    def believed(self, where: Filter, after: int, limit: int) -> list[Linked]:
        conditions, values = self._conditions(where)
        if where.kinds is not None:
            kinds = listed(self._known(kind) for kind in where.kinds)
            conditions.append(SQL["where_kinds"].format(numbers=kinds))
        sql = SQL["believed_after"].format(scopes=listed(self.scopes), conditions=" and ".join(conditions))
        rows = self._versions(sql, **values, last=line_at(self.connection, self.tenant, after), limit=limit)
        links = self._starting({row.record for row in rows})
        return [Linked.trusted(**dict(self.record(row)), links=links.get(row.record, [])) for row in rows]

    def _starting(self, records: Collection[int]) -> dict[int, list[Link]]:
        """The links that start at these records, whether or not their other ends hold now."""
        found: dict[int, list[Link]] = {}
        sql = SQL["id_and_scope"]
        for row in self._edges(sorted(records)):
            if row.source in records:
                ends = [self.connection.execute(sql, (number,)).fetchone() for number in (row.source, row.target)]
                if all(scope in self.scopes for _, scope in ends):
                    found.setdefault(row.source, []).append(self._link([id for id, _ in ends], row))
        return found

    def number(self, id: str) -> int | None:
        """The record with this id, in the narrowest scope that had one at the view's moment."""
        for scope in self.scopes:
            record = cell(self.connection, SQL["record_by_id"], (id, scope))
            if record is not None and record <= self.moment["seq"]:
                return int(record)
        return None

    def hydrate(self, handles: Sequence[int]) -> list[Record]:
        found: dict[int, Record] = {}
        for row in self._hydrated(handles):
            with suppress(Corrupt):
                found[row.version] = self.record(row)
        return [found[handle] for handle in handles if handle in found]

    def _hydrated(self, handles: Sequence[int]) -> list[VersionRow]:
        try:
            return self._versions(SQL["hydrate"], **self.among(handles))
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
        if len(handles) == 1:  # a text of it is not UTF-8
            return []
        return [row for handle in handles for row in self._hydrated([handle])]

    def damaged(self, handles: Collection[int]) -> int:
        """How many of these are there, and cannot be read."""
        there = cell(self.connection, SQL["count_versions"], {**self.moment, **self.among(handles)})
        return int(there) - len(self.hydrate([*dict.fromkeys(handles)]))

    def among(self, handles: Collection[int]) -> dict[str, object]:
        scopes = json.dumps([*self.scopes])
        return {"tenant": self.tenant, "handles": json.dumps([*handles]), "scopes": scopes}

    def record(self, row: VersionRow) -> Record:
        try:
            return self._record(row)
        except (TypeError, ValueError, OverflowError) as error:
            raise Corrupt(
                f"record {row.id!a} cannot be read: {type(error).__name__}",
                hint="`agent-memory verify` names the damage",
            ) from None

    def _record(self, row: VersionRow) -> Record:
        (version, id, kind, scope, text, payload, key, conversation, repository, status, importance, confidence,
         source, valid_from, valid_to, number, _, at, ended, codec) = row  # fmt: skip
        name = self.interning.text
        text, said = plain(text, codec), json.loads(payload)
        if {type(id), type(text), type(said)} != {str, dict} or {type(importance), type(confidence)} != {float}:
            raise TypeError("a column of another type")
        return Record.trusted(
            id=id,
            kind=name(self.connection, kind),
            scope=self.interning.scope(self.connection, scope),
            text=text,
            payload=said,
            key=key,
            conversation_id=conversation,
            repository=repository,
            status=Status(name(self.connection, status)),
            importance=importance,
            confidence=confidence,
            source=name(self.connection, source),
            valid_from=from_micros(valid_from),
            valid_to=maybe_moment(valid_to),
            recorded_at=from_micros(at),
            recorded_to=maybe_moment(ended),
            seq=version,
            version=number,
        )

    # -- links

    def links(self, ids: Sequence[str]) -> list[Link]:
        numbers = [number for id in ids if (number := self.number(id)) is not None]
        names: dict[int, str] = {}
        found = []
        for row in self._edges(numbers):
            ends = [self._visible_id(number, names) for number in (row.source, row.target)]
            if all(ends):
                found.append(self._link(ends, row))
        return found

    def _edges(self, records: Sequence[int]) -> Iterable[LinkRow]:
        """Links at these records, believed at the view's moment and inside the reader's scopes."""
        found: set[LinkRow] = set()  # a link whose ends are in two chunks comes twice
        for chunk in _chunks(list(records), 200):
            sql = SQL["edges"].format(marks=",".join("?" * len(chunk)), scopes=listed(self.scopes))
            seq = self.moment["seq"]
            found |= {*map(LinkRow._make, self.connection.execute(sql, (*chunk, *chunk, seq, seq)))}
        return sorted(found)

    def _link(self, ends: Sequence[str], row: LinkRow) -> Link:
        source, target = ends
        return Link(
            source_id=source,
            target_id=target,
            type=self.interning.text(self.connection, row.type),
            weight=row.weight,
            properties=json.loads(row.properties),
        )

    def _visible_id(self, record: int, known: dict[int, str]) -> str:
        """The id of a record that the view shows; empty when it does not."""
        if record not in known:
            row = self._shown(record)
            known[record] = row.id if row is not None and row.scope in self.scopes else ""
        return known[record]

    # -- the journal

    def journal(self, after: int, limit: int, id: str | None) -> list[JournalLine]:
        asked = {"tenant": self.tenant, "after": after, "limit": limit, "seq": self.moment["seq"], "id": id}
        asked["record"] = id and self.number(id)
        rows = self.connection.execute(SQL["journal"].format(scopes=listed(self.scopes)), asked)
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
            for seq, at, operation, actor, reason, id, digest, chain in rows
        ]

    # -- inside

    def _known(self, name: str) -> int:
        return self.interning.known(self.connection, self.tenant, name)

    def _versions(self, sql: str, **values: object) -> list[VersionRow]:
        return [*map(VersionRow._make, self.connection.execute(sql, {**self.moment, **values}))]

    def _shown(self, record: int | None) -> VersionRow | None:
        rows = self._versions(SQL["shown"], record=record) if record is not None else []
        return rows[-1] if rows else None

    def _conditions(self, where: Filter) -> tuple[list[str], dict[str, object]]:
        """A filter as SQL; values are always parameters."""
        labels = {"conversation": where.conversation_id, "repository": where.repository}
        asked = {"after": where.after, "before": where.before, "min_confidence": where.min_confidence} | {
            column: known_label(self.connection, self.tenant, text)
            for column, text in labels.items()
            if text is not None
        }
        values: dict[str, object] = {name: value for name, value in asked.items() if value is not None}
        statuses = listed(self._known(status) for status in where.statuses)
        conditions = [SQL["where_statuses"].format(numbers=statuses), *(SQL[f"where_{name}"] for name in values)]
        for place, (name, value) in enumerate(where.fields):
            conditions.append(SQL["where_field"].format(place=place))
            values |= {f"name{place}": self._known(name), f"value{place}": value}
        if where.pages is not None:
            kind, field = CONFINED
            conditions.append(SQL["where_pages"])
            values |= {"confined": self._known(kind), "place": self._known(field)}
            values["pages"] = json.dumps(where.pages)
        return conditions, values

    def _kinds(self, scope: int) -> Iterable[int]:
        """Which kinds a scope has: one look into the index for each."""
        kind = 0
        while kind := cell(self.connection, SQL["next_kind"], (scope, kind)):
            yield kind

    def _position(self, id: str) -> dict[str, object]:
        record = self.number(id)
        row = self._shown(record)
        if row is None:
            raise NotFound(f"no record {id!r} to continue after", hint="start from the first page", field="after")
        return {"last_from": row.valid_from, "last_record": record}


def _chunks(values: list[Any], size: int) -> Iterable[list[Any]]:
    return (values[start : start + size] for start in range(0, len(values), size))
