"""Words that repeat are stored once: scopes, names of our own, labels of the users'."""

from __future__ import annotations

import sqlite3

from agent_memory.models.record import Scope


class Interning:
    """Text <-> integer. Names are never removed and may be remembered across transactions; labels and scopes
    may go with an erasure, so they are looked up in the transaction that uses them."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._texts: dict[int, str] = {}

    def name(self, connection: sqlite3.Connection, text: str) -> int:
        """For writers: made when it is new."""
        known = self._names.get(text)
        if known is not None:
            return known
        connection.execute("insert or ignore into names (text) values (?)", (text,))
        found: int = connection.execute("select name from names where text = ?", (text,)).fetchone()[0]
        return found  # not remembered: this transaction may still be rolled back

    def known(self, connection: sqlite3.Connection, text: str) -> int:
        """For readers: 0 when there is none."""
        known = self._names.get(text)
        if known is None:
            row = connection.execute("select name from names where text = ?", (text,)).fetchone()
            if row is None:
                return 0
            known = self._names[text] = row[0]
        return known

    def text(self, connection: sqlite3.Connection, name: int) -> str:
        text = self._texts.get(name)
        if text is None:
            text = connection.execute("select text from names where name = ?", (name,)).fetchone()[0]
            self._texts[name] = text
        return text

    def written(self, connection: sqlite3.Connection, name: int) -> str:
        """For writers: not remembered, since the name may be from this transaction, which may still be rolled back."""
        text: str = (
            self._texts.get(name) or connection.execute("select text from names where name = ?", (name,)).fetchone()[0]
        )
        return text

    def remember(self, connection: sqlite3.Connection) -> None:
        """After a commit: keep what is there."""
        for name, text in connection.execute("select name, text from names"):
            self._names[text], self._texts[name] = name, text


def label(connection: sqlite3.Connection, text: str | None) -> int | None:
    """For writers: made when it is new."""
    if text is None:
        return None
    row = connection.execute("select label from labels where text = ?", (text,)).fetchone()
    if row is None:
        row = connection.execute("insert into labels (text) values (?) returning label", (text,)).fetchone()
    number: int = row[0]
    return number


def known_label(connection: sqlite3.Connection, text: str) -> int:
    """For readers: -1 when there is none."""
    row = connection.execute("select label from labels where text = ?", (text,)).fetchone()
    return -1 if row is None else row[0]


def label_text(connection: sqlite3.Connection, number: int | None) -> str | None:
    if number is None:
        return None
    row = connection.execute("select text from labels where label = ?", (number,)).fetchone()
    return None if row is None else row[0]


def scope_number(connection: sqlite3.Connection, scope: Scope) -> int:
    """For writers: made when it is new."""
    found = known_scope(connection, scope)
    if found is None:
        found = connection.execute(
            "insert into scopes (tenant, user, agent) values (?, ?, ?) returning scope",
            (scope.tenant, scope.user, scope.agent),
        ).fetchone()[0]
    return found


def known_scope(connection: sqlite3.Connection, scope: Scope) -> int | None:
    row = connection.execute(
        "select scope from scopes where tenant = ? and user = ? and agent = ?",
        (scope.tenant, scope.user, scope.agent),
    ).fetchone()
    return None if row is None else row[0]


def readable(connection: sqlite3.Connection, scope: Scope) -> dict[int, Scope]:
    """The scopes that this reader sees, those that exist, the narrowest first."""
    numbers = {known_scope(connection, one): one for one in scope.readable()}
    return {number: one for number, one in numbers.items() if number is not None}
