"""A read replica: it answers calls that only read, says how far it is behind, and never less than its process knows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.parts.postgres import Server, started
from tests.patience import until

from agent_memory import AgentMemory
from agent_memory.app.config import load
from agent_memory.app.doctor import examine
from agent_memory.engines.postgres import open_store
from agent_memory.engines.postgres.connection import Database
from agent_memory.engines.postgres.reads import Reads, Replica
from agent_memory.models.errors import InvalidInput
from agent_memory.ports.lagging import reading_only


@pytest.fixture(scope="module")
def primary() -> Iterator[Server]:
    with started(18) as one:
        yield one


@pytest.fixture(scope="module")
def replica(primary: Server) -> Iterator[Server]:
    with started(18, primary) as one:
        yield one


class Pair:
    """A database, and its copy on the replica."""

    def __init__(self, primary: Server, replica: Server) -> None:
        self.replica = replica
        self.uri = primary.fresh()
        self.copy = replica.uri(self.uri.rpartition("/")[2])
        self.primary = primary

    def caught_up(self) -> None:
        (there,) = self.primary.execute("select pg_current_wal_lsn()")[0]
        until(lambda: self.replica.execute(f"select pg_last_wal_replay_lsn() >= '{there}'")[0][0])

    def asked(self) -> int:
        """How many transactions the copy has seen of others: by the statistics of its sessions."""
        name = self.uri.rpartition("/")[2]
        found = self.replica.execute(
            f"select count(*) from pg_stat_activity where datname = '{name}' and query like '%commit%'"
        )
        return int(found[0][0])


@pytest.fixture
def pair(primary: Server, replica: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    made = Pair(primary, replica)
    monkeypatch.setenv("AGENT_MEMORY_POSTGRES_REPLICA_URI", made.copy)
    yield made
    replica.execute("select pg_wal_replay_resume() where pg_is_wal_replay_paused()")


def elsewhere(pair: Pair) -> AgentMemory:
    """With memory of its own, as another process has it."""
    return AgentMemory("ada", store=f"{pair.uri}?application_name=elsewhere")


@pytest.mark.requirement("C13")
def test_it_answers_and_says_how_far_it_is_behind(pair: Pair) -> None:
    with elsewhere(pair) as writer:
        kept = writer.records.add("The heron stands in the reeds.")
        assert writer.recall("where is the heron?").hits
    pair.caught_up()
    with AgentMemory("ada", store=pair.uri) as memory:
        found = memory.recall("where is the heron?")
        assert [hit.id for hit in found.hits] == [kept.id] and found.lag is not None
        assert memory.records.get(kept.id).text.startswith("The heron") and memory.records.find()[0].id == kept.id
        assert pair.asked(), "somebody asked the copy"
        assert memory.upkeep.stats()["replica"]["lines_behind"] == 0
    (check,) = [one for one in examine(pair.uri) if one.name == "replica"]
    assert check.state == "ok"


def test_a_process_sees_what_it_wrote(pair: Pair) -> None:
    with AgentMemory("ada", store=pair.uri) as memory:
        memory.records.add("The heron stands in the reeds.")
        pair.caught_up()
        assert memory.recall("where is the heron?").lag is not None
        pair.replica.execute("select pg_wal_replay_pause()")
        new = memory.records.add("The heron flew to the lake.")
        found = memory.recall("where is the heron?")
        assert new.id in [hit.id for hit in found.hits] and found.lag is None, "the primary answered"
        assert memory.records.get(new.id).text == "The heron flew to the lake."
        assert [one.id for one in memory.records.find(limit=1)] == [new.id]
        assert memory.upkeep.stats()["replica"]["lines_behind"] > 0
        with elsewhere(pair) as other:  # who wrote nothing, and knows of nothing, may be told a little less
            assert new.id not in [hit.id for hit in other.recall("where is the heron?").hits]
            other.records.amend(new.id, importance=0.9)  # what is written rests on the primary
        pair.replica.execute("select pg_wal_replay_resume()")
        pair.caught_up()
        found = memory.recall("where is the heron?")
        assert new.id in [hit.id for hit in found.hits] and found.lag is not None


def test_what_was_forgotten_is_not_asked_for(pair: Pair) -> None:
    """Neither by who forgot it, nor, soon, by others."""
    with AgentMemory("ada", store=pair.uri) as memory, elsewhere(pair) as other:
        memory.records.add("The heron stands in the reeds.")
        gone = memory.records.add("The heron flew to the lake.")
        pair.caught_up()
        assert len(other.recall("where is the heron?").hits) == len(memory.recall("where is the heron?").hits) == 2
        pair.replica.execute("select pg_wal_replay_pause()")
        memory.records.forget([gone.id])
        assert len(memory.recall("where is the heron?").hits) == 1
        until(lambda: len(other.recall("where is the heron?").hits) == 1, "the copy still tells it")


def test_a_large_reader_that_is_prepared_anew(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy does not know yet, and the tables are the primary's."""
    monkeypatch.setenv("AGENT_MEMORY_SHELF_LINES", "0")
    with AgentMemory("ada", store=pair.uri) as memory:
        memory.records.add("The heron stands in the reeds.")
        memory.upkeep.run_jobs()
    pair.caught_up()
    with AgentMemory("ada", store=pair.uri) as memory:
        found = memory.recall("where is the heron?")
        assert found.hits and found.approximate and found.lag is not None
        pair.replica.execute("select pg_wal_replay_pause()")
        name = pair.uri.rpartition("/")[2]
        begun = "update agent_memory.large_scopes set ready = false", "delete from agent_memory.large_words"
        pair.primary.execute(*begun, database=name)
        found = memory.recall("where is the heron?")
        assert found.hits and not found.approximate and found.lag is None


