"""SQLite, PostgreSQL, a hand-written schema and LangGraph's store in one run:

    .venv/bin/python benchmarks/postgres.py [--n 5000] [--rounds 5]

PostgreSQL 18 with pgvector from a wheel, on this machine, with fsync. By hand is what a careful engineer writes: one
table with a tsvector (GIN) and a vector (HNSW), a statement to add, one that fuses both rankings to recall, a filter by
user; no versions, no journal, no receipts. LangGraph's `PostgresStore` (HNSW, vectors alone) takes part where it is
installed: `pip install langgraph-checkpoint-postgres`. Vectors come from a table. The two have their HNSW made after
they were filled, which is faster.

Systems take turns in each round; a figure is the median of the rounds, a ratio the median of the rounds' ratios, with
the least and the greatest. Milliseconds a call: wall, then CPU of the client and of the database. `tenants`: eight,
with two writers each. `readers`: sixteen threads. `cold`: the first recall of a client, which in ours loads a shelf.
`looked up` is ours with `AGENT_MEMORY_SHELF_LINES=0`, on the same rows. Then how often a call waits for the database,
counted on the wire.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import agent_memory

sys.path.insert(0, str(Path(agent_memory.__file__).resolve().parents[2]))  # where the tests start their servers

import numpy as np
from tests.parts.postgres import Server
from tests.parts.proxy import between

from agent_memory import AgentMemory
from agent_memory.ports.embedder import Passage, Space
from before import text
from small import at_most

BATCH, TENANTS, WRITERS, READERS, FILLED = 100, 8, 2, 16, 1000
MEASURES = {"add": 60, "batch": 3, "recall": 60, "tenants": 10, "readers": 6, "cold": 1}
"""Calls in a round; of `tenants` and `readers`, by each thread."""
SCHEMA = (
    "create extension if not exists vector",
    "create table notes (id bigint generated always as identity primary key, owner text not null, body text not null, "
    "words tsvector generated always as (to_tsvector('english', body)) stored, embedding vector(384) not null)",
    "create index on notes using gin (words)",
    "create index on notes (owner)",
)
HNSW = "create index on notes using hnsw (embedding vector_cosine_ops)"
ADD = "insert into notes (owner, body, embedding) values (%s, %s, %s::text::vector)"
RECALL = """with near as (select id, row_number() over () as rank from (
    select id from notes where owner = %(owner)s order by embedding <=> %(vector)s::text::vector limit 50) n),
said as (select id, row_number() over () as rank from (select id from notes
    where owner = %(owner)s and words @@ plainto_tsquery('english', %(query)s)
    order by ts_rank_cd(words, plainto_tsquery('english', %(query)s)) desc limit 50) s)
