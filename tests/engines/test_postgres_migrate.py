"""A store moves to PostgreSQL and back, also after kills; an old file, too, whose chain the database then proves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.parts.cargo import begun, killed_at, laden, verified
from tests.parts.postgres import Server, server
from tests.stories.test_chains import Hashed
from tests.stories.test_chains import Store as Old
from tests.stories.test_migrate import same, told

from agent_memory import AgentMemory
from agent_memory.app import registry
from agent_memory.app.migrating import abandon, migrate
from agent_memory.models.errors import Conflict, StoreError
from agent_memory.testing.builders import put, write

pytestmark = [pytest.mark.engines, pytest.mark.requirement("L10")]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AGENT_MEMORY_HOME", str(tmp_path_factory.mktemp("home")))
        yield laden(f"sqlite:///{tmp_path_factory.mktemp('full') / 'full.db'}")


@pytest.fixture(params=[16, 18])
def postgres(request: pytest.FixtureRequest) -> Server:
    return server(request.param)


def test_killed_it_goes_on_and_refuses_others_meanwhile(source: str, postgres: Server) -> None:
    target = postgres.fresh()
    early = registry.open_store(target)
    for section in ("scopes", "versions", "refusals"):
        killed_at(source, target, section)
        with pytest.raises(StoreError, match="being filled"):
            AgentMemory("ada", store=target)
        with pytest.raises(StoreError, match="being filled"):
            write(early, put("in between", id="new"))
    early.close()
    done = migrate(source, target)
    assert done.resumed > 0
    same(source, target, done)


def test_between_databases_and_back_to_a_file(source: str, postgres: Server, tmp_path: Path) -> None:
    first, second, back = postgres.fresh(), postgres.fresh(), f"sqlite:///{tmp_path / 'back.db'}"
    migrate(source, first)
    same(first, second, migrate(first, second))
    killed_at(second, back, "versions")
    done = migrate(second, back)
    assert done.resumed > 0
    same(source, back, done)
    alone = postgres.fresh()
    migrate(second, alone, tenant="rival")
    assert verified(alone)["rival"] == verified(source)["rival"]


def test_an_old_file_is_proved_in_the_database(postgres: Server, tmp_path: Path) -> None:
    old = Old(tmp_path / "old.db")
    old.opened().close()
    target, back = postgres.fresh(), f"sqlite:///{tmp_path / 'back.db'}"
    migrate(str(old.path), target)
    assert told(str(old.path)) == told(target)
    with AgentMemory("ada", store=target, tenant="acme", embedder=Hashed()) as memory:
        assert memory.upkeep.verify(expect=old.told["head"]).ok
        memory.records.add("one more")
        memory.tenants.erase("solo")
        found = memory.upkeep.verify()
        assert found.ok, found.problems
    migrate(target, back)
    assert told(target) == told(back)
    assert verified(back, embedder=Hashed()) == found.heads


def test_a_change_of_the_old_chain_is_noticed(tmp_path: Path) -> None:
    old = Old(tmp_path / "old.db")
    old.opened().close()
    target = server().fresh()
    migrate(str(old.path), target)
    with psycopg.connect(target, autocommit=True) as connection:
        connection.execute("update agent_memory.journal set old = digest where seq = 7 and old is not null")
    with AgentMemory("ada", store=target, tenant="acme", embedder=Hashed()) as memory:
        assert any("in the journal that all tenants had" in one for one in memory.upkeep.verify().problems)


def test_what_was_abandoned_is_owed_to_the_files(source: str) -> None:
    """It is out of the tables, and still in their files; also when somebody fills them again."""
    target = server().fresh()
    killed_at(source, target, "versions")
    abandon(target)
    owed = "select tenants from agent_memory.storage"
    with psycopg.connect(target, autocommit=True) as connection:
        assert connection.execute(owed).fetchall() == [(True,)]
        migrate(source, target)
        assert connection.execute(owed).fetchall() == [(True,)]


def test_bad_input(source: str, tmp_path: Path) -> None:
    postgres, new = server(), f"sqlite:///{tmp_path / 'new.db'}"
    empty, used, older = postgres.fresh(), postgres.fresh(), postgres.fresh()
    for uri in (used, older):
        with AgentMemory("ada", store=uri) as memory:
            memory.records.add("there already")
    with psycopg.connect(older, autocommit=True) as connection:
        connection.execute("update agent_memory.meta set value = '1' where name = 'schema'")
    with pytest.raises(StoreError, match="there is no store"):
        migrate(empty, new)
    with pytest.raises(StoreError, match="older version"):
        migrate(older, new)
    for target in (used, older):
        with pytest.raises(Conflict, match="something in the target already"):
            migrate(source, target)
    with pytest.raises(Conflict, match="no `migrate` is filling"):
        abandon(used)
    assert not (tmp_path / "new.db").exists()


def test_no_password_is_told() -> None:
    target = server().fresh().replace("postgres@", "postgres:hush@")
    process = begun("sqlite:////nowhere.db", target)
    assert "hush" not in "".join(process.communicate())
