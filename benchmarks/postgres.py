"""SQLite, PostgreSQL and a hand-written schema in one run: python benchmarks/postgres.py [--n 5000] [--rounds 5]

PostgreSQL 18 with pgvector from a wheel, on this machine, with fsync. The reference is what a careful engineer writes
by hand: one table with a tsvector (GIN) and a vector (HNSW), a statement to add, one that fuses both rankings to
recall, a filter by user; no versions, no journal, no receipts. Vectors come from a table. Systems take turns in each
round; a figure is the median of the rounds, a ratio the median of the rounds' ratios, with the least and the greatest.
Wall time of one client; its CPU without that of the database's processes. `tenants`: eight writers, each for its own.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import agent_memory

sys.path.insert(0, str(Path(agent_memory.__file__).resolve().parents[2]))  # where the tests start their servers

import numpy as np
from tests.parts.postgres import Server

from agent_memory import AgentMemory
from agent_memory.ports.embedder import Passage, Space
from before import text
from small import at_most

BATCH, WRITERS = 100, 8
SCHEMA = (
    "create extension if not exists vector",
    "create table notes (id bigint generated always as identity primary key, owner text not null, body text not null, "
    "words tsvector generated always as (to_tsvector('english', body)) stored, embedding vector(384) not null)",
    "create index on notes using gin (words)",
    "create index on notes using hnsw (embedding vector_cosine_ops)",
    "create index on notes (owner)",
)
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


class Ours:
    def __init__(self, store: str) -> None:
        self.store, self.written = store, 0
        self.embed = Table()
        self.memory = AgentMemory("ada", store=store, embedder=self.embed)

    def add(self, calls: int) -> None:
        for _ in range(calls):
            self.written += 1
            self.memory.records.add(text(self.written))

    def batch(self, calls: int) -> None:
        for _ in range(calls):
            rows = [{"text": text(self.written + place)} for place in range(1, BATCH + 1)]
            self.written += BATCH
            self.memory.records.add_many(rows, embed=True)

    def recall(self, calls: int) -> None:
        for number in range(calls):
            self.memory.recall(text(number * 7), k=10)

    def close(self) -> None:
        self.memory.close()

    def tenants(self, calls: int) -> None:
        """As many writers, each for a tenant of its own."""

        def write(number: int) -> None:
            with AgentMemory("ada", store=self.store, tenant=f"t{number}", embedder=self.embed) as memory:
                for call in range(calls):
                    memory.records.add(text(self.written + number * 1000 + call))

        writers = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for one in writers:
            one.start()
        for one in writers:
            one.join()
        self.written += 10_000


class ByHand:
    def __init__(self, uri: str) -> None:
        import psycopg

        self.connection = psycopg.connect(uri, autocommit=True)
        for statement in SCHEMA:
            self.connection.execute(statement)  # type: ignore[call-overload]
        self.uri, self.written, self.embed = uri, 0, Table()

    def _vector(self, said: str) -> str:
        return str(self.embed.embed_many([said])[0].tolist())

    def add(self, calls: int, connection: Any = None) -> None:
        for _ in range(calls):
            self.written += 1
            said = text(self.written)
            (connection or self.connection).execute(ADD, ("ada", said, self._vector(said)))

    def batch(self, calls: int) -> None:
        for _ in range(calls):
            said = [text(self.written + place) for place in range(1, BATCH + 1)]
            self.written += BATCH
            with self.connection.transaction(), self.connection.cursor() as cursor:
                cursor.executemany(ADD, [("ada", one, self._vector(one)) for one in said])

    def recall(self, calls: int) -> None:
        for number in range(calls):
            query = text(number * 7)
            asked = {"owner": "ada", "query": query, "vector": self._vector(query)}
            self.connection.execute(RECALL, asked).fetchall()

    def close(self) -> None:
        self.connection.close()

    def tenants(self, calls: int) -> None:
        import psycopg

        def write() -> None:
            with psycopg.connect(self.uri, autocommit=True) as connection:
                self.add(calls, connection)

        writers = [threading.Thread(target=write) for _ in range(WRITERS)]
        for one in writers:
            one.start()
        for one in writers:
            one.join()


def measured(call: Callable[[int], None], calls: int) -> tuple[float, float]:
    """Milliseconds a call: wall, and CPU of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    call(calls)
    return (time.perf_counter() - wall) * 1000 / calls, (time.process_time() - cpu) * 1000 / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    n, rounds = at_most(options.n, 200), at_most(options.rounds, 1)
    server = Server(18, fsync="on", full_page_writes="on", shared_buffers="256MB", autovacuum="on")
    try:
        with tempfile.TemporaryDirectory() as folder:
            systems: dict[str, Any] = {
                "sqlite": Ours(f"{folder}/memory.db"),
                "postgresql": Ours(server.fresh()),
                "by hand": ByHand(server.fresh()),
            }
            for system in systems.values():
                system.batch(n // BATCH)
                system.recall(3)
            found: dict[tuple[str, str], list[tuple[float, float]]] = {}
            for turn in range(rounds):
                names = [*systems][turn % 3 :] + [*systems][: turn % 3]
                for measure, calls in (("add", 100), ("batch", 3), ("recall", 100), ("tenants", 30)):
                    for name in names:
                        told = measured(getattr(systems[name], measure), at_most(calls, 3))
                        found.setdefault((measure, name), []).append(told)
            for system in systems.values():
                system.close()
        print(f"n = {n}, {rounds} rounds; milliseconds a call, wall (CPU of the client), and the ratio of wall")
        for measure in ("add", "batch", "recall", "tenants"):
            cells = {name: found[measure, name] for name in systems}
            said = [
                f"{name} {statistics.median(w for w, _ in told):.2f} ({statistics.median(c for _, c in told):.2f})"
                for name, told in cells.items()
            ]
            ratios = [ours[0] / hand[0] for ours, hand in zip(cells["postgresql"], cells["by hand"], strict=True)]
            spread = f"{min(ratios):.2f}-{max(ratios):.2f}"
            print(f"{measure}: {', '.join(said)}; postgresql to by hand {statistics.median(ratios):.2f} ({spread})")
    finally:
        server.remove()


if __name__ == "__main__":
    main()
