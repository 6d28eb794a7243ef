"""Connections to one PostgreSQL database: a pool, transactions that belong to a tenant, errors in our words.

All that a transaction needs is told at its beginning and ends with it, so that a pooler in transaction mode may stand
in between. Statements are sent without waiting, and their answers read when somebody looks at them: what is asked
before that is one round trip.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from itertools import count
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from agent_memory.engines.postgres.clock import DatabaseClock, ticks
from agent_memory.engines.postgres.statements import SQL
from agent_memory.engines.postgres.wire import PostgresWire, connected
from agent_memory.ledger.journal import genesis
from agent_memory.ledger.marks import Marks
from agent_memory.ledger.request import SALT_BYTES
from agent_memory.models.errors import AgentMemoryError, Busy, Corrupt, InvalidInput, StoreError, StoreFull
from agent_memory.ports.abandon import stoppable
from agent_memory.ports.forks import ForkGuard
from agent_memory.ports.watch import Unwatched, Watch

MOST_CONNECTIONS = 16
WAIT_SECONDS = 10.0  # for a connection, when all are in use
LOCK_SECONDS = 30.0  # for whoever else writes for the same tenant
BRIEF_SECONDS = 1.0  # for what is only written beside something else, and can come later
STATEMENT_SECONDS = 300.0
IDLE_SECONDS = 60.0  # in a transaction, before the server ends it
GRACE_SECONDS = 5.0  # a statement that took too long has been ended over there by then, and we are told

Row = tuple[Any, ...]
Values = Mapping[str, object] | Sequence[object] | None

_Meaning = tuple[type[AgentMemoryError], str, str]
_GRANTS = "tables are created and upgraded by the role that owns them; docs/guides/postgresql.md has the grants"
_CHECK = "check the address that was given, or AGENT_MEMORY_POSTGRES_URI"
_BUSY: _Meaning = (Busy, "the store is busy", "try again in a few seconds")
_AWAY: _Meaning = (StoreError, "the database is out of reach", "check that it runs, and try again")
_MEANING: tuple[tuple[type[psycopg.Error], _Meaning], ...] = (
    (errors.LockNotAvailable, _BUSY),
    (errors.DeadlockDetected, _BUSY),
    (errors.TooManyConnections, _BUSY),
    (errors.QueryCanceled, (StoreError, "the database took too long", "try again, or ask for less")),
    (errors.DiskFull, (StoreFull, "the disk of the database is full", "free some space; nothing was written")),
    (
        errors.ReadOnlySqlTransaction,
        (
            StoreError,
            "the database is read-only",
            "is it a replica? give the address of the primary (AGENT_MEMORY_POSTGRES_URI)",
        ),
    ),
    (
        errors.InsufficientPrivilege,
        (StoreError, "this role may not do that", _GRANTS),
    ),
    (errors.DataCorrupted, (Corrupt, "the database is damaged", "restore a backup")),
    (errors.ProgramLimitExceeded, (InvalidInput, "a value is too large for PostgreSQL", "store it in smaller parts")),
    (psycopg.OperationalError, _AWAY),
)


LIMITS = {
    "lock": str(round(LOCK_SECONDS * 1000)),
    "statement": str(round(STATEMENT_SECONDS * 1000)),
    "idle": str(round(IDLE_SECONDS * 1000)),
}
STREAMED = 2000
_GONE = ("0800", "57P0")  # classes of SQLSTATE: the connection, and an operator or a crash that ends it
_NEVER_PREPARED = frozenset({"begin", "commit"})  # there is nothing to plan
_PLANNED_EACH_TIME = frozenset({"large_few", "large_words", "large_near"})  # what is fast depends on what is asked
_counted = count()


_ADDRESS = InvalidInput(
    "store: this is not the address of a PostgreSQL database",
    hint="for example postgresql://user@host:5432/memory; in a password, @ is written %40 and / is written %2F",
    field="store",
)


def shown(uri: str) -> str:
    """Where it is, without the password."""
    try:
        said = conninfo_to_dict(uri)
    except psycopg.ProgrammingError:
        raise _ADDRESS from None  # its text may hold the password
    ports = str(said.get("port") or 0).split(",")  # one for each of several hosts
    if any("@" in str(said.get(one)) for one in ("host", "dbname")) or not all(one.isdecimal() for one in ports):
        raise _ADDRESS
    user, host, port, name = (quote(str(said.get(one) or ""), safe=",") for one in ("user", "host", "port", "dbname"))
    return f"postgresql://{user and user + '@'}{host}{port and ':' + port}/{name}"


_REFUSED: tuple[tuple[str, _Meaning], ...] = (
    ("no password", (StoreError, "the database wants a password", "add a password file, or put it into the URL")),
    ("password", (StoreError, "the database does not accept this password", _CHECK)),
    ("pg_hba.conf", (StoreError, "the database does not let this role in from here", "ask who runs it")),
    ("role", (StoreError, "the database does not know this role", _CHECK)),
    ("does not exist", (StoreError, "there is no such database", f"create it, or {_CHECK}")),
    ("too many clients", _BUSY),
    ("remaining connection slots", _BUSY),
)
"""Why somebody is not let in: that has no code, only words."""


def translated(error: psycopg.Error, place: str) -> AgentMemoryError:
    """An error of PostgreSQL as one of ours, which never tells the password."""
    told = str(error)
    said = error.diag.message_primary or told.rpartition("FATAL:")[2].strip().partition("\n")[0]
    turned_away = "FATAL:" in told or "fe_sendauth" in told
    refused = [meaning for word, meaning in _REFUSED if turned_away and word in said]
    meant = [meaning for kind, meaning in _MEANING if isinstance(error, kind)]
    for ours, message, hint in (*refused, *meant):
        return ours(f"{message}: {place}: {said}", hint=hint)
    return StoreError(
        f"PostgreSQL could not do it: {said or type(error).__name__}: {place}", hint="run `agent-memory doctor`"
    )


def lost(error: BaseException | None) -> bool:
    """Whether the connection went away, so that nobody knows what became of the last thing said: the database has not
    answered, or says that it shuts down."""
    return isinstance(error, psycopg.OperationalError) and (error.sqlstate or "08")[:4] in ("08", *_GONE)


class PostgresSession:
    """One transaction. `rows`, `row` and `cell` wait for the answer; `send` does not."""

    def __init__(
        self,
        connection: PostgresWire,
        pipeline: psycopg.Pipeline,
        watch: Watch,
        tenant: str | None,
        marks: Marks,
    ) -> None:
        self.tenant = tenant
        self.held = marks.held(tenant), marks.held(None)  # before it begins, so that it sees at least these lines
        self.connection = connection
        self.pipeline = pipeline
        self.watch = watch
        self.unread = False  # whether something was asked whose answer nobody has looked at
        self.appended: dict[str | None, int] = {}  # the last line that was written in each journal

    def begin(self, mode: str, limits: Mapping[str, str]) -> None:
        """For its tenant, or as an operator."""
        self.connection.patience = float(limits["statement"]) / 1000 + GRACE_SECONDS
        self.send("begin", mode=mode)
        self._told = self.send("operate" if self.tenant is None else "enter", {**limits, "tenant": self.tenant})

    @cached_property
    def begun(self) -> int:
        """When, by the database's clock."""
        row = self._told.fetchone()
        assert row is not None
        return int(row[-1])

    def take_your_time(self) -> None:
        """No statement of this transaction is ended because it takes long."""
        self.send("take_your_time")
        self.connection.patience = math.inf

    def send(self, name: str, values: Values = None, **filled: str) -> psycopg.Cursor[Row]:
        """`filled`: what stands in braces in the statement, never what a caller said."""
        statement = SQL[name].format(**filled) if filled else SQL[name]
        prepare = False if name in _NEVER_PREPARED | _PLANNED_EACH_TIME else None
        self.unread = True
        return self.connection.execute(statement.encode(), values, binary=True, prepare=prepare)

    def rows(self, name: str, values: Values = None, **filled: str) -> list[Row]:
        found = self.send(name, values, **filled).fetchall()
        self.unread = False  # what was asked before was answered before
        return found

    def row(self, name: str, values: Values = None, **filled: str) -> Row | None:
        found = self.send(name, values, **filled).fetchone()
        self.unread = False
        return found

    def cell(self, name: str, values: Values = None, **filled: str) -> Any:
        found = self.row(name, values, **filled)
        return None if found is None else found[0]

    def changed(self, name: str, values: Values = None, **filled: str) -> int:
        """How many rows."""
        cursor = self.send(name, values, **filled)
        self.pipeline.sync()
        return cursor.rowcount

    def commit(self) -> None:
        """Sent as it is, so that whoever watches the wire sees it."""
        self.connection.execute(SQL["commit"].encode(), prepare=False)

    def settle(self, tenant: str) -> None:
        """For writers that have entered: the tenant is made where it is new, or was erased meanwhile. Nobody erases it
        from here on, before this transaction has ended."""
        if self.row("hold_mine") is None:
            self.make(tenant)
            self.row("hold_mine")

    def make(self, tenant: str) -> None:
        """Where nobody has this name, and enter as it."""
        salt = secrets.token_bytes(SALT_BYTES)
        self.send("settle", {"tenant": tenant, "salt": salt, "genesis": genesis(salt, tenant)})

    def stream(self, name: str, values: Values = None, **filled: str) -> Iterator[Row]:
        """In parts, so that the answer need not fit into memory. Another may be read meanwhile."""
        statement = SQL[name].format(**filled) if filled else SQL[name]
        cursor = f"stream_{next(_counted)}"
        self.connection.execute(f"declare {cursor} no scroll cursor for {statement}".encode(), values)
        fetch = f"fetch {STREAMED} from {cursor}".encode()
        while rows := self.connection.execute(fetch, binary=True).fetchall():
            yield from rows


