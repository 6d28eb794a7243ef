"""A store moves to another one, whole: every row, every chain, every answer; also after a kill. L10."""

from __future__ import annotations

import json
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.parts.cargo import FAR, begun, killed_at, laden, path, verified
from tests.parts.postgres import server
from tests.stories.test_chains import Hashed
from tests.stories.test_chains import Store as Old

from agent_memory import AgentMemory
from agent_memory.app import comparing, registry
from agent_memory.app.comparing import _alike
from agent_memory.app.migrating import Migrated, abandon, migrate
from agent_memory.ledger.shipment import SECTIONS, Tally, items
from agent_memory.models.errors import (
    AgentMemoryError,
    Conflict,
    Corrupt,
    InvalidInput,
    NotFound,
    PartMissing,
    StoreError,
)
from agent_memory.models.record import Scope
from agent_memory.ports.working import Desk
from agent_memory.testing.builders import NOW

pytestmark = [pytest.mark.requirement("L10"), pytest.mark.local, pytest.mark.file]
CLI = [sys.executable, "-m", "agent_memory.interfaces.cli"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One for all: nobody writes to it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AGENT_MEMORY_HOME", str(tmp_path_factory.mktemp("home")))
        yield laden(f"sqlite:///{tmp_path_factory.mktemp('full') / 'full.db'}")


@pytest.fixture
def target(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'target.db'}"


def told(url: str, tenant: str | None = None) -> dict[str, list[Any]]:
    """How many rows of each section, and what they are."""
    store, tally = registry.open_store(registry.locate(url)), Tally()
    assert store.shipping is not None
    with store.shipping.showing(tenant) as show:
        for item in items(show, tenant):
            tally.add(item)
    store.close()
    return tally.told()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CLI, "migrate", *arguments], capture_output=True, text=True, check=False)


def same(source: str, target: str, done: Migrated) -> None:
    assert told(source) == told(target)
    assert verified(target) == verified(source) == done.heads
    assert done.compared > 50


def test_everything_arrives(source: str, target: str) -> None:
    done = migrate(source, target)
    same(source, target, done)
    empty = {name for name, rows in done.rows.items() if not rows}
    assert empty <= {"common", "meta"}, "the story fills every section"


def test_life_goes_on_there(source: str, target: str) -> None:
    migrate(source, target)
    with AgentMemory("ada", store=target, tenant="acme") as memory:
        new = memory.records.add("after the move")
        memory.records.edit(new.id, text="after the move, again")
        assert memory.recall("after the move").hits
        memory.records.forget([new.id])
        memory.upkeep.catch_up()
        assert memory.tenants.erase("rival").records
    with AgentMemory("eve", store=target, tenant="rival") as memory:
        memory.records.add("begun anew")
    assert {"acme", "rival", ""} <= verified(target).keys()


