"""A tenant that is erased whole: nothing of it is on the disk or elsewhere, the store proves itself, and whoever writes
in its name begins anew. L10, P20."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.outside import Outside

from agent_memory import AgentMemory, Turn
from agent_memory.models.errors import Denied, NotFound, Unauthenticated
from agent_memory.ports.progress import watched
from agent_memory.ports.spending import Account, Hold, SpendingLimit
from patience import until

CLI = [sys.executable, "-m", "agent_memory.interfaces.cli"]
CANARY = "xylocarp"  # in every word that the tenant says
TENANT = f"tenant-{CANARY}"


def opened(tenant: str = TENANT, **more: Any) -> AgentMemory:
    return AgentMemory(user_id=f"user-{CANARY}", conversation_id=f"talk-{CANARY}", tenant=tenant, **more)


def fill(memory: AgentMemory) -> None:
    """Something of everything, and the canary in each of them."""
    memory.store_turn(Turn(role="user", content=f"the {CANARY} sings", conversation_id=f"talk-{CANARY}", index=0))
    first = memory.records.add(f"{CANARY} one", id=f"{CANARY}-1", repository=f"repo-{CANARY}", reason=f"why {CANARY}")
    second = memory.records.add(f"{CANARY} two", id=f"{CANARY}-2", idempotency_key=f"once {CANARY}")
    memory.records.edit(first.id, text=f"{CANARY} one again")
    from agent_memory.models.record import Link

    memory.records.link(Link(source_id=first.id, target_id=second.id, type=f"IS_{CANARY}", properties={"a": CANARY}))
    memory.records.forget([memory.records.add(f"forgotten {CANARY}", id=f"{CANARY}-3").id])
    memory.working.set(f"key {CANARY}", CANARY)
    memory.working.push_thought(f"thought {CANARY}")
    memory.vectors.upsert(f"space {CANARY}", f"vector {CANARY}", [1.0, 0.0], {"a": CANARY})
    memory.vectors.query(f"space {CANARY}", [1.0, 0.0])
    memory.vectors.of(f"vector {CANARY}")  # which waits until the score is written
    memory.keys.create(f"label {CANARY}")
    memory.recall(f"what about {CANARY}?", why=CANARY)
    runtime = memory._client.runtime
    runtime.receipts.flush()
    runtime.reads.flush()
    lease = runtime.store.feed.lease("job", "me", 60.0)
    assert lease is not None
    from agent_memory.ports.access import Refusal
    from agent_memory.ports.feed import Cursor, JobOutcome, Work

    last = runtime.store.feed.lines(Cursor(memory._client.scope.tenant), limit=2)[-1].cursor
    runtime.store.feed.advance(Work(lease, Cursor(memory._client.scope.tenant), last))
    runtime.store.feed.release(lease, JobOutcome(0.1, error=f"the lines of {memory._client.scope.tenant!r} are odd"))
    spend(memory)
    runtime.store.access.refuse([Refusal(1, memory._client.scope.tenant, CANARY, "recall", CANARY, None)])


def spend(memory: AgentMemory) -> None:
    kept, tenant = memory._client.runtime.store.spending, memory._client.scope.tenant
    assert kept is not None
    kept.limit(SpendingLimit("user", tenant, CANARY, calls=1))
    kept.limit(SpendingLimit("tenant", "", tenant, calls=1))
    kept.reserve(Account("2026-03-02", tenant, CANARY, CANARY, CANARY, "models.ask", "chat", "small"), Hold(1), [])


def raw(folder: Path) -> bytes:
    return b"".join(one.read_bytes() for one in sorted(folder.glob("memory.db*")))


def query(home: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(home / "memory.db")) as connection, connection:
        return connection.execute(sql).fetchall()


@pytest.mark.requirement("L10")
def test_not_a_byte_of_it_is_left(home: Path) -> None:
    with opened() as ours, AgentMemory(user_id="ada", tenant="other") as theirs:
        theirs.records.add("stays")
        before = theirs.upkeep.verify().heads["other"]
        fill(ours)
        tables = [name for (name,) in query(home, "select name from sqlite_schema where type = 'table'")]
        filled = {name: len(query(home, f'select * from "{name}"')) for name in tables}
        assert raw(home).count(CANARY.encode()) > 30
        assert theirs.tenants.erase(TENANT, dry_run=True).records == 4 and CANARY.encode() in raw(home)
        gone = theirs.tenants.erase(TENANT, reason="they left")
        assert gone.scrubbed and not gone.dry_run and (gone.records, gone.users, gone.keys) == (4, 1, 1)
        assert CANARY.encode() not in raw(home), "neither in the file nor in its log"
        assert [one.name for one in theirs.tenants.list()] == ["other"]
        proof = theirs.upkeep.verify()
        assert proof.ok, proof.problems
        assert proof.heads["other"] == before and TENANT not in proof.heads
    assert CANARY.encode() not in raw(home)
    shared = {"meta", "leases", "places", "spaces", "spending", "vocabularies", "sqlite_sequence", "pending"}
    assert {name for name, rows in filled.items() if not rows} <= {"debts", "missed", *shared}, (
        "the story fills every table"
    )
    left = {name for name in filled if query(home, f'select * from "{name}"')}
    others = {"scopes", "names", "actors", "contents", "versions", "journal", "words", "fields", "vectors", "tenants"}
    assert left <= others | shared


@pytest.mark.requirement("L10")
def test_a_line_stays_in_the_stores_journal_and_its_number_is_not_used_again(home: Path) -> None:
    with opened("acme") as ours, AgentMemory(user_id="olga", tenant="ops") as operator:
        ours.records.add("one")
        operator.records.add("mine")
        head = ours.upkeep.verify().head
        operator.tenants.erase("acme", reason="contract ended")
        assert ours.records.add("again").seq == 1, "the same client goes on, as a new tenant"
        assert operator.upkeep.verify().ok
    lines = query(home, "select operation, record, other, hex(digest), reason from journal where tenant = 0")
    assert [line[:3] for line in lines if line[0] in (9, 10)] == [(9, 1, None), (9, 2, None), (10, 1, 1), (9, 3, None)]
    assert (10, 1, 1, head.upper(), "contract ended") in lines, "which journal went, for whoever noted its head"
    assert query(home, "select tenant from tenants where name = 'acme'") == [(3,)]


@pytest.mark.requirement("L10")
@pytest.mark.parametrize(
    ("change", "said"),
    (
        ("insert into tenants (tenant, name, base, salt, genesis) values (1, 'acme', 0, x'00', x'00')", "there again"),
        ("delete from journal where tenant = 0 and operation = 10", "does not follow"),
        ("delete from journal where line >= (select line from journal where operation = 10)", "is gone"),
        ("update journal set other = other + 1 where operation = 10", "does not follow"),
        ("delete from journal where line = (select max(line) from journal where tenant = 2)", "rows of the file"),
        ("update journal set tenant = 1 where tenant = 2", "of no tenant"),
    ),
)
def test_tampering_is_told(home: Path, change: str, said: str) -> None:
    with opened("acme") as ours, AgentMemory(user_id="olga", tenant="ops") as operator:
        ours.records.add("one")
        operator.records.add("mine")
        operator.records.add("more")
        operator.tenants.erase("acme")
        operator.keys.create("the line after it")
        assert operator.upkeep.verify().ok
    query(home, change)
    with AgentMemory(user_id="olga", tenant="ops") as operator:
        proof = operator.upkeep.verify()
        assert not proof.ok and any(said in problem for problem in proof.problems), proof.problems


@pytest.mark.requirement("L10")
def test_a_key_that_went_with_its_tenant_does_not_come_back(home: Path) -> None:
    with opened("acme") as ours, AgentMemory(user_id="olga", tenant="ops") as operator:
        ours.keys.create("laptop")
        rows = query(home, "select * from keys")
        operator.tenants.erase("acme")
        assert operator.upkeep.verify().ok
        with closing(sqlite3.connect(home / "memory.db")) as connection, connection:
            connection.execute(f"insert into keys values ({','.join('?' * len(rows[0]))})", rows[0])
        assert any("keys:" in problem for problem in operator.upkeep.verify().problems)


WRITER = """
import sys
from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada", tenant="acme", store=sys.argv[1])
print(memory.records.add("before").seq, flush=True)
for line in sys.stdin:
    print(memory.records.add(line.strip()).seq, [hit.text for hit in memory.recall("before after")], flush=True)
