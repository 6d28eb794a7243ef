"""Forgetting for real: no row, no index entry, no trace beside the records keeps what was erased. What is left of it on
the disk is `scrub`'s."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from agent_memory.engines.sqlite import repeats, scrub
from agent_memory.engines.sqlite.desk import sweep
from agent_memory.engines.sqlite.journal import ERASE, Ledger
from agent_memory.models.record import SHARED

WORD = 8  # bytes of a word's hash; a row of `words` holds one more for its count

_BY_CONTENT = ("words", "fields", "pending", "contents")


@dataclass
class Traces:
    """What was erased in one scope, for finding what is left of it elsewhere."""

    ids: set[str] = field(default_factory=set)
    contents: list[frozenset[bytes]] = field(default_factory=list)  # the words of each


class Erasing:
    """The erasures of one write. Rows go one by one; their traces are looked for once, by `finish`."""

    def __init__(self, connection: sqlite3.Connection, ledger: Ledger) -> None:
        self.connection = connection
        self.ledger = ledger
        self.ids: list[str] = []
        self.along: set[str] = set()  # of these, the ones that were derived, and that nobody had named yet
        self._traces: defaultdict[int, Traces] = defaultdict(Traces)

    def erase(self, record: int, scope: int, id: str) -> None:
        """Delete everything of one record. Its journal lines stay: they hold numbers and salted digests, and the
        salt goes now. The tombstone keeps the id, so that an import cannot bring it back unnoticed."""
        connection = self.connection
        sql = "select distinct content from versions where id = ? and scope = ?"
        contents = connection.execute(sql, (id, scope)).fetchall()
        traces = self._traces[scope]
        traces.ids.add(id)
        for one in contents:
            row = connection.execute("select terms from words where content = ?", one).fetchone()
            traces.contents.append(frozenset(_words(row[0], WORD + 1) if row else ()))
        for table in _BY_CONTENT:
            connection.executemany(f"delete from {table} where content = ?", contents)
        connection.executemany(
            "delete from vectors where scope = ? and space in (select space from spaces) and content = ?",
            [(scope, content) for (content,) in contents],
        )
        connection.execute("delete from versions where id = ? and scope = ?", (id, scope))
        connection.execute("delete from links where source = ? or target = ?", (record, record))
        for table in ("accesses", "accessed"):
            connection.execute(f"delete from {table} where record = ?", (record,))
        _drop(connection, connection.execute("select receipt from shown where record = ?", (record,)).fetchall())
        seq = self.ledger.append(ERASE, scope, record, None, tombstone_seal(id))
        connection.execute(
            "insert into tombstones (record, id, scope, seq) values (?, ?, ?, ?)", (record, id, scope, seq)
        )
        self.ids.append(id)

    def derived(self, record: int, link: int, scopes: Collection[int]) -> list[tuple[int, int, str]]:
        """(record, scope, id) of what goes with a record: links of this type ever led to it, and no such link that
        stands leads to anything that stays. Followed for as long as something goes."""
        inside = ",".join(map(str, scopes))
        found: dict[int, tuple[int, int, str]] = {}
        gone, frontier = {record}, [record]
        while frontier:
            rows = self.connection.execute(
                f"select distinct v.record, v.scope, v.id from links l join versions v on v.version = l.source "
                f"where l.target = ? and l.type = ? and v.scope in ({inside})",
                (frontier.pop(), link),
            ).fetchall()
            for row in rows:
                if row[0] not in gone and self._sources(row[0], link) <= gone:
                    gone.add(row[0])
                    frontier.append(row[0])
                    found[row[0]] = row
        return [row for _, row in sorted(found.items())]

    def finish(self, now: int) -> None:
        """Receipts that asked in the same words, working sets, answered requests, unused labels."""
        connection = self.connection
        for scope, traces in self._traces.items():
            readers = _readers(connection, scope)
            _forget_queries(connection, readers, traces.contents)
            _forget_values(connection, readers, traces.ids)
            repeats.forget(connection, readers, traces.ids)
        repeats.expire(connection, self.ledger.at)
        sweep(connection, now)
        connection.execute(
            "delete from labels where not exists (select 1 from versions v where v.conversation = labels.label) "
            "and not exists (select 1 from versions v where v.repository = labels.label)"
        )
        scrub.owe(connection, self.ledger.seq)

    def _sources(self, record: int, link: int) -> set[int]:
        sql = "select target from links where source = ? and type = ? and to_seq is null and target <> source"
        return {row[0] for row in self.connection.execute(sql, (record, link))}


def tombstone_seal(id: str) -> bytes:
    return hashlib.sha256(id.encode()).digest()


def _readers(connection: sqlite3.Connection, scope: int) -> list[int]:
    """The scopes whose readers see this one: its own, and where it is shared, all that share it."""
    rows = connection.execute(
        "select r.scope from scopes s join scopes r on r.tenant = s.tenant and s.user in (r.user, :all) "
        "and s.agent in (r.agent, :all) where s.scope = :scope",
        {"scope": scope, "all": SHARED},
    )
    return [row[0] for row in rows]


def _forget_queries(
    connection: sqlite3.Connection, readers: Iterable[int], contents: Sequence[frozenset[bytes]]
) -> None:
    """Receipts whose query has at least half of its words in one content: most likely its author said the same."""
    holding: defaultdict[bytes, list[int]] = defaultdict(list)
    for place, words in enumerate(contents):
        for word in words:
            holding[word].append(place)
    told = []
    for receipt, terms in connection.execute(
        f"select receipt, terms from receipts where scope in ({','.join(map(str, readers))}) and terms <> x''"
    ):
        asked = _words(terms, WORD)
        shared = Counter(place for word in asked for place in holding.get(word, ()))
        if 2 * max(shared.values(), default=0) >= len(asked):
            told.append((receipt,))
    _drop(connection, told)


def _forget_values(connection: sqlite3.Connection, readers: Iterable[int], ids: Iterable[str]) -> None:
    """What lies on a desk and is a picture of one of these records."""
    for table in ("lists", "working"):
        connection.execute(
            f"delete from {table} where scope in ({','.join(map(str, readers))}) and json_valid(value) "
            "and json_type(value) = 'object' and json_extract(value, '$.id') in (select value from json_each(?))",
            (json.dumps(sorted(ids)),),
        )


def _drop(connection: sqlite3.Connection, receipts: Sequence[tuple[int]]) -> None:
    for table in ("receipts", "shown"):
        connection.executemany(f"delete from {table} where receipt = ?", receipts)


def _words(row: bytes, entry: int) -> list[bytes]:
    """The hashes at the front of a row that has so many bytes for each word."""
    return [row[start : start + WORD] for start in range(0, len(row) // entry * WORD, WORD)]