def test_a_stream_in_a_file(source: str, target: str, tmp_path: Path) -> None:
    file = tmp_path / "stream.jsonl"
    written = migrate(source, str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert lines[0] == {"agent-memory": "migrate", "format": 1, "tenant": None}
    assert [line["in"] for line in lines[1:-1]] == [name for name, rows in written.rows.items() for _ in range(rows)]
    assert {name: rows for name, (rows, _) in lines[-1]["end"].items()} == written.rows
    taken = migrate(str(file), target)
    assert (taken.rows, taken.heads) == (written.rows, written.heads)
    assert told(source) == told(target)


@pytest.mark.parametrize("change", ["cut", "line", "word", "twice", "after", "format"])
def test_a_stream_that_is_not_whole_is_refused(source: str, target: str, tmp_path: Path, change: str) -> None:
    file = tmp_path / "stream.jsonl"
    migrate(source, str(file))
    lines = file.read_bytes().splitlines(keepends=True)
    changed = {
        "cut": lines[:-3],
        "line": [*lines[:-3], b"[1, 2\n", *lines[-2:]],
        "word": [line.replace(b"one of many", b"one of more") for line in lines],
        "twice": [*lines[:-1], lines[-2], lines[-1]],
        "after": [*lines, lines[-2]],
        "format": [b'{"agent-memory":"migrate","format":99,"tenant":null}\n', *lines[1:]],
    }
    file.write_bytes(b"".join(changed[change]))
    with pytest.raises(InvalidInput, match="not a whole stream"):
        migrate(str(file), target)
    assert not path(target).exists()


def test_one_tenant_alone(source: str, target: str) -> None:
    done = migrate(source, target, tenant="rival")
    assert done.heads["rival"] == verified(source)["rival"]
    assert verified(target).keys() == {"", "rival"}
    assert told(source, "rival") == told(target)
    with AgentMemory("ada", store=target, tenant="rival") as memory:
        assert [one.name for one in memory.tenants.list()] == ["rival"]
        assert len(memory.keys.list()) == 1
    assert b"acme" not in path(target).read_bytes(), "nothing of the others"
    with pytest.raises(NotFound):
        migrate(source, f"{target}.2", tenant="nobody")
    assert not path(f"{target}.2").exists()


@pytest.mark.parametrize("section", ["tenants", "versions", "receipts", "refusals"])
def test_killed_it_goes_on_where_it_was(source: str, target: str, section: str) -> None:
    killed_at(source, target, section)
    with pytest.raises(StoreError, match="being filled") as error:
        AgentMemory("ada", store=target)
    assert "migrate FROM TO" in str(error.value.hint) and "--abandon TO" in str(error.value.hint)
    done = migrate(source, target)
    assert done.resumed > 0
    same(source, target, done)


def test_somebody_who_has_it_open_cannot_write_meanwhile(source: str, target: str) -> None:
    with AgentMemory("ada", store=target) as memory:
        killed_at(source, target, "versions")
        with pytest.raises(StoreError, match="being filled"):
            memory.records.add("in between")
    same(source, target, migrate(source, target))


def test_what_was_begun_with_another_source_is_not_gone_on_with(source: str, target: str, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    with AgentMemory("ada", store=other) as memory:
        memory.records.add("another store")
    killed_at(source, target, "versions")
    for wrong in ({"source": other}, {"source": source, "tenant": "rival"}):
        with pytest.raises(Conflict, match="part of something else") as error:
            migrate(**wrong, target=target)  # type: ignore[arg-type]
        assert "--abandon" in str(error.value.hint)
    abandon(target)
    with pytest.raises(Conflict, match="no `migrate` is filling"):
        abandon(target)
    migrate(other, target)
    assert told(other) == told(target)


def test_a_source_that_moves_is_noticed(source: str, target: str, tmp_path: Path) -> None:
    moving = f"sqlite:///{tmp_path / 'moving.db'}"
    migrate(source, moving)

    def write(section: str, rows: int) -> None:
        if section == "links":
            with AgentMemory("ada", store=moving, tenant="acme") as memory:
                memory.records.add("meanwhile")

    with pytest.raises(Conflict, match="written to meanwhile, in the journal of 'acme'"):
        migrate(moving, target, told=write)
    with pytest.raises(Conflict, match="part of something else"):
        migrate(moving, target)
    abandon(target)
    same(moving, target, migrate(moving, target))


def values(memory: AgentMemory) -> None:
    desk = Desk(Scope(tenant="acme", user="ada"), "another talk")
    memory._client.runtime.store.working.set(desk, "where", '"here"', expires_at=FAR, now=NOW)


def receipts(memory: AgentMemory) -> None:
    memory.recall("one of many")


def namespaces(memory: AgentMemory) -> None:
    memory.vectors.upsert("mine", "v", [0.5, 0.5])


@pytest.mark.parametrize(
    ("change", "section"), [(values, "values"), (receipts, "receipts"), (namespaces, "namespaces")]
)
def test_what_no_journal_tells_of_is_noticed_too(
    source: str, target: str, tmp_path: Path, change: Callable[[AgentMemory], object], section: str
) -> None:
    moving = f"sqlite:///{tmp_path / 'moving.db'}"
    migrate(source, moving)

    def write(done: str, rows: int) -> None:
        if done == "links":
            with AgentMemory("ada", store=moving, tenant="acme") as memory:
                change(memory)

    with pytest.raises(Conflict, match=rf"written to meanwhile, in what no journal tells of: .*\b{section} \(rows: "):
        migrate(moving, target, told=write)
    abandon(target)
    same(moving, target, migrate(moving, target))


def test_abandoned_while_it_is_proved_it_is_no_success(
    source: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = comparing.compare

    def abandoned(*ends: Any) -> Any:
        answer = compare(*ends)
        abandon(target)
        return answer

    monkeypatch.setattr(comparing, "compare", abandoned)
    with pytest.raises(Conflict, match="not being filled any more"):
        migrate(source, target)


def test_a_damaged_source_is_named(source: str, target: str, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    migrate(source, str(damaged))
    with closing(sqlite3.connect(damaged)) as connection, connection:
        connection.execute("update contents set payload = '{}' where content = (select min(content) from contents)")
    with pytest.raises(Corrupt, match="is not what was written"):
        migrate(str(damaged), target)
    assert not path(target).exists()


def test_bad_input(source: str, target: str, tmp_path: Path) -> None:
    used = tmp_path / "used.db"
    with AgentMemory("ada", store=used) as memory:
        memory.records.add("there already")
    before = used.read_bytes()
    (used_stream := tmp_path / "used.jsonl").write_text("precious")
    wrong: list[tuple[str, str, type[AgentMemoryError], str]] = [
        (source, source, InvalidInput, "the source itself"),
        (source, str(path(source)), InvalidInput, "the source itself"),
        (str(tmp_path / "none.db"), target, StoreError, "there is no store"),
        (str(tmp_path / "none.jsonl"), target, InvalidInput, "there is no file"),
        (str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"), InvalidInput, "both are streams"),
        (source, str(used), Conflict, "something in the target already"),
        (source, "mystery://somewhere", PartMissing, "no engine for mystery://"),
        ("mystery://somewhere", target, PartMissing, "no engine for mystery://"),
        (source, "memory://", PartMissing, "cannot be migrated"),
        (source, "http://localhost:1", InvalidInput, "is a server"),
        (source, str(tmp_path), StoreError, "directory"),
        (source, "db.example.org/memory", InvalidInput, "there is no folder"),
        (source, "postgresql:/db.example.org/memory", InvalidInput, "neither a URL nor a path"),
        ("postgresql//db.example.org/memory", target, InvalidInput, "neither a URL nor a path"),
        (source, str(used_stream), InvalidInput, "is there already"),
        (source, str(tmp_path / "no" / "folder.jsonl"), InvalidInput, "cannot be written"),
    ]
    for here, there, kind, words in wrong:
        with pytest.raises(kind, match=words):
            migrate(here, there)
    assert used.read_bytes() == before and not path(target).exists()
    assert used_stream.read_text() == "precious"


def test_the_last_digits_of_scores_and_the_order_of_equals_are_no_difference() -> None:
    """Engines add up in another order."""
    here = {"a": (0.9, 0.8), "b": (0.5, 0.4), "c": (0.5, 0.4)}
    assert _alike(here, {"a": (0.9, 0.8), "c": (0.5 + 1e-7, 0.4), "b": (0.5, 0.4)})
    assert _alike(here, {"a": (0.9, 0.8), "b": (0.5, 0.4), "d": (0.5, 0.4)})
    assert _alike({"a": (0.123718, 0.1343)}, {"a": (0.123717, 0.1344)}), "as it is rounded, one step apart"
    assert not _alike({"a": (0.123718, 0.1343)}, {"a": (0.123716, 0.1343)})
    assert not _alike({"a": (0.123718, 0.1343)}, {"a": (0.123718, 0.1341)})
    assert not _alike(here, {"a": (0.9, 0.8), "b": (0.5, 0.4)})
    assert not _alike(here, {"d": (0.9, 0.8), "b": (0.5, 0.4), "c": (0.5, 0.4)})
    assert not _alike(here, {"a": (0.9, 0.7), "b": (0.5, 0.4), "c": (0.5, 0.4)})


def test_the_command(source: str, target: str) -> None:
    done = run(source, target)
    assert done.returncode == 0, done.stderr
    *sections, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["section"] for one in sections] == list(SECTIONS)
    assert last["done"]["target"] == target and last["done"]["heads"] == verified(target)
    again = run(source, target)
    assert again.returncode == 4 and "something in the target already" in again.stderr
    assert run(source).returncode == 2 and run("--abandon", target).returncode == 4
    process = begun(source, f"{target}.2", "--tenant", "rival")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert json.loads(out.splitlines()[-1])["done"]["tenant"] == "rival"


def test_a_password_is_never_shown(source: str) -> None:
    secret = "postgresql://somebody:hush@127.0.0.1:1/nothing"
    for ends in ((source, secret), (secret, "new.db")):
        done = run(*ends)
        assert done.returncode == 6 and "hush" not in done.stdout + done.stderr


def test_a_store_of_the_first_version(target: str, tmp_path: Path) -> None:
    old = Old(tmp_path / "old.db")
    with pytest.raises(StoreError, match="older version") as error:
        migrate(str(old.path), target)
    assert f"agent-memory upgrade --store sqlite:///{old.path}" in str(error.value.hint)
    old.opened().close()
    migrate(str(old.path), target)
    assert told(str(old.path)) == told(target)
    assert verified(target, embedder=Hashed()) == verified(str(old.path), embedder=Hashed())
    _still_proved(target, old)
    alone = f"{target}.2"
    migrate(target, alone, tenant="rival")
    assert verified(alone, embedder=Hashed())["rival"] == verified(target, embedder=Hashed())["rival"]


def _still_proved(url: str, old: Old) -> None:
    """A mark of the one journal that all tenants had; then a tenant of it goes, and it moves once more."""
    with AgentMemory("ada", store=url, tenant="acme", embedder=Hashed()) as memory:
        assert memory.upkeep.verify(expect=old.told["head"]).ok
        memory.tenants.erase("solo")
        assert memory.upkeep.verify().ok, memory.upkeep.verify().problems


def test_to_postgresql_and_back(source: str, tmp_path: Path) -> None:
    database, back = server().fresh(), f"sqlite:///{tmp_path / 'back.db'}"
    there = migrate(source, database)
    same(source, database, there)
    same(database, back, migrate(database, back))
    with AgentMemory("ada", store=database, tenant="acme") as memory:
        new = memory.records.add("after the move")
        memory.records.forget([new.id])
        assert memory.tenants.erase("rival").records
        assert memory.upkeep.verify().ok