"""


@pytest.mark.requirement("L10")
def test_a_process_that_waited_for_the_lock_begins_a_new_tenant(home: Path, tmp_path: Path) -> None:
    """It has the old numbers in memory, and shelves that are full."""
    store = tmp_path / "memory.db"
    with AgentMemory(user_id="olga", tenant="ops", store=store) as operator:
        command = [sys.executable, "-c", WRITER, str(store)]
        pipe = subprocess.PIPE
        writer = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "1\n"

        def ask(text: str) -> None:
            assert writer.stdin is not None
            writer.stdin.write(f"{text}\n")
            writer.stdin.flush()

        ask("between")
        assert writer.stdout.readline().startswith("2 ")
        asked: list[str] = []

        def meanwhile(what: str, done: int, of: int) -> None:
            """The operator has the lock, and most is still there."""
            if what == "tables" and not asked:
                asked.append("after")
                ask("after")
                until(lambda: _waits(writer.pid))

        with watched(meanwhile):
            operator.tenants.erase("acme")
        assert asked and writer.stdout.readline() == "1 ['after']\n"
        writer.communicate()
        assert writer.returncode == 0
        proof = operator.upkeep.verify()
        assert proof.ok, proof.problems
    with closing(sqlite3.connect(store)) as connection:
        numbers = connection.execute("select record from journal where tenant = 0 and operation in (9, 10)").fetchall()
        assert numbers == [(1,), (1,), (2,)]


def _waits(process: int) -> bool:
    """Whether it sleeps, as one does who waits for SQLite's lock."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.mark.requirement("L10", "P23")
