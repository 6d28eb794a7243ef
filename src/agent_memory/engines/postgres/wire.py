"""One connection that does not wait for ever. The system notices a peer that is gone, but not one that holds the
connection and says nothing: a hung pooler, or a proxy that has forgotten where it leads to."""

from __future__ import annotations

import math
import select
import time
from typing import Any

import psycopg
from psycopg.abc import RV, PQGen
from psycopg.conninfo import conninfo_to_dict

from agent_memory.engines.postgres import arrays, texts
from agent_memory.engines.postgres.statements import SQL

PREPARED_AFTER = 3  # times on one connection: planning anew takes longer than most of our statements
MOST_PREPARED = 500  # we have fewer, and a pooler in transaction mode (PgBouncer 1.21 or newer) keeps them for us
PATIENCE = {
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,  # milliseconds: then a connection on which nothing arrives is lost
}
"""Unless the URL says otherwise."""
UNUSED_SECONDS = 30.0  # then it is asked whether it still answers, before anything depends on it
PROBE_SECONDS = 5.0


class PostgresWire(psycopg.Connection[tuple[Any, ...]]):
    """`patience`: how many seconds it may be silent while we wait. Then it is closed, and the error is that of one that
    was lost."""

    patience = math.inf
    used = 0.0

    def wait(self, gen: PQGen[RV], interval: float = 0.1, *others: Any, **more: Any) -> RV:
        return super().wait(self._bounded(gen), interval, *others, **more)

    def _bounded(self, gen: PQGen[RV]) -> PQGen[RV]:
        """The same, as long as something comes or goes."""
        try:
            wanted = next(gen)
            since = time.monotonic()
            while True:
                ready = yield wanted
                now = time.monotonic()
                if ready:
                    since = now
                elif now - since > self.patience:
                    self.close()
                    raise psycopg.OperationalError(f"it has not answered for {now - since:.0f} seconds")
                wanted = gen.send(ready)
        except StopIteration as end:
            returned: RV = end.value
            return returned

    def answers(self) -> bool:
        """Whether it can be used. Where there is something to read without a question, it was ended over there."""
        watched = select.poll()
        watched.register(self, select.POLLIN)
        if watched.poll(0):
            return False
        if time.monotonic() - self.used > UNUSED_SECONDS:
            self.patience = PROBE_SECONDS
            try:
                self.execute(SQL["probe"].encode(), prepare=False)
            except psycopg.Error:
                return False
        return True


def connected(uri: str) -> PostgresWire:
    said = conninfo_to_dict(uri)
    patience: dict[str, Any] = {name: value for name, value in PATIENCE.items() if name not in said}
    made = PostgresWire.connect(uri, autocommit=True, prepare_threshold=PREPARED_AFTER, **patience)
    made.prepared_max = MOST_PREPARED
    texts.adapt(made)
    arrays.adapt(made)
    return made
