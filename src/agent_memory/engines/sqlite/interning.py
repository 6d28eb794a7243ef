"""Words that repeat are stored once, for each tenant apart: scopes, names of our own, actors and labels."""

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
    """Text <-> integer. Numbers of tenants, scopes and names are never used again, so what is committed of them may be
    remembered. Which tenant has a name is asked in every transaction: it may have been erased by another process, and
    one of the same name begun since. Labels may go with an erasure, and are looked up by whoever uses them."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """When the file was put back to an earlier state, numbers may come again."""
        self.names: dict[tuple[int, str], int] = {}
        self.texts: dict[int, str] = {}
        self.actors: dict[tuple[int, str], int] = {}
        self.numbers: dict[tuple[int, Scope], int] = {}
        self.within: dict[int, int] = {}  # a scope's number among those of its tenant
        self._scopes: dict[int, Scope] = {}

    def tenant(self, connection: sqlite3.Connection, name: str) -> int:
        """For readers: -1 when there is none."""
        known: int | None = cell(connection, SQL["tenant"], (name,))
        return -1 if known is None else known

    def known(self, connection: sqlite3.Connection, tenant: int, text: str) -> int:
        """For readers: 0 when there is none."""
        known = self.names.get((tenant, text))
        if known is None:
            known = cell(connection, SQL["name"], (tenant, text))
            if known is None:
                return 0
            self.names[tenant, text] = known
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

    def readable(self, connection: sqlite3.Connection, scope: Scope, tenant: int | None = None) -> dict[int, Scope]:
        """For readers: the scopes that this one sees, those that exist, the narrowest first. `tenant` is its number,
        for who knows it already."""
        whose = self.tenant(connection, scope.tenant) if tenant is None else tenant
        found = {}
        for one in scope.readable():
            number = self.numbers.get((whose, one)) or known_scope(connection, one)
            if number is not None:
                found[number] = one
                self.numbers[whose, one] = number
        return found


class Naming:
    """Names inside one write transaction. What it makes is nobody else's business before `settle`, after the commit:
    a rollback takes the number back, and another name may get it."""

    def __init__(self, interning: Interning, connection: sqlite3.Connection) -> None:
        self._interning = interning
        self._connection = connection
        self._made: dict[tuple[int, str], int] = {}
        self._tenants: dict[str, int] = {}
        self._actors: dict[tuple[int, str], int] = {}
        self._scopes: dict[tuple[int, Scope], int] = {}
        self._within: dict[int, int] = {}
        self._new: set[tuple[int, Scope]] = set()

    def tenant(self, name: str) -> int:
        """Made when it is new."""
        known = self._tenants.get(name)
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
        row = self.scope(scope)
        known = self._interning.within.get(row) or self._within.get(row)
        if known is None:
            known = self._within[row] = cell(self._connection, SQL["scope_number"], (row,))
        return known

    def number(self, tenant: int, text: str) -> int:
        """Made when it is new."""
        known = self._made.get((tenant, text)) or self.known(tenant, text)
        if not known:
            known = self._made[tenant, text] = cell(self._connection, SQL["insert_name"], (tenant, text))
        return known

    def text(self, number: int) -> str:
        known = self._interning.texts.get(number)
        if known is None:
            known = cell(self._connection, SQL["name_text"], (number,)) or ""
        return known

    def known(self, tenant: int, text: str) -> int:
        """0 when there is none."""
        return self._made.get((tenant, text)) or self._interning.known(self._connection, tenant, text)

    def scope(self, scope: Scope) -> int:
        """Made when it is new."""
        place = self.tenant(scope.tenant), scope
        number = self._interning.numbers.get(place) or self._scopes.get(place)
        if number is None:
            number = known_scope(self._connection, scope)
            if number is None:
                number = scope_number(self._connection, scope)
                self._new.add(place)
            self._scopes[place] = number
        return number

    def withdraw(self, scopes: Iterable[Scope]) -> None:
        """Those that were made only now: nothing was written in them after all."""
        for place in self._new.intersection((self.tenant(scope.tenant), scope) for scope in scopes):
            row = self._scopes.pop(place)
            self._connection.execute(SQL["withdraw_scope"], (row,))
            self._within.pop(row, None)

    def known_scope(self, scope: Scope) -> int | None:
        place = self.tenant(scope.tenant), scope
        return self._interning.numbers.get(place) or known_scope(self._connection, scope)

    def scope_of(self, number: int) -> Scope:
        """The one of a row that is there."""
        return self._interning.scope(self._connection, number)

    def settle(self) -> None:
        self._interning.actors |= self._actors
        self._interning.numbers |= self._scopes
        self._interning.within |= self._within
        self._interning.names |= self._made
        self._interning.texts |= {number: text for (_, text), number in self._made.items()}


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


def founded(connection: sqlite3.Connection, tenant: int) -> int:
    """The line of the store's journal that tells of a tenant; 0: it has not written yet."""
    line: int = cell(connection, SQL["founded"], (tenant,))
    return line


def tidy(connection: sqlite3.Connection, tenant: str) -> None:
    """Take away the names of a tenant that has nothing here any more; what has lines in a journal stays."""
    for statement in ("empty_scopes", "empty_tenant"):
        connection.execute(SQL[statement], {"name": tenant})
