"""Reads by id, key, filter and link. Every statement names the scopes that the reader may see."""

from __future__ import annotations

import heapq
import json
import sqlite3
import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any

from agent_memory.engines.sqlite.interning import Interning, known_label
from agent_memory.engines.sqlite.journal import NAMES
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.models.errors import Corrupt, NotFound
from agent_memory.models.moment import from_micros, maybe_moment
from agent_memory.models.record import JournalLine, Link, Linked, Record, Scope, Status
from agent_memory.ports.index import Step
from agent_memory.ports.records import CONFINED, Filter, View

Row = tuple[Any, ...]
LATEST = 2**63 - 1
OF_RECORD = "(v.id, v.scope) = (select id, scope from versions where version = :record)"


class Reader:
    """One snapshot, seen by one reader."""

    def __init__(self, connection: sqlite3.Connection, interning: Interning, view: View) -> None:
        self.connection = connection
        self.interning = interning
        self.view = view
        self.scopes = interning.readable(connection, view.scope)
        self.moment = {
            "seq": LATEST if view.seq is None else view.seq,
            "now": view.now,
            "valid_at": view.valid_at,
        }

    def get(self, ids: Sequence[str]) -> list[Record]:
        found = []
        for id in ids:
            record = self.number(id)
            rows = self._versions(OF_RECORD, record=record) if record is not None else []
            if rows:
                found.append(self.record(rows[-1]))
        return found

    def by_key(self, kind: str, key: str) -> Record | None:
        number = self.interning.known(self.connection, kind)
        for scope in self.scopes:
            rows = self._versions(
                "v.key = :key and v.kind = :kind and v.scope = :scope", key=key, kind=number, scope=scope
            )
            if rows:
                return self.record(rows[-1])
        return None

    def head(self, scope: Scope, kind: str, key: str | None, id: str | None) -> Record | None:
        number = next((number for number, one in self.scopes.items() if one == scope), None)
        known = self.interning.known(self.connection, kind)
        if id is None:
            found = self.connection.execute(SQL["record_by_key"], (key, known, number)).fetchone()
        else:
            found = self.connection.execute(SQL["record_by_id"], (id, number)).fetchone()
        if found is None or (id is not None and found[1] != known):
            return None
        # All that is believed of the record, also under another key: what follows may have got a new one.
        sql = f"{SQL['version_columns']} where {OF_RECORD} and v.to_seq is null order by v.valid_from, v.version"
        rows = self.connection.execute(sql, {"record": found[0]}).fetchall()
        newest = max(row[15] for row in rows)
        return self.record(rows[-1]).model_copy(update={"version": newest})

    def find(self, where: Filter, limit: int, after: str | None, oldest_first: bool) -> list[Record]:
        """Per scope and kind an index gives the right order; the short lists are merged."""
        chosen = None if where.kinds is None else {self.interning.known(self.connection, kind) for kind in where.kinds}
        conditions, values = self._conditions(where)
        direction, before = ("asc", ">") if oldest_first else ("desc", "<")
        if after is not None:
            conditions += f" and (v.valid_from, v.record) {before} (:last_from, :last_record)"
            values |= self._position(after)
        order = f"order by v.valid_from {direction}, v.record {direction} limit :limit"
        lists = [
            self._versions(
                f"v.scope = :scope and v.kind = :kind{conditions}",
                order,
                scope=scope,
                kind=kind,
                limit=limit,
                **values,
            )
            for scope in self.scopes
            for kind in (self._kinds(scope) if chosen is None else chosen)
        ]
        merged = heapq.merge(*lists, key=lambda row: (row[13], row[17]), reverse=not oldest_first)
        return [self.record(row) for row, _ in zip(merged, range(limit), strict=False)]

    def history(self, id: str) -> list[Record]:
        record = self.number(id)
        if record is None:
            raise NotFound(f"no record {id!r}", hint="`agent-memory list` shows what there is", field="id")
        sql = f"{SQL['version_columns']} where {OF_RECORD} and v.version <= :seq order by v.version"
        rows = self.connection.execute(sql, {"record": record, **self.moment}).fetchall()
        return [self.record(row) for row in rows]

    def beginning(self, prefix: str, limit: int) -> list[str]:
        """A range of the index of ids: nothing that a name can hold sorts after the last character there is."""
        scopes = ",".join(map(str, self.scopes))
        rows = self.connection.execute(
            f"select distinct id from versions where id >= ? and id < ? and scope in ({scopes}) and version <= ? "
            "order by id limit ?",
            (prefix, prefix + chr(sys.maxunicode), self.moment["seq"], limit),
        )
        return [id for (id,) in rows]

    def believed(self, where: Filter, after: int, limit: int) -> list[Linked]:
        conditions, values = self._conditions(where)
        if where.kinds is not None:
            kinds = ",".join(str(self.interning.known(self.connection, kind)) for kind in where.kinds)
            conditions += f" and v.kind in ({kinds})"
        scopes = ",".join(map(str, self.scopes))
        sql = (  # in the order of the rows, which is that of seq, whatever index there is for the scopes
            f"{SQL['version_columns']} where v.version > :last and +v.scope in ({scopes}) and {SQL['believed']} "
            f"{conditions} order by v.version limit :limit"
        )
        rows = self.connection.execute(sql, {**self.moment, **values, "last": after, "limit": limit}).fetchall()
        links = self._starting({row[17] for row in rows})
        return [Linked.trusted(**dict(self.record(row)), links=links.get(row[17], [])) for row in rows]

    def _starting(self, records: Collection[int]) -> dict[int, list[Link]]:
        """The links that start at these records, whether or not their other ends hold now."""
        found: dict[int, list[Link]] = {}
        sql = "select id, scope from versions where version = ?"
        for _, source, target, kind, weight, properties in self._edges(sorted(records)):
            if source in records:
                ends = [self.connection.execute(sql, (number,)).fetchone() for number in (source, target)]
                if all(scope in self.scopes for _, scope in ends):
                    link = self._link([id for id, _ in ends], kind, weight, properties)
                    found.setdefault(source, []).append(link)
        return found

    def number(self, id: str) -> int | None:
        """The record with this id, in the narrowest scope that had one at the view's moment."""
        for scope in self.scopes:
            row = self.connection.execute(SQL["record_by_id"], (id, scope)).fetchone()
            if row is not None and row[0] <= self.moment["seq"]:
                return int(row[0])
        return None

    def standing(self, records: Iterable[int]) -> list[Record]:
        """What the view shows of the records with these numbers, those that cannot be read left out."""
        found = []
        for record in records:
            with suppress(Corrupt, sqlite3.OperationalError):
                found += [self.record(row) for row in self._versions(OF_RECORD, record=record)[-1:]]
        return found

    def hydrate(self, handles: Sequence[int]) -> list[Record]:
        found: dict[int, Record] = {}
        for chunk in _chunks(list(handles), 500):
            for row in self._hydrated(chunk):
                with suppress(Corrupt):
                    found[row[0]] = self.record(row)
        return [found[handle] for handle in handles if handle in found]

    def _hydrated(self, handles: Sequence[int]) -> list[Row]:
        marks = ",".join("?" * len(handles))
        try:
            sql = f"{SQL['version_columns']} where v.version in ({marks})"
            return self.connection.execute(sql, handles).fetchall()
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
        if len(handles) == 1:  # a text of it is not UTF-8
            return []
        return [row for handle in handles for row in self._hydrated([handle])]

    def is_there(self, handle: int) -> bool:
        return self.connection.execute("select 1 from versions where version = ?", (handle,)).fetchone() is not None

    def record(self, row: Row) -> Record:
        try:
            return self._record(row)
        except (TypeError, ValueError, OverflowError) as error:
            raise Corrupt(
                f"record {row[1]!a} cannot be read: {type(error).__name__}",
                hint="`agent-memory verify` names the damage",
            ) from None

    def _record(self, row: Row) -> Record:
        (version, id, kind, scope, text, payload, key, conversation, repository, status, importance, confidence,
         source, valid_from, valid_to, number, _, _, at, ended) = row  # fmt: skip
        name = self.interning.text
        said = json.loads(payload)
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
        for _, source, target, kind, weight, properties in self._edges(numbers):
            ends = [self._visible_id(number, names) for number in (source, target)]
            if all(ends):
                found.append(self._link(ends, kind, weight, properties))
        return found

    def _edges(self, records: Sequence[int]) -> Iterable[Row]:
        """Links at these records, believed at the view's moment and inside the reader's scopes."""
        scopes = ",".join(map(str, self.scopes))
        found: dict[int, Row] = {}  # a link whose ends are in two chunks comes twice
        for chunk in _chunks(list(records), 200):
            marks = ",".join("?" * len(chunk))
            sql = (
                "select link, source, target, type, weight, properties from links "
                f"where (source in ({marks}) or target in ({marks})) and scope in ({scopes}) "
                "and link <= ? and (to_seq is null or to_seq > ?)"
            )
            seq = self.moment["seq"]
            found |= {row[0]: row for row in self.connection.execute(sql, (*chunk, *chunk, seq, seq))}
        return [found[link] for link in sorted(found)]

    def _link(self, ends: Sequence[str], kind: int, weight: float, properties: str) -> Link:
        source, target = ends
        return Link(
            source_id=source,
            target_id=target,
            type=self.interning.text(self.connection, kind),
            weight=weight,
            properties=json.loads(properties),
        )

    def _visible_id(self, record: int, known: dict[int, str]) -> str:
        """The id of a record that the view shows; empty when it does not."""
        if record not in known:
            rows = self._versions(OF_RECORD, record=record)
            known[record] = rows[-1][1] if rows and rows[-1][3] in self.scopes else ""
        return known[record]

    def steps(self, handles: Sequence[int], most: int) -> list[Step]:
        """Links at these versions, with what the view shows at their other ends."""
        values = {**self.moment, "most": most, "handles": json.dumps(handles), "scopes": json.dumps(list(self.scopes))}
        name = self.interning.text
        found = []
        for against, (near, far) in enumerate((("source", "target"), ("target", "source"))):
            sql = SQL["steps"].format(near=near, far=far, visible=SQL["visible"])
            for link, here, there, kind, weight, status in self.connection.execute(sql, values):
                with suppress(TypeError, ValueError):  # of what is damaged, no link is followed
                    type, shown = name(self.connection, kind), Status(name(self.connection, status))
                    found.append((link, against, Step(here, there, type, float(weight), not against, shown)))
        return [step for _, _, step in sorted(found, key=lambda one: one[:2])]

    # -- the journal

    def journal(self, after: int, limit: int, id: str | None) -> list[JournalLine]:
        chosen, values = "", {}
        if id is not None:
            chosen, values = " and j.record = :record", {"record": self.number(id)}
        scopes = ",".join(map(str, self.scopes))
        sql = (
            "select j.seq, j.at, j.operation, n.text, j.reason, coalesce(r.id, t.id), j.digest, j.chain from journal j "
            "join names n on n.name = j.actor left join versions r on r.version = j.record "
            f"left join tombstones t on t.record = j.record where j.seq > :after and j.scope in ({scopes}){chosen} "
            "and j.seq <= :seq order by j.seq limit :limit"
        )
        rows = self.connection.execute(sql, {"after": after, "limit": limit, "seq": self.moment["seq"], **values})
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

    def _versions(self, condition: str, order: str = "order by v.valid_from", **values: object) -> list[Row]:
        sql = f"{SQL['version_columns']} where {condition} and {SQL['visible']} {order}"
        return self.connection.execute(sql, {**self.moment, **values}).fetchall()

    def _conditions(self, where: Filter) -> tuple[str, dict[str, object]]:
        """A filter as SQL; values are always parameters."""
        known = self.interning.known
        statuses = ",".join(str(known(self.connection, status)) for status in where.statuses)
        sql, values = f" and v.status in ({statuses})", dict[str, object]()
        for column, text in (("conversation", where.conversation_id), ("repository", where.repository)):
            if text is not None:
                sql += f" and v.{column} = :{column}"
                values[column] = known_label(self.connection, text)
        if where.after is not None:
            sql, values["after"] = sql + " and v.valid_from >= :after", where.after
        if where.before is not None:
            sql, values["before"] = sql + " and v.valid_from < :before", where.before
        if where.min_confidence is not None:
            sql, values["min_confidence"] = sql + " and v.confidence >= :min_confidence", where.min_confidence
        for place, (name, value) in enumerate(where.fields):
            sql += f" and v.content in (select content from fields where name = :name{place} and value = :value{place})"
            values |= {f"name{place}": known(self.connection, name), f"value{place}": value}
        if where.pages is not None:
            kind, field = CONFINED
            sql += " and (v.kind != :confined or not exists (select 1 from fields f where f.content = v.content"
            sql += " and f.name = :place and f.value not in (select value from json_each(:pages))))"
            values |= {"confined": known(self.connection, kind), "place": known(self.connection, field)}
            values["pages"] = json.dumps(where.pages)
        return sql, values

    def _kinds(self, scope: int) -> Iterable[int]:
        """Which kinds a scope has: one look into the index for each."""
        sql = "select min(kind) from versions where scope = ? and kind > ?"
        kind = 0
        while kind := self.connection.execute(sql, (scope, kind)).fetchone()[0]:
            yield kind

    def _position(self, id: str) -> dict[str, object]:
        record = self.number(id)
        rows = self._versions(OF_RECORD, record=record) if record is not None else []
        if not rows:
            raise NotFound(f"no record {id!r} to continue after", hint="start from the first page", field="after")
        return {"last_from": rows[-1][13], "last_record": record}


def _chunks(values: list[Any], size: int) -> Iterable[list[Any]]:
    return (values[start : start + size] for start in range(0, len(values), size))


def seq_at(connection: sqlite3.Connection, moment: int) -> int:
    """Recorded times only grow with seq: a binary search needs no index."""
    low, high = 0, connection.execute("select coalesce(max(seq), 0) from journal").fetchone()[0]
    while low < high:
        middle = (low + high + 1) // 2
        if connection.execute(SQL["seq_at"], (middle,)).fetchone()[0] <= moment:
            low = middle
        else:
            high = middle - 1
    return int(low)
