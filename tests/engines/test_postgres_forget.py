"""Forgetting, honestly: what has been reached, what is owed, and where a canary still is at each stage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.parts.postgres import Server, started

from agent_memory import AgentMemory
from agent_memory.app.doctor import examine
from agent_memory.engines.postgres import storage
from agent_memory.models.errors import StoreError

CANARY = "quetzalcoatlus"
GRANTS = """
grant usage on schema agent_memory to {role};
grant select, insert, update, delete on all tables in schema agent_memory to {role};
grant usage on all sequences in schema agent_memory to {role};
grant execute on all functions in schema agent_memory to {role};
""".strip()


@pytest.fixture
def postgres() -> Iterator[Server]:
    with started(18) as own:
        yield own


def files_with(server: Server, folder: str) -> list[Path]:
    """After a checkpoint, so that what is in memory is on the disk, too."""
    server.execute("checkpoint")
    needles = (CANARY.encode(), CANARY.upper().encode())
    files = [one for one in (server.data / folder).rglob("*") if one.is_file()]
    return [one for one in files if any(needle in one.read_bytes() for needle in needles)]


@pytest.mark.requirement("C13")
def test_a_canary_at_each_stage(postgres: Server) -> None:
    uri = postgres.fresh()
    with AgentMemory("ada", "c1", store=uri) as memory:
        kept = memory.records.add("The heron stands in the reeds.")
        gone = memory.records.add(f"The {CANARY} flew over the reeds.")
        memory.set_working_context("last", {"id": gone.id, "text": CANARY})
        memory.recall(f"who saw the {CANARY}?")
        assert files_with(postgres, "base")

        answer = memory.records.forget([gone.id])
        assert answer.scrubbed is False, "the files still have it"
        assert CANARY not in dumped(uri) and files_with(postgres, "base")
        assert memory.upkeep.stats()["scrub_owed_since"] is not None
        (check,) = [one for one in examine(uri) if one.name == "erasures"]
        assert check.state == "warn" and "run-jobs" in check.fix

        memory.upkeep.run_jobs()
        assert files_with(postgres, "base") == [], "the tables were rewritten"
        assert memory.upkeep.stats()["scrub_owed_since"] is None
        assert files_with(postgres, "pg_wal"), "the log is not ours to clean, and the guide says so"
        assert memory.records.get(kept.id).text.startswith("The heron") and memory.upkeep.verify().ok
    (check,) = [one for one in examine(uri) if one.name == "erasures"]
    assert check.state == "ok"


def test_who_may_still_read_it_is_waited_for(postgres: Server, caplog: pytest.LogCaptureFixture) -> None:
    uri = postgres.fresh()
    with AgentMemory("ada", store=uri) as memory:
        gone = memory.records.add(f"The {CANARY} flew over the reeds.")
        with psycopg.connect(uri) as reader:
            reader.execute("set transaction isolation level repeatable read")
            reader.execute("select count(*) from agent_memory.contents")
            memory.records.forget([gone.id])
            memory.upkeep.run_jobs()
            assert f"until the transaction of process {reader.info.backend_pid} (postgres" in caplog.text
            assert memory.upkeep.stats()["scrub_owed_since"] is not None
            assert reader.execute("select count(*) from agent_memory.contents").fetchone() == (1,)
        memory.upkeep.run_jobs()
        assert memory.upkeep.stats()["scrub_owed_since"] is None
    assert files_with(postgres, "base") == []


def test_a_worker_lets_erasures_gather_without_a_word(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with AgentMemory("ada", store=postgres.fresh()) as memory:
        memory.records.forget([memory.records.add(f"The {CANARY} flew over the reeds.").id])
        scrub = lambda: next(job for job in memory.upkeep.jobs() if job.name == "scrub")  # noqa: E731
        assert scrub().lag == 0 and memory.upkeep.stats()["scrub_owed_since"] is not None
        monkeypatch.setattr(storage, "REWRITE_AFTER", 0)
        assert scrub().lag == 1


def test_who_may_not_rewrite_the_tables_still_owes(postgres: Server) -> None:
    uri = postgres.fresh()
    name = uri.rpartition("/")[2]
    with AgentMemory("ada", store=uri) as memory:
        gone = memory.records.add(f"The {CANARY} flew over the reeds.")
    postgres.execute("create role plain login", *GRANTS.format(role="plain").splitlines(), database=name)
    with AgentMemory("ada", store=postgres.uri(name, "plain")) as memory:
        memory.records.forget([gone.id])
        with pytest.raises(StoreError, match="may not rewrite the tables"):
            memory.upkeep.run_jobs()
        assert memory.upkeep.stats()["scrub_owed_since"] is not None
        assert files_with(postgres, "base")
    with AgentMemory("ada", store=uri) as memory:
        memory.upkeep.run_jobs()
        assert memory.upkeep.stats()["scrub_owed_since"] is None
    assert files_with(postgres, "base") == []


def test_a_tenant_that_is_erased_leaves_the_files(postgres: Server) -> None:
    uri = postgres.fresh()
    with AgentMemory(f"user-{CANARY}", store=uri, tenant=f"tenant-{CANARY}") as memory:
        memory.records.add(f"The {CANARY} flew over the reeds.", reason=f"because of the {CANARY}")
        memory.keys.create(label=f"key of the {CANARY}", permissions=["read"])
        memory.records.forget([memory.records.add(f"a second {CANARY}").id])
    with AgentMemory("ada", store=uri) as memory:
        assert files_with(postgres, "base")
        memory.tenants.erase(f"tenant-{CANARY}")
        memory.upkeep.run_jobs()
        assert files_with(postgres, "base") == []
        assert memory.upkeep.verify().ok


def dumped(uri: str) -> str:
    """Every row of every table, as a superuser reads them."""
    with psycopg.connect(uri, autocommit=True) as raw:
        names = [name for (name,) in raw.execute("select tablename from pg_tables where schemaname = 'agent_memory'")]
        return "\n".join(str(row) for name in names for row in raw.execute(f"select * from agent_memory.{name}"))