def test_an_admin_rules_its_own_tenant_only_and_a_server_stays_shut(home: Path, serving: Any) -> None:
    with AgentMemory(user_id="ada", tenant="acme") as ours, serving() as url:
        ours.records.add("one")
        admin = ours.keys.create("admin", permissions=["read", "write", "admin"]).secret
        operator = ours.keys.create("operator", permissions=["read", "operator"]).secret
        with AgentMemory(user_id="ada", tenant="acme", store=url, api_key=admin) as away:
            for call in (lambda: away.tenants.erase("acme"), away.tenants.list):
                with pytest.raises(Denied):
                    call()
        away = AgentMemory(user_id="ada", tenant="acme", store=url, api_key=operator)
        with pytest.raises(NotFound):
            away.tenants.erase("nobody")
        assert [one.name for one in away.tenants.list()] == ["acme"]
        assert away.tenants.erase("acme", dry_run=True).records == 1
        assert away.tenants.erase("acme").records == 1
        with pytest.raises(Unauthenticated):
            away.tenants.list()
        away.close(clear=False)
        assert ours.keys.list() == []
    with serving() as url, pytest.raises(Unauthenticated):  # there were keys once: nobody comes in without one
        AgentMemory(user_id="eve", store=url).records.find()


@pytest.fixture
def outside(tmp_path: Path, home: Path) -> Iterator[Outside]:
    server = Outside(tmp_path)
    server.start()
    yield server
    server.kill()


def cli(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CLI, *arguments], env=environment, capture_output=True, text=True)


@pytest.mark.requirement("P20")
def test_a_place_outside_that_is_away_owes_the_whole_tenant(outside: Outside, home: Path) -> None:
    desk = (
        "from agent_memory import AgentMemory\nmemory = AgentMemory(user_id='ada', conversation_id='c', tenant={!r})\n"
    )
    desk += "memory.working.set('k', 'v'); memory.vectors.upsert('n', 'x', [1.0, 0.0]); memory.records.add('one')\n"
    desk += "import os; os._exit(0)"
    for tenant in (TENANT, "other"):
        subprocess.run([sys.executable, "-c", desk.format(tenant)], env=outside.environment, check=True)
    assert CANARY in json.dumps(outside.kept())
    outside.kill()
    said = json.loads(cli(outside.environment, "tenants", "erase", TENANT, "--yes", "--json").stdout)
    assert (said["name"], said["records"], said["scrubbed"]) == (TENANT, 1, False)
    debts = json.loads(cli(outside.environment, "stats", "--json").stdout)["debts"]
    assert [(one["records"], one["tenants"]) for one in debts] == [(0, 1), (0, 1)]
    assert "has to forget 1 whole tenant since" in cli(outside.environment, "doctor").stdout
    assert json.loads(cli(outside.environment, "verify", "--json").stdout)["ok"]
    outside.start()
    assert cli(outside.environment, "upkeep", "run-jobs").returncode == 0
    assert CANARY not in json.dumps(outside.kept()) and "other" in json.dumps(outside.kept())
    assert json.loads(cli(outside.environment, "stats", "--json").stdout)["debts"] == []
    assert CANARY.encode() not in raw(home), "and with it the name is gone"


def test_a_working_set_in_another_file_forgets_the_names_as_well(home: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "AGENT_MEMORY_WORKING": str(tmp_path / "desk.db")}
    code = f"from agent_memory import AgentMemory\nmemory = AgentMemory(user_id='{CANARY}', conversation_id='c', "
    code += (
        f"tenant={TENANT!r})\nmemory.working.set('k', '{CANARY}'); memory.records.add('one')\nimport os; os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    files = [*tmp_path.glob("desk.db*")]
    assert any(CANARY.encode() in one.read_bytes() for one in files)
    ran = cli(environment, "tenants", "erase", TENANT, "--yes")
    assert ran.returncode == 0 and "not off every disk" not in ran.stdout, ran.stdout + ran.stderr
    for one in tmp_path.glob("desk.db*"):
        assert CANARY.encode() not in one.read_bytes()


def test_the_command_line_asks_first(home: Path) -> None:
    with opened("acme") as ours:
        ours.records.add("one")
    shown = cli({**os.environ}, "tenants", "erase", "acme", "--dry-run")
    assert "would be erased: tenant acme: 1 record" in shown.stdout and shown.returncode == 0
    refused = cli({**os.environ}, "tenants", "erase", "acme")
    assert refused.returncode != 0 and "--yes" in refused.stderr
    unknown = cli({**os.environ}, "tenants", "erase", "acmee", "--yes")
    assert unknown.returncode != 0 and "tenants list" in unknown.stderr
    assert "acme" in cli({**os.environ}, "tenants", "list").stdout
    assert cli({**os.environ}, "tenants", "erase", "acme", "--yes").stdout.startswith("erased: tenant acme: 1 record")