select n.id, n.body from notes n join (select id, sum(1.0 / (60 + rank)) as score
    from (select * from near union all select * from said) both_of_them group by id order by score desc limit 10) f
    on f.id = n.id order by f.score desc"""


class Table:
    """An embedder that costs next to nothing."""

    space = Space("table", "1", 384)

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: list[str]) -> Any:
        rows = [np.frombuffer(hashlib.sha384(text.encode()).digest() * 8, "u1") for text in texts]
        made = np.stack(rows).astype("f4") - 127.5
        return made / np.linalg.norm(made, axis=1, keepdims=True)


def together(*calls: Callable[[], None]) -> None:
    """Each in a thread of its own."""
    threads = [threading.Thread(target=one) for one in calls]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


class Ours:
    """`numbers` are of texts: none is written twice."""

    measures: Sequence[str] = tuple(MEASURES)

    def __init__(self, store: str) -> None:
        self.store, self.embed, self.numbers = store, Table(), count(1)
        self.memory = self._opened()

    def _opened(self, tenant: str = "default") -> AgentMemory:
        return AgentMemory("ada", store=self.store, tenant=tenant, embedder=self.embed)

    def fill(self, n: int) -> None:
        for _ in range(0, n, FILLED):
            self._batch(min(n, FILLED))

    def _batch(self, size: int) -> None:
        self.memory.records.add_many([{"text": text(next(self.numbers))} for _ in range(size)], embed=True)

    def add(self, calls: int) -> None:
        for _ in range(calls):
            self.memory.records.add(text(next(self.numbers)))

    def batch(self, calls: int) -> None:
        for _ in range(calls):
            self._batch(BATCH)

    def recall(self, calls: int) -> None:
        for number in range(calls):
            self.memory.recall(text(number * 7), k=10)

    def tenants(self, calls: int) -> None:
        def write(tenant: str) -> None:
            with self._opened(tenant) as memory:
                for _ in range(calls):
                    memory.records.add(text(next(self.numbers)))

        together(*(lambda number=number: write(f"t{number % TENANTS}") for number in range(TENANTS * WRITERS)))

    def readers(self, calls: int) -> None:
        together(*(lambda: self.recall(calls) for _ in range(READERS)))

    def cold(self, calls: int) -> None:
        self.memory.close()
        self.memory = self._opened()
        self.recall(calls)

    def close(self) -> None:
        self.memory.close()


class LookedUp(Ours):
    """What ours has written, not kept in memory. It only reads."""

    measures = ("recall", "readers", "cold")

    def _opened(self, tenant: str = "default") -> AgentMemory:
        os.environ["AGENT_MEMORY_SHELF_LINES"] = "0"
        try:
            return super()._opened(tenant)
        finally:
            del os.environ["AGENT_MEMORY_SHELF_LINES"]

    def fill(self, n: int) -> None:
        self.memory.upkeep.run_jobs()


class ByHand:
    measures = tuple(MEASURES)

    def __init__(self, uri: str) -> None:
        self.uri, self.embed, self.numbers = uri, Table(), count(1)
        self.connection = self._connected()
        for statement in SCHEMA:
            self.connection.execute(statement)

    def _connected(self) -> Any:
        import psycopg

        return psycopg.connect(self.uri, autocommit=True)

    def _row(self, owner: str = "ada") -> tuple[str, str, str]:
        said = text(next(self.numbers))
        return owner, said, self._vector(said)

    def _vector(self, said: str) -> str:
        return str(self.embed.embed_many([said])[0].tolist())

    def fill(self, n: int) -> None:
        for _ in range(0, n, FILLED):
            self._batch(min(n, FILLED))
        self.connection.execute(HNSW)

    def _batch(self, size: int) -> None:
        with self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.executemany(ADD, [self._row() for _ in range(size)])

    def add(self, calls: int) -> None:
        for _ in range(calls):
            self.connection.execute(ADD, self._row())

    def batch(self, calls: int) -> None:
        for _ in range(calls):
            self._batch(BATCH)

    def recall(self, calls: int, connection: Any = None) -> None:
        for number in range(calls):
            query = text(number * 7)
            asked = {"owner": "ada", "query": query, "vector": self._vector(query)}
            (connection or self.connection).execute(RECALL, asked).fetchall()

    def tenants(self, calls: int) -> None:
        def write(owner: str) -> None:
            with self._connected() as connection:
                for _ in range(calls):
                    connection.execute(ADD, self._row(owner))

        together(*(lambda number=number: write(f"t{number % TENANTS}") for number in range(TENANTS * WRITERS)))

    def readers(self, calls: int) -> None:
        def read() -> None:
            with self._connected() as connection:
                self.recall(calls, connection)

        together(*(read for _ in range(READERS)))

    def cold(self, calls: int) -> None:
        self.connection.close()
        self.connection = self._connected()
        self.recall(calls)

    def close(self) -> None:
        self.connection.close()


class LangGraph:
    """Its namespace is the user; each thread has a connection of its own."""

    measures = tuple(MEASURES)

    def __init__(self, uri: str) -> None:
        self.uri, self.embed, self.numbers = uri, Table(), count(1)
        self.open = self._opened()
        self.store = self.open.__enter__()
        self.store.setup()

    def _opened(self) -> Any:
        from langgraph.store.postgres import PostgresStore

        def embed(texts: list[str]) -> list[list[float]]:
            return [one.tolist() for one in self.embed.embed_many(texts)]  # type: ignore[no-any-return]

        index: Any = {"dims": 384, "embed": embed, "fields": ["text"]}
        return PostgresStore.from_conn_string(self.uri, index=index)

    def _put(self, owner: str = "ada") -> Any:
        from langgraph.store.base import PutOp

        number = next(self.numbers)
        return PutOp((owner,), str(number), {"text": text(number)})

    def fill(self, n: int) -> None:
        """Without its HNSW meanwhile."""
        import psycopg

        with psycopg.connect(self.uri, autocommit=True) as raw:
            ((name, made),) = raw.execute(
                "select indexname, indexdef from pg_indexes where indexdef ilike '%using hnsw%'"
            ).fetchall()
            raw.execute(f"drop index {name}")  # type: ignore[call-overload]
            for _ in range(0, n, FILLED):
                self.store.batch([self._put() for _ in range(min(n, FILLED))])
            raw.execute(made)  # type: ignore[call-overload]

    def add(self, calls: int, store: Any = None, owner: str = "ada") -> None:
        for _ in range(calls):
            (store or self.store).batch([self._put(owner)])

    def batch(self, calls: int) -> None:
        for _ in range(calls):
            self.store.batch([self._put() for _ in range(BATCH)])

    def recall(self, calls: int, store: Any = None) -> None:
        for number in range(calls):
            (store or self.store).search(("ada",), query=text(number * 7), limit=10)

    def tenants(self, calls: int) -> None:
        def write(owner: str) -> None:
            with self._opened() as store:
                self.add(calls, store, owner)

        together(*(lambda number=number: write(f"t{number % TENANTS}") for number in range(TENANTS * WRITERS)))

    def readers(self, calls: int) -> None:
        def read() -> None:
            with self._opened() as store:
                self.recall(calls, store)

        together(*(read for _ in range(READERS)))

    def cold(self, calls: int) -> None:
        self.close()
        self.open = self._opened()
        self.store = self.open.__enter__()
        self.recall(calls)

    def close(self) -> None:
        self.open.__exit__(None, None, None)


def spent(server: Server) -> float:
    """Seconds of CPU that the database's processes took; 0 where the system does not tell."""
    ticks, postmaster = 0, str(server.pid)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent, *_ = rest = (folder / "stat").read_text().rpartition(")")[2].split()[1:]
            if folder.name == postmaster:
                ticks += sum(map(int, rest[10:14]))  # with children that ended
            elif parent == postmaster:
                ticks += sum(map(int, rest[10:12]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(server: Server, call: Callable[[int], None], calls: int, each: int) -> tuple[float, float, float]:
    """Milliseconds a call: wall, CPU of this process, CPU of the database."""
    before = time.perf_counter(), time.process_time(), spent(server)
    call(calls)
    after = time.perf_counter(), time.process_time(), spent(server)
    wall, client, database = ((end - start) * 1000 / calls / each for start, end in zip(before, after, strict=True))
    return wall, client, database


def trips(server: Server, make: Callable[[str], Any]) -> str:
    """How often a call waits for the database: the median of ten."""
    with between(server.port) as wire:
        system = make(server.fresh().replace(f":{server.port}/", f":{wire.port}/"))
        system.fill(200)
        system.recall(5)
        counted: dict[str, list[int]] = {"add": [], "recall": []}
        for name, told in counted.items():
            for _ in range(10):
                before = wire.trips
                getattr(system, name)(1)
                told.append(wire.trips - before)
        system.close()
    return ", ".join(f"{name} {statistics.median(told):g}" for name, told in counted.items())


def report(found: dict[tuple[str, str], list[tuple[float, float, float]]], systems: list[str]) -> None:
    for measure in MEASURES:
        cells = {name: found[measure, name] for name in systems if (measure, name) in found}
        medians = {name: [statistics.median(one) for one in zip(*told, strict=True)] for name, told in cells.items()}
        said = [f"{name} {w:.2f} ({c:.2f} + {d:.2f})" for name, (w, c, d) in medians.items()]
        for other in [one for one in ("by hand", "langgraph") if one in systems]:
            for what, cost in (("wall", lambda one: one[0]), ("CPU", lambda one: one[1] + one[2])):
                ratios = [cost(a) / cost(b) for a, b in zip(cells["postgresql"], cells[other], strict=True) if cost(b)]
                if ratios:
                    spread = f"{min(ratios):.2f}-{max(ratios):.2f}"
                    said.append(f"postgresql to {other}, {what}: {statistics.median(ratios):.2f} ({spread})")
        print(f"{measure}: {'; '.join(said)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    n, rounds = at_most(options.n, 200), at_most(options.rounds, 1)
    made: dict[str, Callable[[str], Any]] = {"postgresql": Ours, "by hand": ByHand}
    if find_spec("langgraph") and find_spec("langgraph.store.postgres"):
        made["langgraph"] = LangGraph
    server = Server(
        18, fsync="on", full_page_writes="on", shared_buffers="256MB", maintenance_work_mem="256MB", autovacuum="on"
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            systems: dict[str, Any] = {"sqlite": Ours(f"{folder}/memory.db")}
            databases = {name: server.fresh() for name in made}
            systems |= {name: make(databases[name]) for name, make in made.items()}
            systems["looked up"] = LookedUp(databases["postgresql"])
            for name, system in systems.items():
                started = time.perf_counter()
                system.fill(n)
                system.recall(3)
                print(f"{name}: filled in {time.perf_counter() - started:.0f} s", flush=True)
            for uri in databases.values():
                server.execute("vacuum analyze", database=uri.rpartition("/")[2])
            found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
            each = {"tenants": TENANTS * WRITERS, "readers": READERS}
            for turn in range(rounds):
                names = [*systems][turn % len(systems) :] + [*systems][: turn % len(systems)]
                for measure, calls in MEASURES.items():
                    for name in (one for one in names if measure in systems[one].measures):
                        call = getattr(systems[name], measure)
                        told = measured(server, call, at_most(calls, 3), each.get(measure, 1))
                        found.setdefault((measure, name), []).append(told)
            for system in systems.values():
                system.close()
        print(f"n = {n}, {rounds} rounds; milliseconds a call: wall (CPU of the client + of the database)")
        report(found, [*systems])
        for name, make in made.items():
            print(f"round trips, {name}: {trips(server, make)}", flush=True)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