class Database:
    """A pool of at most `most` connections. One is used by one thread at a time, and none is open while the process
    forks. `uri` may hold a password; `name` does not."""

    def __init__(self, uri: str, *, most: int = MOST_CONNECTIONS) -> None:
        self._uri = uri
        self.name = shown(uri)
        self.closed = False
        self.read_only = False
        self.marks = Marks()
        self.limits = LIMITS
        self._most = most
        self._idle: list[PostgresWire] = []
        self._room = threading.BoundedSemaphore(most)
        self._gate = ForkGuard()
        self.time = DatabaseClock()
        self._watch: Watch = Unwatched()

    @contextmanager
    def reading(self, tenant: str | None) -> Iterator[PostgresSession]:
        """One snapshot of what a tenant has; None: of what everybody has. When nobody waits for it, it is stopped."""
        read = False
        try:
            with self._begun(tenant, "repeatable read read only", LOCK_SECONDS, stop=True) as session:
                yield session
                read = not session.unread
                session.commit()
        except StoreError:
            if not read:  # otherwise all was read before the connection was lost
                raise

    @contextmanager
    def writing(
        self, tenant: str | None, *, durable: bool = True, seconds: float = LOCK_SECONDS
    ) -> Iterator[PostgresSession]:
        """All or nothing. `durable`: the disk has it before this returns. `seconds`: how long to wait for a lock."""
        with self._begun(tenant, "read committed read write", seconds) as session:
            if not durable:
                session.send("not_durable")
            yield session
            session.commit()
        for whose, seq in session.appended.items():
            self.marks.at_least(whose, seq)

    def alone(self, statement: str, *, seconds: float) -> None:
        """One that cannot be in a transaction. It ends with whoever asked, where the server notices."""
        with self._gate, self._connection() as connection, stoppable(connection.cancel_safe):
            connection.patience = math.inf
            connection.execute(f"set lock_timeout = {round(seconds * 1000)}")  # integers alone
            with suppress(errors.InvalidParameterValue):  # on some systems it cannot
                connection.execute("set client_connection_check_interval = '5s'")
            try:
                connection.execute(statement.encode())
            finally:
                connection.close()  # with what was set

    def clock(self) -> int:
        """The database's, in microseconds: those of the machines that ask may differ."""
        with self.reading(None) as session:
            now: int = session.cell("clock")
        return now

    @contextmanager
    def _begun(self, tenant: str | None, mode: str, seconds: float, *, stop: bool = False) -> Iterator[PostgresSession]:
        """What was asked and not looked at is answered when it ends. `stop`: it may be stopped until then."""
        with ExitStack() as open:
            open.enter_context(self._gate)
            connection = open.enter_context(self._connection())
            if stop:
                open.enter_context(stoppable(connection.cancel_safe))
            pipeline = open.enter_context(connection.pipeline())
            session, sent = PostgresSession(connection, pipeline, self._watch, tenant, self.marks), ticks()
            session.begin(mode, self.limits | {"lock": str(round(seconds * 1000))})
            try:
                yield session
            except BaseException:
                with suppress(psycopg.Error):  # what comes of the rest is of no interest
                    pipeline.sync()
                raise
        self.time.heard(session.begun, sent, ticks())

    @contextmanager
    def _connection(self) -> Iterator[PostgresWire]:
        """Any error leaves a connection that is rolled back, or none."""
        if self.closed:
            raise StoreError(f"the store is closed: {self.name}", hint="open it again")
        if not self._room.acquire(blocking=False):
            self._wait()
        self._watch.connections("in_use", 1)
        connection = None
        try:
            connection = self._taken() or connected(self._uri)
            yield connection
        except psycopg.Error as error:
            if isinstance(error, errors.LockNotAvailable):
                self._watch.gave_up("head")
            if lost(error):
                self._drop()  # the others may lead to nobody as well
            raise translated(error, self.name) from error
        finally:
            try:
                if connection is not None:
                    self._leave(connection)
            finally:
                self._watch.connections("in_use", -1)
                self._room.release()

    def _wait(self) -> None:
        """For a connection."""
        begun = time.perf_counter()
        self._watch.connections("waiting", 1)
        found = self._room.acquire(timeout=WAIT_SECONDS)
        self._watch.connections("waiting", -1)
        self._watch.waited("connection", time.perf_counter() - begun)
        if not found:
            self._watch.gave_up("connection")
            kind, message, hint = _BUSY
            raise kind(f"{message}: {self.name}: all {self._most} connections are in use", hint=hint)

    def watched(self, watch: Watch) -> None:
        """By somebody who knows nothing yet."""
        self._watch = watch
        watch.connections("most", self._most)
        watch.connections("idle", len(self._idle))

    def _taken(self) -> PostgresWire | None:
        """One that waits to be used."""
        while self._idle:
            with suppress(IndexError):
                one = self._idle.pop()
                self._watch.connections("idle", -1)
                if one.answers():
                    return one
                one.close()
        return None

    def _leave(self, connection: PostgresWire) -> None:
        with suppress(psycopg.Error):
            if connection.info.transaction_status != TransactionStatus.IDLE:
                connection.rollback()
        if self.closed or connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
            connection.close()
        else:
            connection.used = time.monotonic()
            self._idle.append(connection)
            self._watch.connections("idle", 1)

    def close(self) -> None:
        self.closed = True
        self._drop()

    def _drop(self) -> None:
        while self._idle:
            with suppress(psycopg.Error):
                self._idle.pop().close()
                self._watch.connections("idle", -1)

    def before_fork(self) -> None:
        self._gate.before_fork()
        self._drop()

    def after_fork(self, child: bool) -> None:
        self._gate.after_fork(child)
        if child:
            self._idle, self._room = [], threading.BoundedSemaphore(self._most)
            self.marks.renew()
