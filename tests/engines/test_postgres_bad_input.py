"""What is wrong with a database is told when it is opened, with the setting and the fix, and never with a password."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from tests.parts.postgres import Server, server, started

from agent_memory import AgentMemory
from agent_memory.app import doctor
from agent_memory.engines.postgres import schema
from agent_memory.engines.postgres.schema import open_database
from agent_memory.models.errors import AgentMemoryError, InvalidInput, PartMissing, StoreError, StoreNewer

SECRET = "hunter2"


def refused(uri: str) -> AgentMemoryError:
    with pytest.raises(AgentMemoryError) as told:
        AgentMemory("ada", store=uri)
    assert SECRET not in str(told.value) and SECRET not in told.value.hint and SECRET not in repr(told.value)
    assert told.value.hint
    return told.value


@pytest.fixture
def postgres() -> Server:
    return server(18)


def test_nobody_answers() -> None:
    error = refused(f"postgresql://ada:{SECRET}@127.0.0.1:1/memory")
    assert isinstance(error, StoreError) and "out of reach" in error.message and "127.0.0.1" in error.message


def test_reading_makes_no_tables(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    name = (uri := postgres.fresh()).rpartition("/")[2]
    monkeypatch.setenv("AGENT_MEMORY_POSTGRES_URI", uri)
    run = [sys.executable, "-m", "agent_memory.interfaces.cli"]
    read = subprocess.run([*run, "list"], capture_output=True, text=True)
    assert read.returncode == 6 and "there is no store in" in read.stderr and "agent-memory add" in read.stderr
    assert not postgres.execute("select 1 from pg_namespace where nspname = 'agent_memory'", database=name)
    made = subprocess.run([*run, "upgrade"], capture_output=True, text=True)
    assert made.returncode == 0 and "created" in made.stdout and uri.rpartition("@")[2] in made.stdout
    again = subprocess.run([*run, "upgrade"], capture_output=True, text=True)
    assert "already" in again.stdout
    assert subprocess.run([*run, "list"], capture_output=True).returncode == 0


def test_no_such_database(postgres: Server) -> None:
    error = refused(postgres.uri("nowhere").replace("postgres@", f"postgres:{SECRET}@"))
    assert isinstance(error, StoreError) and "nowhere" in error.message


def test_an_address_that_is_none() -> None:
    error = refused("postgresql://ada@host:port/x?nonsense=1")
    assert isinstance(error, InvalidInput) and error.field == "store"


@pytest.mark.requirement("C13")
def test_a_wrong_password() -> None:
    with started(18) as own:
        own.execute(f"create role ada login password '{SECRET}x'")
        (own.data / "pg_hba.conf").write_text("host all postgres all trust\nhost all all all scram-sha-256\n")
        own.execute("select pg_reload_conf()")
        error = refused(f"postgresql://ada:{SECRET}@127.0.0.1:{own.port}/postgres")
        assert "password" in error.message and "AGENT_MEMORY_POSTGRES_URI" in error.hint


@pytest.mark.requirement("C13")
def test_a_server_that_is_too_old(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "OLDEST_SERVER", 99)
    error = refused(postgres.fresh())
    assert "this is PostgreSQL 18" in error.message and "99 or newer" in error.message


@pytest.mark.skipif(not Path("/usr/lib/postgresql/15/bin/postgres").exists(), reason="there is no PostgreSQL 15 here")
def test_postgresql_15_is_refused() -> None:
    with started(15) as old:
        error = refused(old.uri())
        assert "this is PostgreSQL 15" in error.message
        assert old.execute("select count(*) from pg_namespace where nspname = 'agent_memory'") == [(0,)]


def test_pgvector_that_is_too_old(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "OLDEST_VECTOR", (9, 0))
    uri = postgres.fresh()
    error = refused(uri)
    assert isinstance(error, PartMissing) and "pgvector is 0." in error.message
    assert (
        postgres.execute("select 1 from pg_namespace where nspname = 'agent_memory'", database=uri.rpartition("/")[2])
        == []
    )


def test_a_schema_that_is_newer_than_we_are(postgres: Server) -> None:
    uri = postgres.fresh()
    open_database(uri).close()
    postgres.execute(
        "update agent_memory.meta set value = '99' where name in ('schema', 'floor')", database=uri.rpartition("/")[2]
    )
    error = refused(uri)
    assert isinstance(error, StoreNewer) and "99" in error.message


def test_a_variable_without_our_prefix_takes_nobody_elses_database(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = postgres.fresh()
    name = uri.rpartition("/")[2]
    postgres.execute("create table orders (id integer)", database=name)
    monkeypatch.setenv("POSTGRES_URI", uri)
    with pytest.raises(InvalidInput, match="another program") as told:
        AgentMemory("ada")
    assert "AGENT_MEMORY_POSTGRES_URI" in told.value.hint
    assert postgres.execute("select 1 from pg_namespace where nspname = 'agent_memory'", database=name) == []
    monkeypatch.setenv("AGENT_MEMORY_POSTGRES_URI", uri)
    with AgentMemory("ada") as memory:
        memory.records.add("It is ours now as well.")
    monkeypatch.delenv("AGENT_MEMORY_POSTGRES_URI")
    with AgentMemory("ada") as memory:
        assert memory.recall("ours").hits


def test_a_variable_without_our_prefix_takes_an_empty_database(
    postgres: Server, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("POSTGRES_URI", postgres.fresh())
    with AgentMemory("ada") as memory:
        memory.records.add("Staging deploys on Tuesdays.")
    assert not (home / "memory.db").exists()


def test_a_variable_without_our_prefix_hides_no_memories(
    postgres: Server, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    with AgentMemory("ada") as memory:
        memory.records.add("This is in the file.")
    monkeypatch.setenv("POSTGRES_URI", postgres.fresh())
    with AgentMemory("ada") as memory:
        assert [one.text for one in memory.records.find()] == ["This is in the file."]
    (told,) = [one for one in doctor.examine() if one.detail.startswith("POSTGRES_URI ignored")]
    assert told.state == "warn" and "AGENT_MEMORY_POSTGRES_URI" in told.fix


@pytest.mark.parametrize(
    "said",
    [
        f"host=127.0.0.1 password={SECRET} dbname=x",
        f"postgresql://ada:hun@{SECRET}@127.0.0.1:1/x",
        f"postgresql://ada:hun/{SECRET}@127.0.0.1:1/x",
        f"postgresql+psycopg://ada:{SECRET}@127.0.0.1/x",
    ],
)
def test_no_password_is_told_whatever_is_wrong_with_the_address(
    said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENT_MEMORY_POSTGRES_URI", said)
    with pytest.raises(AgentMemoryError) as told:
        AgentMemory("ada")
    shown = "".join(traceback.format_exception(told.value))
    assert SECRET not in shown and not [one for one in tmp_path.rglob("*") if SECRET in one.name]


def test_a_role_without_grants_is_told_what_it_needs(postgres: Server) -> None:
    uri = postgres.fresh()
    name = uri.rpartition("/")[2]
    open_database(uri).close()
    postgres.execute("drop role if exists nobody_yet", "create role nobody_yet login")
    error = refused(postgres.uri(name, "nobody_yet"))
    assert "may not use the schema" in error.message and "grants" in error.hint


def test_a_doctor_looks_and_changes_nothing(postgres: Server) -> None:
    uri = postgres.fresh()
    checks = {one.name: one for one in doctor.examine(uri)}
    assert checks["schema"].state == "warn" and checks["store"].state == "ok"
    assert (
        postgres.execute("select 1 from pg_namespace where nspname = 'agent_memory'", database=uri.rpartition("/")[2])
        == []
    )
    with AgentMemory("ada", store=uri) as memory:
        memory.records.add("Staging deploys on Tuesdays.")
    checks = {one.name: one for one in doctor.examine(uri)}
    assert checks["schema"].state == checks["erasures"].state == checks["clock"].state == "ok"
    assert checks["role"].state == "warn" and "superuser" in checks["role"].detail
    assert "sqlite" not in checks


def test_a_doctor_says_why_it_cannot_be_used() -> None:
    (check,) = [one for one in doctor.examine(f"postgresql://ada:{SECRET}@127.0.0.1:1/x") if one.name == "store"]
    assert check.state == "fail" and check.fix and SECRET not in check.detail
