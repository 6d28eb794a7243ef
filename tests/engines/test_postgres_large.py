"""Readers that are too large for memory: the database looks them up, within the same walls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from tests.parts.postgres import Server, server

from agent_memory import AgentMemory
from agent_memory.app.doctor import examine
from agent_memory.engines.postgres import indexing, open_store
from agent_memory.models import Entity, Turn
from agent_memory.models.errors import InvalidInput
from patience import PATIENCE

THINGS = "kettle lantern violin anchor ladder compass hammock telescope accordion umbrella".split()
PLACES = "harbour attic greenhouse cellar library stable bakery chapel observatory boathouse".split()
GRANTS = """
grant usage on schema agent_memory to {role};
grant select, insert, update, delete on all tables in schema agent_memory to {role};
grant usage on all sequences in schema agent_memory to {role};
grant execute on all functions in schema agent_memory to {role};
""".strip()
ALL = 10_000  # lines that fit into memory: everything does
Open = Callable[..., AgentMemory]


def story(number: int) -> str:
    thing, place = THINGS[number % 10], PLACES[number // 10 % 10]
    return f"On day {number} the {thing} number {number} was moved to the {place} by the north gate."


@pytest.fixture(scope="module")
def postgres() -> Server:
    return server(18)


@pytest.fixture(scope="module")
def filled(postgres: Server) -> str:
    """Two tenants, and two users of one of them; nothing is prepared."""
    uri = postgres.fresh()
    with AgentMemory("ada", store=uri, tenant="acme") as memory:
        memory.records.add_many([{"text": story(number), "id": f"s{number}"} for number in range(300)], embed=True)
    for user, tenant in (("bob", "acme"), ("ada", "rival")):
        with AgentMemory(user, store=uri, tenant=tenant) as memory:
            memory.records.add_many([{"text": f"The canary of {user} at {tenant} sings.", "id": f"{user}-{tenant}"}])
    return uri


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    made: list[AgentMemory] = []

    def open(uri: str, lines: int = 0, user: str = "ada", tenant: str = "acme") -> AgentMemory:
        monkeypatch.setenv("AGENT_MEMORY_SHELF_LINES", str(lines))
        made.append(AgentMemory(user, store=uri, tenant=tenant))
        return made[-1]

    yield open
    for one in made:
        one.close()


def rows(uri: str, sql: str) -> list[Any]:
    with psycopg.connect(uri, autocommit=True) as raw:
        raw.execute("set search_path = agent_memory, public")
        return raw.execute(sql).fetchall()  # type: ignore[call-overload, no-any-return]


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("lines", [0, 50], ids=["all looked up", "the newest in memory"])
def test_the_same_answers_as_in_memory(filled: str, opened: Open, lines: int) -> None:
    questions = ["Where is the violin number 42?", "Which hammock went to the boathouse?", "telescope number 137"]
    asked = [memory.recall(one, k=5) for memory in [opened(filled, ALL)] for one in questions]
    assert not any(one.approximate for one in asked)
    memory = opened(filled, lines)
    memory.upkeep.run_jobs()
    found = [memory.recall(one, k=5) for one in questions]
    assert all(one.approximate for one in found)
    assert [one[0].id for one in found] == [one[0].id for one in asked]
    for one, exact in zip(found, asked, strict=True):
        assert len({hit.id for hit in one} & {hit.id for hit in exact}) >= 3


def test_before_it_is_prepared_memory_answers(postgres: Server, opened: Open) -> None:
    uri = postgres.fresh()
    memory = opened(uri)
    memory.records.add_many([{"text": story(number), "id": f"s{number}"} for number in range(20)])
    found = memory.recall("violin number 12")
    assert found[0].id == "s12" and not found.approximate
    (check,) = [one for one in examine(uri) if one.name == "large readers"]
    assert check.state == "warn" and "run-jobs" in check.fix
    memory.upkeep.run_jobs()
    assert memory.recall("violin number 12").approximate
    (check,) = [one for one in examine(uri) if one.name == "large readers"]
    assert check.state == "ok"


def test_the_database_uses_the_index_of_the_scope(postgres: Server, opened: Open) -> None:
    uri = postgres.fresh()
    memory = opened(uri)
    memory.records.add_many([{"text": story(number)} for number in range(30)])
    assert memory.upkeep.run_jobs()["index"] == {"contents": 30, "left": 0}
    assert memory.upkeep.run_jobs()["index"] == {"contents": 0, "left": 0}
    assert memory.recall("Where is the violin?").approximate
    memory.close()
    until(
        lambda: rows(uri, "select 1 from pg_stat_user_indexes where indexrelname like 'large_hnsw_%' and idx_scan > 0")
    )


def test_what_is_written_is_found_at_once(postgres: Server, opened: Open) -> None:
    uri = postgres.fresh()
    memory = opened(uri)
    memory.records.add_many([{"text": story(number), "id": f"s{number}"} for number in range(50)])
    memory.upkeep.run_jobs()
    memory.records.add("The zeppelin landed behind the bakery.", id="new")
    found = memory.recall("Where did the zeppelin land?")
    assert found.approximate and found[0].id == "new"
    memory.records.edit("s12", text="The violin was sold to a travelling circus.")
    assert memory.recall("Which thing was sold to a circus?")[0].id == "s12"
    memory.upkeep.run_jobs()
    again = memory.recall("Which thing was sold to a circus?")
    assert again[0].id == "s12" and again[0].record.version == 2
    assert "s12" not in {hit.id for hit in memory.recall("On which day was number 12 moved to the attic?")[:1]}


def test_filters_leave_what_they_should(postgres: Server, opened: Open) -> None:
    uri = postgres.fresh()
    memory = opened(uri)
    memory.records.add_many([{"text": story(number)} for number in range(100)])
    memory.learn_fact("The violin belongs to Mira")
    for number in range(6):
        memory.store_turn(Turn(conversation_id="c1", index=number, role="user", content=f"Turn {number}, a violin."))
    memory.upkeep.run_jobs()
    assert {hit.kind for hit in memory.recall("violin", k=20, kinds=["fact"])} == {"fact"}
    turns = memory.recall("violin", k=20, conversation_id="c1")
    assert turns.approximate and len(turns) == 6 and {hit.kind for hit in turns} == {"turn"}


def test_links_are_followed(postgres: Server, opened: Open) -> None:
    uri = postgres.fresh()
    memory = opened(uri, ALL)
    checkout = memory.upsert_entity(Entity(name="checkout", type="Service", aliases=["checkout-api"]))
    database = memory.upsert_entity(Entity(name="pg-main", type="Database"))
    memory.semantic.create_relationship(checkout.id, database.id, "DEPENDS_ON")
    fact = memory.learn_fact("pg-main moves to eu-2 when it breaks", entity_ids=[database.id])
    for number in range(12):
        memory.learn_fact(f"pg-{number} moves to eu-{number + 3} when it breaks")
    question = "what does checkout-api's failover depend on?"
    exact = {hit.id: hit.why.entities for hit in memory.recall(question)}
    memory = opened(uri)
    memory.upkeep.run_jobs()
    found = memory.recall(question)
    assert found.approximate and exact[fact.id]
    assert {hit.id: hit.why.entities for hit in found if hit.id in exact}[fact.id] == exact[fact.id]


def test_walls(postgres: Server, filled: str, opened: Open) -> None:
    postgres.execute("drop role if exists looker", "create role looker login")
    name = filled.rpartition("/")[2]
    postgres.execute(*GRANTS.format(role="looker").splitlines(), database=name)
    opened(filled).upkeep.run_jobs()
    for uri in (filled, postgres.uri(name, "looker")):
        for user, tenant in (("bob", "acme"), ("ada", "rival")):
            found = opened(uri, user=user, tenant=tenant).recall("Where is the canary, the violin and the telescope?")
            assert found.approximate and [hit.id for hit in found] == [f"{user}-{tenant}"]
        found = opened(uri).recall("Where does the canary sing?", k=100)
        assert found.approximate and all(hit.id.startswith("s") for hit in found)
    with psycopg.connect(postgres.uri(name, "looker"), autocommit=True) as raw:
        for table in ("large_scopes", "large_words", "large_vectors"):
            assert raw.execute(f"select count(*) from agent_memory.{table}").fetchone() == (0,)  # type: ignore[call-overload]
    (check,) = [one for one in examine(postgres.uri(name, "looker")) if one.name == "large readers"]
    assert check.state == "ok"


def test_whoever_may_not_prepare_them_sees_how_many_wait(postgres: Server, opened: Open) -> None:
    uri = postgres.fresh()
    opened(uri).records.add(story(1))
    postgres.execute("drop role if exists reader", "create role reader login")
    name = uri.rpartition("/")[2]
    postgres.execute(*GRANTS.format(role="reader").splitlines(), database=name)
    memory = opened(postgres.uri(name, "reader"))

    def lag() -> int | None:
        return next(one.lag for one in memory.upkeep.jobs() if one.name == "index")

    assert lag() == 1
    assert memory.upkeep.run_jobs()["index"] == {"contents": 0, "left": 0} and lag() == 1
    opened(uri).upkeep.run_jobs()
    assert lag() == 0


def test_what_is_forgotten_leaves_words_and_vectors(postgres: Server, opened: Open) -> None:
    uri = postgres.fresh()
    memory = opened(uri)
    memory.records.add_many([{"text": story(number), "id": f"s{number}"} for number in range(40)])
    gone = memory.records.add("The quetzalcoatlus nests in the attic.")
    memory.upkeep.run_jobs()
    counts = "select " + ", ".join(
        f"(select count(*) from {table} where record = {{0}})" for table in ("large_words", "large_vectors")
    )
    words, vectors = rows(uri, counts.format(gone.seq))[0]
    assert words > 2 and vectors == 1 and memory.recall("quetzalcoatlus")[0].id == gone.id
    memory.records.forget([gone.id])
    assert rows(uri, counts.format(gone.seq)) == [(0, 0)]
    assert gone.id not in {hit.id for hit in memory.recall("Where does the quetzalcoatlus nest?", k=100)}
    assert memory.upkeep.verify().ok
    memory.tenants.erase("acme")
    assert rows(uri, "select count(*) from large_words") == rows(uri, "select count(*) from large_scopes") == [(0,)]
    with AgentMemory("ada", store=uri, tenant="other") as other:
        other.upkeep.run_jobs()
    assert rows(uri, "select relname from pg_class where relname like 'large_hnsw_%'") == []


def test_a_rewrite_leaves_the_indexes_to_the_job(postgres: Server, opened: Open) -> None:
    """Made in the rewrite, they would shut everybody out."""
    uri = postgres.fresh()
    memory = opened(uri)
    memory.records.add_many([{"text": story(number), "id": f"s{number}"} for number in range(30)])
    memory.upkeep.run_jobs()
    memory.records.forget(["s3"])
    memory.close()
    store, indexes = open_store(uri), "select relname from pg_class where relname like 'large_hnsw_%'"
    assert len(rows(uri, indexes)) == 1
    until(lambda: store.scrub(True))
    store.close()
    assert rows(uri, indexes) == [] and rows(uri, "select ready from large_scopes") == [(False,)]
    memory = opened(uri)
    found = memory.recall("violin number 12")
    assert found[0].id == "s12" and not found.approximate
    assert memory.upkeep.run_jobs()["index"] == {"contents": 0, "left": 0}
    assert len(rows(uri, indexes)) == 1 and memory.recall("violin number 12").approximate


def test_neither_as_of_nor_replay(postgres: Server, opened: Open) -> None:
    uri = postgres.fresh()
    memory = opened(uri, ALL)
    first = memory.records.add("The violin is in the attic.")
    exact = memory.recall("violin")
    memory.records.add("The violin is in the cellar.")
    memory.close()  # with its receipt
    memory = opened(uri)
    memory.upkeep.run_jobs()
    for ask in (
        lambda: memory.recall("violin", as_of=first.recorded_at),
        lambda: memory.receipts.replay(exact.receipt_id),
        lambda: memory.receipts.replay(memory.recall("violin").receipt_id),
    ):
        with pytest.raises(InvalidInput, match=r"as_of: .* too many memories|approximate, and has no replay"):
            ask()
    receipt = memory.recall("violin").receipt_id
    assert memory.receipts.get(receipt)["approximate"] is True
    assert memory.receipts.replay(receipt, now=True).identical


def test_an_erasure_that_is_under_way_is_waited_for(postgres: Server, opened: Open) -> None:
    """It did not know of words and vectors that it had to erase as well."""
    uri = postgres.fresh()
    memory = opened(uri)
    memory.records.add_many([{"text": story(number)} for number in range(20)])
    job = threading.Thread(target=memory.upkeep.run_jobs)
    with psycopg.connect(uri) as erasing:
        erasing.execute("select 1 from agent_memory.tenants for no key update")
        job.start()
        until(lambda: rows(uri, "select 1 from pg_locks where not granted"))
        assert rows(uri, "select count(*) from large_scopes") == [(0,)]
    job.join(PATIENCE)
    assert rows(uri, "select ready from large_scopes") == [(True,)]


def test_what_was_prepared_before_goes_in_batches(
    postgres: Server, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is stopped goes on there, and forgetting does not wait for all of it."""
    monkeypatch.setattr(indexing, "BATCH", 7)
    uri = postgres.fresh()
    memory = opened(uri)
    memory.records.add_many([{"text": story(number), "id": f"s{number}"} for number in range(40)])
    memory.upkeep.run_jobs()
    memory.upkeep.rebuild()
    with suppress(Stopped), monkeypatch.context() as patched:
        patched.setattr(indexing, "_empty", stopping(indexing._empty, after=2))
        memory.upkeep.run_jobs()
    ((line, ready),) = rows(uri, "select line, ready from large_scopes")
    assert line < 0 and not ready
    assert rows(uri, "select count(*) from large_vectors") == [(-line,)], "of as many lines, a record each"
    found = memory.recall("violin number 12")
    assert found[0].id == "s12" and not found.approximate
    memory.records.forget(["s12"])
    memory.upkeep.run_jobs()
    posted = "select count(*) = count(distinct (term, content)), count(distinct content) from large_words"
    assert rows(uri, posted) == [(True, 39)] and rows(uri, "select count(*) from large_vectors") == [(39,)]
    assert memory.recall("violin number 22").approximate


