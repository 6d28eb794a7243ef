"""Words that repeat are stored once: names of our own; and, for each tenant apart, scopes, actors and labels."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable

from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.journal import genesis
from agent_memory.ledger.request import SALT_BYTES
from agent_memory.ledger.seals import checksum, sealed_again
from agent_memory.models.record import Scope


class Interning:
    """Text <-> integer. Tenants, names, actors and scopes keep their number for ever, so what is committed may be
    remembered; labels may go with an erasure, and are looked up in the transaction that uses them."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.texts: dict[int, str] = {}
        self.tenants: dict[str, int] = {}
        self.actors: dict[tuple[int, str], int] = {}
        self.numbers: dict[Scope, int] = {}
        self.within: dict[Scope, int] = {}
        self._scopes: dict[int, Scope] = {}

    def tenant(self, connection: sqlite3.Connection, name: str) -> int:
        """For readers: -1 when there is none."""
        known = self.tenants.get(name)
        if known is None:
            known = cell(connection, SQL["tenant"], (name,))
            if known is None:
                return -1
            self.tenants[name] = known
        return known

    def known(self, connection: sqlite3.Connection, text: str) -> int:
        """For readers: 0 when there is none."""
        known = self.names.get(text)
        if known is None:
            known = cell(connection, SQL["name"], (text,))
            if known is None:
                return 0
            self.names[text] = known
        return known

    def text(self, connection: sqlite3.Connection, name: int) -> str:
        text = self.texts.get(name)
        if text is None:
            (text,) = connection.execute(SQL["name_text"], (name,)).fetchone()
            self.texts[name] = text
        return text

    def scope(self, connection: sqlite3.Connection, number: int) -> Scope:
        scope = self._scopes.get(number)
        if scope is None:
            tenant, user, agent = connection.execute(SQL["scope_words"], (number,)).fetchone()
            scope = self._scopes[number] = Scope(tenant=tenant, user=user, agent=agent)
        return scope

    def readable(self, connection: sqlite3.Connection, scope: Scope) -> dict[int, Scope]:
        """For readers: the scopes that this one sees, those that exist, the narrowest first."""
        found = {}
        for one in scope.readable():
            number = self.numbers.get(one) or known_scope(connection, one)
            if number is not None:
                found[number] = one
                self.numbers[one] = number
        return found


class Naming:
    """Names inside one write transaction. What it makes is nobody else's business before `settle`, after the commit:
    a rollback takes the number back, and another name may get it."""

    def __init__(self, interning: Interning, connection: sqlite3.Connection) -> None:
        self._interning = interning
        self._connection = connection
        self._made: dict[str, int] = {}
        self._tenants: dict[str, int] = {}
        self._actors: dict[tuple[int, str], int] = {}
        self._scopes: dict[Scope, int] = {}
        self._within: dict[Scope, int] = {}
        self._new: set[Scope] = set()

    def tenant(self, name: str) -> int:
        """Made when it is new."""
        known = self._interning.tenants.get(name) or self._tenants.get(name)
        if known is None:
            known = self._tenants[name] = tenant_number(self._connection, name)
        return known

    def actor(self, tenant: int, text: str) -> int:
        """Made when it is new."""
        known = self._interning.actors.get((tenant, text)) or self._actors.get((tenant, text))
        if known is None:
            known = cell(self._connection, SQL["actor"], (tenant, text))
            if known is None:
                known = cell(self._connection, SQL["insert_actor"], (tenant, text))
            self._actors[tenant, text] = known
        return known

    def within(self, scope: Scope) -> int:
        """The number of a scope that is there among those of its tenant."""
        known = self._interning.within.get(scope) or self._within.get(scope)
        if known is None:
            known = self._within[scope] = cell(self._connection, SQL["scope_number"], (self.scope(scope),))
        return known

    def number(self, text: str) -> int:
        """Made when it is new."""
        known = self._interning.names.get(text) or self._made.get(text)
        if known is None:
            self._connection.execute(SQL["insert_name"], (text,))
            (known,) = self._connection.execute(SQL["name"], (text,)).fetchone()
            self._made[text] = known
        return known

    def text(self, number: int) -> str:
        known = self._interning.texts.get(number)
        if known is None:
            known = cell(self._connection, SQL["name_text"], (number,)) or ""
        return known

    def known(self, text: str) -> int:
        """0 when there is none."""
        return self._made.get(text) or self._interning.known(self._connection, text)

    def scope(self, scope: Scope) -> int:
        """Made when it is new."""
        number = self._interning.numbers.get(scope)
        if number is None:
            number = known_scope(self._connection, scope)
            if number is None:
                number = scope_number(self._connection, scope)
                self._new.add(scope)
            self._scopes[scope] = number
        return number

    def withdraw(self, scopes: Iterable[Scope]) -> None:
        """Those that were made only now: nothing was written in them after all."""
        for scope in self._new.intersection(scopes):
            self._connection.execute(SQL["withdraw_scope"], (self._scopes.pop(scope),))
            self._within.pop(scope, None)

    def known_scope(self, scope: Scope) -> int | None:
        return self._interning.numbers.get(scope) or known_scope(self._connection, scope)

    def scope_of(self, number: int) -> Scope:
        """The one of a row that is there."""
        return self._interning.scope(self._connection, number)

    def settle(self) -> None:
        self._interning.tenants |= self._tenants
        self._interning.actors |= self._actors
        self._interning.numbers |= self._scopes
        self._interning.within |= self._within
        self._interning.names |= self._made
        self._interning.texts |= {number: text for text, number in self._made.items()}


def label(connection: sqlite3.Connection, tenant: int, text: str) -> int:
    """For writers: made when it is new."""
    found: int | None = cell(connection, SQL["label"], (tenant, text))
    return cell(connection, SQL["insert_label"], (tenant, text)) if found is None else found


def known_label(connection: sqlite3.Connection, tenant: int, text: str) -> int:
    """For readers: -1 when there is none."""
    found: int | None = cell(connection, SQL["label"], (tenant, text))
    return -1 if found is None else found


def tenant_number(connection: sqlite3.Connection, name: str) -> int:
    """For writers: made when it is new."""
    found: int | None = cell(connection, SQL["tenant"], (name,))
    if found is None:
        salt = secrets.token_bytes(SALT_BYTES)
        found = cell(connection, SQL["insert_tenant"], (name, 0, salt, genesis(salt, name)))
    return found


def scope_number(connection: sqlite3.Connection, scope: Scope) -> int:
    """For writers: made when it is new."""
    found = known_scope(connection, scope)
    if found is None:
        tenant_number(connection, scope.tenant)
        words = (scope.tenant, scope.user, scope.agent)
        found, number = connection.execute(SQL["insert_scope"], words).fetchone()
        connection.execute(SQL["seal_scope"], (checksum(found, *words, number), found))
    return found


def touch(connection: sqlite3.Connection, scope: int, line: int) -> None:
    """Keep the last line about a scope in its row."""
    *row, last, seal = connection.execute(SQL["scope_row"], (scope,)).fetchone()
    *_, seal = sealed_again([*row, *([] if last is None else [last]), seal], *row, line)
    connection.execute(SQL["touch_scope"], (line, seal, scope))


def known_scope(connection: sqlite3.Connection, scope: Scope) -> int | None:
    found: int | None = cell(connection, SQL["scope"], (scope.tenant, scope.user, scope.agent))
    return found
