"""What shelves follow, out of the file: rows as they are, with texts for numbers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_memory.engines.sqlite import spaces, vocabulary
from agent_memory.engines.sqlite.cells import lenient
from agent_memory.engines.sqlite.interning import Interning, founded, known_scope
from agent_memory.engines.sqlite.journal import STORE, head, line_at
from agent_memory.engines.sqlite.statements import SQL, VECTORS_PER_LINE, cell
from agent_memory.ledger.journal import CONNECT, DISCONNECT, OPERATIONS
from agent_memory.ledger.rows import Ended
from agent_memory.ledger.shelves.following import Since
from agent_memory.ledger.shelves.stock import Cells, Links, Row, ShelfNews, Vectors, Versions, heard
from agent_memory.models.record import Scope
from agent_memory.ports.index import Snapshot

BATCH = 4096  # vectors at a time: of a large scope they take more room than all the rest
WRONG = b""  # for a cell that should be a number and is none: not a text, so that whoever expects one finds out


def snapshot(connection: sqlite3.Connection, interning: Interning, scope: Scope, era: int = 0) -> Snapshot:
    tenant = interning.tenant(connection, scope.tenant)
    seq = head(connection, tenant).seq
    store, adopted = head(connection, STORE).seq, _adopted(connection, tenant)
    scopes = interning.readable(connection, scope, tenant)
    lasts = {one: _last(cell(connection, SQL["scope_last"], (number,)), seq) for number, one in scopes.items()}
    _, space = spaces.active(connection)
    pending = spaces.pending(connection, space, scopes) if space else 0
    return Snapshot(scope, seq, store, adopted, lasts, space, pending, vocabulary.known(connection), era)


def _adopted(connection: sqlite3.Connection, tenant: int) -> int:
    """What was read before a tenant was founded is that of another, which had its name and was erased."""
    adopted: int = cell(connection, SQL["last_adopted"])
    return max(adopted, founded(connection, tenant))


def _last(last: object, seq: int) -> int:
    """1, so that a shelf is filled at all, where nothing came since this is known; what is damaged tells nothing."""
    return 1 if last is None else last if type(last) is int else seq


def erased_since(connection: sqlite3.Connection, interning: Interning, since: Mapping[str, int]) -> dict[str, Since]:
    """What became of tenants, each since a line."""
    found = {}
    for name, seq in since.items():
        if (tenant := interning.tenant(connection, name)) > STORE:
            last, asked = head(connection, tenant), {"tenant": tenant, "seq": seq}
            scopes = connection.execute(SQL["erased_scopes"], asked).fetchall()
            erased = [interning.scope(connection, scope) for (scope,) in scopes]
            found[name] = Since(last.seq, last.chain, cell(connection, SQL["chain_of"], asked), erased)
    return found


class SqliteStock:
    """One read transaction, for a tenant."""

    def __init__(self, connection: sqlite3.Connection, interning: Interning, tenant: str, era: int = 0) -> None:
        self.era = era
        self._tenant = interning.tenant(connection, tenant)
        self.seq = head(connection, self._tenant).seq
        self.adopted = _adopted(connection, self._tenant)
        self._number, self.space = spaces.active(connection)
        self._connection = connection
        self._interning = interning

    def follow(self, scope: Scope, after: int, until: int | None = None) -> ShelfNews:
        asked = self._asked(scope, after, until)
        told = heard(self._connection.execute(SQL["scope_lines"], asked) if after else ())
        gone = self._connection.execute(SQL["numbers"], (json.dumps([*told.erased]),)) if told.erased else ()
        erased = [number for _, number in gone]
        if after and not told.filled:
            return ShelfNews(erased=erased)
        with lenient(self._connection):
            versions = Versions(*zip(*self._rows("stock_versions", asked), strict=True))
            ended = self._connection.execute(SQL["ended_of"], {**asked, "records": json.dumps([*told.changed])})
            return ShelfNews(
                versions._replace(
                    kind=self._texts("name_texts", versions.kind),
                    status=self._texts("name_texts", versions.status),
                    conversation=self._texts("label_texts", versions.conversation),
                    repository=self._texts("label_texts", versions.repository),
                ),
                self._rows("stock_words", asked).fetchall(),
                self._vectors(asked) if self.space else (),
                [*map(Ended._make, ended)] if told.changed else (),
                erased,
            )

    def fields(self, scope: Scope, after: int, name: str) -> list[Row]:
        known = self._interning.known(self._connection, self._tenant, name)
        asked = {**self._asked(scope, after), "name": known}
        with lenient(self._connection):
            return self._rows("stock_fields", asked).fetchall()

    def payloads(self, contents: Sequence[int]) -> Mapping[int, Any]:
        asked = {"tenant": self._tenant, "contents": json.dumps(contents)}
        return dict(self._connection.execute(SQL["payloads"], asked).fetchall())

    def links(self, scope: Scope, after: int) -> tuple[Links, list[Ended]]:
        asked = self._asked(scope, after)
        sql = SQL["stock_links"].format(whose=SQL["links_since" if asked["after"] else "links_of_scope"])
        with lenient(self._connection):
            links = Links(*zip(*self._connection.execute(sql, asked), strict=True))
            links = links._replace(type=self._texts("name_texts", links.type))
        asked |= {"connect": OPERATIONS[CONNECT], "disconnect": OPERATIONS[DISCONNECT]}
        ended = self._connection.execute(SQL["stock_ended_links"], asked) if asked["after"] else ()
        return links, [*map(Ended._make, ended)]

    def _asked(self, scope: Scope, after: int, until: int | None = None) -> dict[str, Any]:
        return {
            "scope": self._interning.numbers.get((self._tenant, scope)) or known_scope(self._connection, scope),
            "tenant": self._tenant,
            "since": after,
            "part": until is not None,
            "until": self.seq if until is None else until,
            "after": after and line_at(self._connection, self._tenant, after),
        }

    def _rows(self, statement: str, asked: Mapping[str, Any]) -> sqlite3.Cursor:
        sql = SQL[statement].format(whose=SQL["since" if asked["after"] or asked["part"] else "whole_scope"])
        return self._connection.execute(sql, asked)

    def _texts(self, statement: str, numbers: Cells) -> Cells:
        """Names or labels; None where the number is nobody's."""
        there = {*numbers}
        sound = [number for number in there if type(number) is int and -(2**31) <= number < 2**31]
        rows = self._connection.execute(SQL[statement], (json.dumps(sound),)) if sound else ()
        texts: dict[object, object] = dict.fromkeys(there, WRONG) | dict.fromkeys(sound) | {None: None}
        texts |= {number: text for number, text in rows if type(text) is str}
        return [texts[number] for number in numbers]

    def _vectors(self, asked: Mapping[str, Any]) -> Iterator[Vectors]:
        sql = SQL["stock_new_vectors" if asked["after"] or asked["part"] else "stock_all_vectors"]
        rows = self._connection.execute(sql, {**asked, "space": self._number, "per_line": VECTORS_PER_LINE})
        while batch := rows.fetchmany(BATCH):
            yield Vectors(*zip(*batch, strict=True))