class Stopped(Exception):
    pass


def stopping(work: Callable[..., None], after: int) -> Callable[..., None]:
    """Does it so many times."""
    left = [None] * after

    def one(*asked: object) -> None:
        if not left:
            raise Stopped
        left.pop()
        work(*asked)

    return one


WORKER = """
from agent_memory import AgentMemory
from agent_memory.engines.postgres import indexing
indexing.BATCH = 3
AgentMemory("ada", store={uri!r}, tenant="acme").upkeep.run_jobs()
"""


@pytest.fixture
def worker() -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    made: list[subprocess.Popen[bytes]] = []

    def start(uri: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {"AGENT_MEMORY_SHELF_LINES": "0"}
        made.append(subprocess.Popen([sys.executable, "-c", WORKER.format(uri=uri)], env=environment))
        return made[-1]

    yield start
    for one in made:
        one.kill()
        one.wait()


def killed(one: subprocess.Popen[bytes]) -> None:
    assert one.poll() is None, "it was done too soon"
    one.send_signal(signal.SIGKILL)
    one.wait()


@pytest.mark.engines
def test_a_killed_job_goes_on(
    postgres: Server, opened: Open, worker: Callable[[str], subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it fills the tables, and while it makes the index, for which somebody who reads keeps it waiting."""
    uri = postgres.fresh()
    memory = opened(uri)
    memory.records.add_many([{"text": story(number), "id": f"s{number}"} for number in range(300)])
    one = worker(uri)
    until(lambda: rows(uri, "select 1 from large_scopes where line > 0"))
    killed(one)
    (reached,) = rows(uri, "select line, ready from large_scopes")[0:1]
    assert not reached[1]

    with psycopg.connect(uri) as reading:
        reading.execute("set transaction isolation level repeatable read")
        reading.execute("select count(*) from agent_memory.large_vectors")
        one = worker(uri)
        building = "select pid from pg_stat_progress_create_index where datname = current_database()"
        until(lambda: rows(uri, building))
        killed(one)
        rows(uri, f"select pg_terminate_backend(pid) from ({building}) b")
        until(lambda: not rows(uri, building))
    invalid = "select relname from pg_index join pg_class on oid = indexrelid where not indisvalid"
    assert rows(uri, invalid), "half an index is left"
    found = memory.recall("violin number 42")
    assert found[0].id == "s42" and not found.approximate, "until it is ready, memory answers"

    memory.upkeep.run_jobs()
    assert rows(uri, invalid) == [] and rows(uri, "select ready from large_scopes") == [(True,)]
    posted = "select count(*), count(distinct (term, content)), count(distinct content) from large_words"
    ((all, different, contents),) = rows(uri, posted)
    assert all == different and contents == 300
    assert rows(uri, "select count(*) from large_vectors") == [(300,)]
    found = memory.recall("violin number 42")
    assert found[0].id == "s42" and found.approximate
