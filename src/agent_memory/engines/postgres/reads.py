"""Reads: of a replica, where there is one, the call may lag, and it has all that this process has seen and written;
else of the primary. A replica that cannot answer costs a call at most a little time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from agent_memory.engines.postgres.connection import LIMITS, Database, PostgresSession
from agent_memory.engines.postgres.heads import Glance, JournalHeads
from agent_memory.models.errors import Changed, InvalidInput, StoreError
from agent_memory.ports.lagging import may_lag

LONGEST_LAG = 30.0  # seconds; whoever is further behind is not asked
STATEMENT_SECONDS = 30.0  # the primary may be faster
PATIENCE: dict[str, Any] = {
    "connect_timeout": 2,  # seconds
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 5000,  # milliseconds
}
"""Unless the URL says otherwise: there is somebody else to ask."""
CHECK = "check AGENT_MEMORY_POSTGRES_REPLICA_URI"
AWAY_SECONDS = 10.0  # before one that could not answer is asked again

Sent = TypeVar("Sent")


class ReplicaProgress(NamedTuple):
    """How far a replica has come: a tenant's last line, and how many `seconds` it is behind at most; None: unknown."""

    seq: int
    seconds: float | None


class Replica:
    """Of the database with this `genesis`."""

    def __init__(self, uri: str, primary: Database) -> None:
        try:
            self.database = Database(make_conninfo(uri, **PATIENCE | conninfo_to_dict(uri)))
        except (ProgrammingError, InvalidInput):  # its text may hold the password
            raise InvalidInput(
                "postgres_replica_uri: this is not the address of a PostgreSQL database",
                hint="for example postgresql://user@host:5432/memory",
                field="postgres_replica_uri",
            ) from None
        self.database.limits = LIMITS | {"statement": str(round(STATEMENT_SECONDS * 1000))}
        self.database.marks = primary.marks
        with primary.reading(None) as session:
            self.genesis: bytes = session.cell("store_genesis")
        self._away = 0.0

    def standing(self, tenant: str) -> ReplicaProgress:
        """Also of one that is not asked for anything else just now."""
        with self.database.reading(tenant) as session:
            seq, replica = session.send("my_seq"), session.send("replica")
        genesis, seconds = replica.fetchone() or (None, None)
        if genesis != self.genesis:
            raise StoreError(f"this is not a copy of the store: {self.database.name}", hint=CHECK)
        return ReplicaProgress((seq.fetchone() or (0,))[0], seconds)

    @property
    def there(self) -> bool:
        return time.monotonic() >= self._away

    def serves(self, glance: Glance) -> bool:
        """Who is too far behind, or not a copy, is not so only for this call."""
        if not (near := glance.near(LONGEST_LAG)):
            self.leave()
        return near and glance.fresh()

    def leave(self) -> None:
        """Ask the primary for a while."""
        self._away = time.monotonic() + AWAY_SECONDS


class Reads:
    def __init__(self, primary: Database, replica: Replica | None = None) -> None:
        self.primary = primary
        self.replica = replica

    def together(self, tenant: str, send: Callable[[PostgresSession], Sent]) -> tuple[JournalHeads, Sent]:
        """What is sent, and the heads, in one trip. What was sent is read afterwards."""
        if replica := self._usable():
            try:
                with replica.database.reading(tenant) as session:
                    glance = Glance(session, tenant, self.primary.marks, replica.genesis)
                    sent = send(session)
                if replica.serves(glance):
                    return glance.heads(), sent
            except StoreError:
                replica.leave()
        with self.primary.reading(tenant) as session:
            glance = Glance(session, tenant, self.primary.marks)
            sent = send(session)
        return glance.heads(), sent

    def only(self, tenant: str, send: Callable[[PostgresSession], Sent]) -> Sent:
        """The same for whoever needs no heads."""
        if self._usable():
            return self.together(tenant, send)[1]
        with self.primary.reading(tenant) as session:
            return send(session)

    @contextmanager
    def opened(self, tenant: str) -> Iterator[tuple[PostgresSession, Glance]]:
        """One transaction, for more than one trip. `Changed` where a replica went away meanwhile."""
        if replica := self._usable():
            begun = False
            try:
                with replica.database.reading(tenant) as session:
                    glance = Glance(session, tenant, self.primary.marks, replica.genesis)
                    if begun := replica.serves(glance):
                        yield session, glance
            except StoreError as error:
                replica.leave()
                if begun:
                    raise Changed("the replica went away while it was read", hint="ask again") from error
            if begun:
                return
        with self.primary.reading(tenant) as session:
            yield session, Glance(session, tenant, self.primary.marks)

    def leave(self) -> None:
        """A replica that told what is not so any more."""
        if self.replica is not None:
            self.replica.leave()

    def _usable(self) -> Replica | None:
        return self.replica if self.replica is not None and self.replica.there and may_lag() else None

    def close(self) -> None:
        for one in self._databases():
            one.close()

    def before_fork(self) -> None:
        for one in self._databases():
            one.before_fork()

    def after_fork(self, child: bool) -> None:
        for one in self._databases():
            one.after_fork(child)

    def _databases(self) -> list[Database]:
        return [self.primary, *([self.replica.database] if self.replica else [])]
