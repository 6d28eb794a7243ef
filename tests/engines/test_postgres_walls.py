"""Behind the filters of our statements, the database keeps tenants apart by itself."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from tests.parts.postgres import Server, server

from agent_memory import AgentMemory
from agent_memory.app import doctor
from agent_memory.models.errors import StoreError

GRANTS = """
grant usage on schema agent_memory to {role};
grant select, insert, update, delete on all tables in schema agent_memory to {role};
grant usage on all sequences in schema agent_memory to {role};
grant execute on all functions in schema agent_memory to {role};
""".strip()


@pytest.fixture(scope="module")
def postgres() -> Server:
    return server(18)


@pytest.fixture(scope="module")
def role(postgres: Server) -> Iterator[str]:
    postgres.execute("drop role if exists plain", "create role plain login")
    yield "plain"


@pytest.fixture
def uri(postgres: Server, role: str) -> str:
    """A store that `plain` may use and does not own."""
    owned = postgres.fresh()
    with AgentMemory("ada", store=owned, tenant="acme") as memory:
        memory.records.add("The canary sings at noon.")
        memory.working.set("mood", "calm")
    name = owned.rpartition("/")[2]
    postgres.execute(*GRANTS.format(role=role).splitlines(), database=name)
    return postgres.uri(name, role)


def tables(uri: str) -> list[str]:
    with psycopg.connect(uri, autocommit=True) as raw:
        return [name for (name,) in raw.execute("select tablename from pg_tables where schemaname = 'agent_memory'")]


@pytest.mark.requirement("C13")
def test_who_forgets_the_tenant_sees_nothing(uri: str) -> None:
    with psycopg.connect(uri, autocommit=True) as raw:
        assert raw.execute("select rolsuper, rolbypassrls from pg_roles where rolname = current_user").fetchone() == (
            False,
            False,
        )
        seen = {name: raw.execute(f"select count(*) from agent_memory.{name}").fetchone() for name in tables(uri)}
    assert len(seen) > 20 and set(seen.values()) == {(0,)}


def test_who_enters_as_another_sees_nothing_of_the_first(uri: str) -> None:
    with AgentMemory("ada", store=uri, tenant="rival") as memory:
        memory.records.add("Nothing to do with it.")
    for tenant, count in (("acme", 1), ("rival", 1), ("nobody", 0)):
        with psycopg.connect(uri) as raw:
            raw.execute("set local search_path = agent_memory")
            raw.execute("select enter(%s)", (tenant,))
            texts = raw.execute("select text from contents").fetchall()
            assert len(texts) == count and all(("canary" in text) is (tenant == "acme") for (text,) in texts)


def test_a_transaction_ends_what_it_entered(uri: str) -> None:
    """As behind a pooler: the next transaction on the connection may be anybody's."""
    with psycopg.connect(uri, autocommit=True) as raw:
        with raw.transaction():
            raw.execute("set local search_path = agent_memory")
            raw.execute("select enter('acme')")
        assert raw.execute("select count(*) from agent_memory.contents").fetchone() == (0,)


def test_nobody_writes_into_another_tenant(uri: str) -> None:
    with psycopg.connect(uri) as raw:
        raw.execute("set local search_path = agent_memory")
        raw.execute("select enter('acme')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            raw.execute("insert into scopes (tenant, scope, \"user\", agent) values (99, 1, 'x', 'y')")


def test_everything_works_under_such_a_role(uri: str, settle: object) -> None:
    with AgentMemory("ada", store=uri, tenant="acme") as memory:
        (hit,) = memory.recall("when does the canary sing?").hits
        kept = memory.records.add("A second one.")
        memory.records.forget([kept.id])
        assert memory.upkeep.verify().ok
        assert memory.records.get(hit.record.id) is not None
    checks = {one.name: one for one in doctor.examine(uri)}
    assert checks["role"].state == "ok", checks["role"]


def test_a_role_that_may_not_create_tables_is_told(postgres: Server, role: str) -> None:
    name = postgres.fresh().rpartition("/")[2]
    postgres.execute("revoke all on schema public from public", "create extension vector", database=name)
    with pytest.raises(StoreError, match="may not") as told:
        AgentMemory("ada", store=postgres.uri(name, role))
    assert told.value.hint


def test_nobody_becomes_the_owner_through_our_functions(postgres: Server, uri: str) -> None:
    """A table of the same name in one's own temporary schema is not the one that they read."""
    postgres.execute("drop role if exists sly", "create role sly login")
    name = uri.rpartition("/")[2]
    postgres.execute(*GRANTS.format(role="sly").splitlines(), database=name)
    with psycopg.connect(postgres.uri(name, "sly"), autocommit=True) as raw:
        raw.execute("create temp table tenants (tenant integer, name text, salt bytea, genesis bytea, chain bytea)")
        raw.execute(
            "create function pg_temp.climb() returns trigger language plpgsql as "
            "$$ begin execute 'alter role sly superuser'; return new; end $$"
        )
        raw.execute("create trigger climb before insert on tenants for each row execute function pg_temp.climb()")
        raw.execute("select agent_memory.settle('x', '', '')")
        raw.execute("select agent_memory.enter('x')")
        assert raw.execute("select rolsuper from pg_roles where rolname = 'sly'").fetchone() == (False,)
        assert raw.execute("select count(*) from pg_temp.tenants").fetchone() == (0,)
