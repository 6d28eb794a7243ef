"""The tables of every tenant, and what is the store's; one write at a time, on a copy of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, fields

from tests.toy.reading import Reader
from tests.toy.tables import Tables, head

from agent_memory.ledger.feed import JobRow
from agent_memory.ledger.journal import (
    Head,
    Line,
    founding,
    genesis,
)
from agent_memory.ledger.shipment import being_filled
from agent_memory.models.record import Scope
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.changes import Vocabulary
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Cursor
from agent_memory.ports.reading import ReadLine
from agent_memory.ports.records import View
from agent_memory.ports.spending import Account, DaySpending, SpendingLimit
from agent_memory.testing.memory.world import Picture

Fails = Callable[[str], None]
SALT = b"toy"
STORE = genesis(SALT, None)


@dataclass
class Shop:
    """The tables of every tenant, and what is the store's."""

    tenants: dict[str, Tables] = field(default_factory=dict)
    salt: bytes = SALT
    beginning: bytes = STORE  # of its own chain
    mark: str | None = None  # while it is being filled
    numbered: int = 0  # how many there ever were
    spaces: tuple[Space, ...] = ()
    vocabulary: Vocabulary | None = None
    store: list[Line] = field(default_factory=list)
    namespaces: dict[tuple[str, str], Picture] = field(default_factory=dict)
    scores: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    missed: dict[tuple[str, str, str], int] = field(default_factory=dict)
    places: dict[str, str | None] = field(default_factory=dict)
    debts: dict[tuple[str, Scope, str | None], tuple[int, int]] = field(default_factory=dict)
    accesses_since: int = 0  # before, only their number is known
    keys: dict[str, KeyRow] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    reads: list[ReadLine] = field(default_factory=list)
    spent: dict[Account, DaySpending] = field(default_factory=dict)
    budgets: dict[tuple[str, str, str], SpendingLimit] = field(default_factory=dict)
    zone: str | None = None  # of days
    jobs: dict[str, JobRow] = field(default_factory=dict)
    cursors: dict[tuple[str, str], Cursor] = field(default_factory=dict)  # the last that moved comes last

    def copied(self) -> Shop:
        shop = Shop(**{one.name: copy(getattr(self, one.name)) for one in fields(self)})
        shop.tenants = {name: tables.copied() for name, tables in self.tenants.items()}
        return shop

    def of(self, tenant: str) -> Tables:
        tables = self.tenants.get(tenant)
        if tables is None:
            self.numbered += 1
            salt = f"{tenant} {self.numbered}".encode()  # another one, if it was erased and begins anew
            tables = self.tenants[tenant] = Tables(self.numbered, salt, genesis(salt, tenant))
        for name in ("spaces", "vocabulary", "store", "namespaces", "scores", "missed", "places", "debts"):
            setattr(tables, name, getattr(self, name))
        return tables

    @property
    def head(self) -> Head:
        return head(self.store, self.beginning)

    def settle(self) -> None:
        """What a write leaves for all: who came, and in which words."""
        for tables in [one for one in self.tenants.values() if one.lines]:
            self.vocabulary = self.vocabulary or tables.vocabulary
            if not self.founded(tables):
                self.store.append(founding(self.head, tables.number, tables.beginning, tables.at(1)))

    def founded(self, tables: Tables) -> int:
        """The line that tells of a tenant; 0: it has not written yet."""
        return next((line.seq for line in self.store if line.digest == tables.beginning), 0)


class Base:
    def __init__(self, fails: Fails) -> None:
        self.shop, self.lock, self.fails = Shop(), threading.RLock(), fails

    @contextmanager
    def reading(self) -> Iterator[Shop]:
        with self.lock:
            yield self.shop

    @contextmanager
    def writing(self, *, filling: bool = False) -> Iterator[Shop]:
        with self.lock:
            if self.shop.mark is not None and not filling:
                raise being_filled("toy://")
            shop = self.shop.copied()
            yield shop
            if not filling:
                shop.settle()
            self.fails("commit")
            self.shop = shop
            self.fails("answer")


class Port:
    """What all ports share: the tables as they stand, and one write at a time."""

    def __init__(self, base: Base) -> None:
        self.base = base

    @property
    def shop(self) -> Shop:
        return self.base.shop

    def read(self, view: View) -> Reader:
        return Reader(self.shop.of(view.scope.tenant), view)