def test_one_that_is_out_of_reach(primary: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with started(18, primary) as own:
        pair = Pair(primary, own)
        monkeypatch.setenv("AGENT_MEMORY_POSTGRES_REPLICA_URI", pair.copy)
        with AgentMemory("ada", store=pair.uri) as memory:
            memory.records.add("The heron stands in the reeds.")
            pair.caught_up()
            assert memory.recall("where is the heron?").lag is not None
            own.stop()
            found = memory.recall("where is the heron?")
            assert found.hits and found.lag is None
            assert memory.records.find() and memory.upkeep.stats()["replica"] is None
        with AgentMemory("ada", store=pair.uri) as memory:
            assert memory.recall("where is the heron?").hits
        (check,) = [one for one in examine(pair.uri) if one.name == "replica"]
        assert check.state == "warn" and "AGENT_MEMORY_POSTGRES_REPLICA_URI" in check.fix


def test_another_store_is_not_a_copy(primary: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    strange = primary.fresh()
    with AgentMemory("ada", store=strange) as memory:
        memory.records.add("The heron of somebody else.")
    uri = primary.fresh()
    monkeypatch.setenv("AGENT_MEMORY_POSTGRES_REPLICA_URI", strange)
    assert load().postgres_replica_uri == strange
    with AgentMemory("ada", store=uri) as memory:
        assert memory.recall("where is the heron?").hits == [] and memory.records.find() == []
    (check,) = [one for one in examine(uri) if one.name == "replica"]
    assert check.state == "warn" and "not a copy" in check.detail
    database = Database(uri)
    copy = Replica(strange, database)
    with reading_only():
        Reads(database, copy).only("default", lambda session: session.send("my_seq"))
    assert not copy.there, "it is not asked at every call"
    for one in (database, copy.database):
        one.close()


def test_an_address_that_is_none(primary: Server) -> None:
    with pytest.raises(InvalidInput, match="postgres_replica_uri") as told:
        open_store(primary.fresh(), replica="postgresql://ada:s3cret@host:port/x")
    assert "s3cret" not in str(told.value)
