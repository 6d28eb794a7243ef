"""What was forgotten leaves the device, too, as far as a program can say so."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.core.upkeep.jobs import JOBS
from agent_memory.core.upkeep.runner import Runner
from agent_memory.engines.sqlite import scrub, slack
from agent_memory.engines.sqlite.connection import connect
from agent_memory.ports.clock import SystemClock
from agent_memory.ports.feed import JobOutcome
from patience import until

SECRET = "zanzibar-9931-passphrase"


def secret(number: int) -> str:
    return f"{SECRET} number {number}, which nobody should ever see again"


@pytest.fixture
def device() -> Iterator[tuple[Path, Path]]:
    """A file system on a device of its own: where it is mounted, and the bytes of the device."""
    tools = [shutil.which(name) for name in ("mkfs.ext4", "losetup", "mount", "umount")]
    if sys.platform != "linux" or os.geteuid() != 0 or None in tools:
        pytest.skip("only root on Linux can make a device")
    with tempfile.TemporaryDirectory() as name:
        image, folder = Path(name) / "image", Path(name) / "mounted"
        folder.mkdir()
        with image.open("wb") as file:
            file.truncate(32 * 1024 * 1024)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", image], check=True)
        if subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True).returncode:
            pytest.skip("mounting is not allowed here")
        try:
            yield folder, image
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


WRITE = """
import sys
from agent_memory import AgentMemory
with AgentMemory("ada", store=sys.argv[1]) as memory:
    for number in range(int(sys.argv[2]), int(sys.argv[3])):
        memory.records.add(sys.argv[4].format(number), id=f"secret {number}")
"""


def test_nothing_is_left_on_the_device(device: tuple[Path, Path]) -> None:
    """The log is removed by the last process that closes, and cut by a forget: neither leaves what it held."""
    folder, image = device
    store, said = folder / "memory.db", secret(0).replace(" 0,", " {},")
    for first in (0, 8):
        command = [sys.executable, "-c", WRITE, str(store), str(first), str(first + 8), said]
        subprocess.run(command, check=True, env={**os.environ, "AGENT_MEMORY_PROCEDURES": "false"})
    os.sync()
    assert image.read_bytes().count(SECRET.encode()) >= 16
    with AgentMemory("ada", store=store) as memory:
        for number in range(16):
            assert memory.records.forget([f"secret {number}"]).scrubbed
        last = [memory.records.add(secret(number)).id for number in range(16, 24)]  # these are in the log
        assert memory.records.forget(last).scrubbed
        os.sync()
        assert SECRET.encode() not in image.read_bytes()
    os.sync()
    assert SECRET.encode() not in image.read_bytes()


def test_pages_that_a_connection_has_in_memory_bring_nothing_back(memory: AgentMemory, home: Path) -> None:
    """What is swept in the file is still in the memory of connections; they read it anew before they write."""
    store = memory._client.runtime.store.records._connections  # type: ignore[attr-defined]
    chance = random.Random(1)
    with store.writing() as connection:
        connection.execute("create table t (a integer primary key, b text)")
        for place, number in enumerate(chance.sample(range(10**6), 4000)):
            said = SECRET if place % 3 == 0 else "stays"
            connection.execute("insert into t values (?, ?)", (number, said * chance.choice((1, 2, 9))))
    with store.writing() as connection:
        connection.execute("delete from t where b like ?", (f"%{SECRET}%",))
        scrub.owe(connection, 1)
    with store.plain() as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        assert SECRET.encode() in (home / "memory.db").read_bytes()  # between the rows
        connection.execute("select count(*), sum(length(b)) from t").fetchone()  # every page of it
    assert scrub.scrub(store, patience=5.0)
    for number in range(3):
        with store.writing() as connection:
            connection.execute("update t set b = ? || substr(b, 2)", (str(number),))
    with store.plain() as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    assert SECRET.encode() not in (home / "memory.db").read_bytes()


def test_a_forget_writes_less_than_the_store_is_large(memory: AgentMemory, home: Path) -> None:
    if not Path("/proc/self/io").exists():
        pytest.skip("the system does not tell how much was written")

    def written() -> int:
        return int(Path("/proc/self/io").read_text().split("wchar: ")[1].split()[0])

    memory.records.add_many([{"text": f"note {number} " + "x" * 500, "id": f"{number}"} for number in range(4000)])
    memory.records.forget(["0"])
    before = written()
    assert memory.records.forget(["1"]).scrubbed
    assert written() - before < (home / "memory.db").stat().st_size / 2


def test_a_debt_is_shown_until_it_is_paid(
    memory: AgentMemory, home: Path, monkeypatch: pytest.MonkeyPatch, settle: Callable[[], None]
) -> None:
    monkeypatch.setattr(scrub, "PATIENCE_SECONDS", 0.1)
    ids = [memory.records.add(secret(number)).id for number in range(2)]
    assert memory.upkeep.stats()["scrub_owed_since"] is None
    reader = sqlite3.connect(home / "memory.db", isolation_level=None)
    reader.execute("begin")
    reader.execute("select count(*) from versions").fetchone()
    assert not memory.records.forget(ids[:1]).scrubbed
    owed = memory.upkeep.stats()["scrub_owed_since"]
    assert owed is not None
    memory.records.forget(ids[1:])
    assert memory.upkeep.stats()["scrub_owed_since"] == owed  # the first that is not paid
    reader.close()
    memory.records.add("a later write")
    assert memory.upkeep.stats()["scrub_owed_since"] is None


@pytest.fixture
def owing(memory: AgentMemory, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """A store that owes a scrub, and who reads it and is the reason."""
    monkeypatch.setattr(scrub, "PATIENCE_SECONDS", 0.1)
    gone = memory.records.add(secret(1)).id
    reader = sqlite3.connect(home / "memory.db", isolation_level=None)
    reader.execute("begin")
    reader.execute("select count(*) from versions").fetchone()
    assert not memory.records.forget([gone]).scrubbed
    yield reader
    reader.close()


def left(home: Path) -> bool:
    return any(SECRET.encode() in path.read_bytes() for path in home.glob("memory.db*"))


def test_jobs_pay_a_debt(memory: AgentMemory, owing: sqlite3.Connection, home: Path) -> None:
    assert memory.upkeep.run_jobs()["scrub"] == {"owed": 1} and left(home)
    owing.close()
    assert memory.upkeep.run_jobs()["scrub"] == {"owed": 0} and not left(home)
    assert memory.upkeep.stats()["scrub_owed_since"] is None


def test_a_server_that_nobody_writes_to_pays_a_debt(
    memory: AgentMemory, owing: sqlite3.Connection, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tried: list[JobOutcome] = []
    quick = [one._replace(seconds=0.01) for one in JOBS if one.name == "scrub"]
    worker = Runner(memory._client.runtime.keeping(SystemClock()), quick, lambda name, run: tried.append(run))
    caplog.clear()
    worker.start()
    until(lambda: len(tried) > 3)
    assert left(home)
    owing.close()
    until(lambda: memory.upkeep.stats()["scrub_owed_since"] is None)
    assert worker.stop() and not left(home) and not caplog.records
    assert {run.error for run in tried} == {None}


@pytest.mark.parametrize("call", ["write", "read", "fsync"])
def test_a_disk_that_fails_meanwhile_is_no_damage(
    call: str, memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records are gone, and what is left between the others stays a debt."""

    def fails(*given: Any) -> Any:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(scrub, "PATIENCE_SECONDS", 0.1)
    ids = [memory.records.add(secret(number)).id for number in range(30)]
    with monkeypatch.context() as patched:
        patched.setattr(slack.os, call, fails)
        gone = memory.records.forget(ids)
    assert gone.ids == ids and not gone.scrubbed
    assert memory.upkeep.verify().ok and memory.upkeep.stats()["scrub_owed_since"] is not None
    memory.records.add("a later write")
    assert memory.upkeep.stats()["scrub_owed_since"] is None


@pytest.mark.parametrize("times", [1, 2])
def test_a_disk_that_fails_between_the_file_and_the_log_is_no_damage(
    times: int, memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The debt is still a number, as often as it is tried."""

    def fails(*given: Any) -> Any:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(scrub, "PATIENCE_SECONDS", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(scrub.log, "overwrite", fails)
        for number in range(times):
            assert not memory.records.forget([memory.records.add(secret(number)).id]).scrubbed
    verified = memory.upkeep.verify()
    assert verified.ok, verified.problems
    owed = memory.upkeep.stats()["scrub_owed_since"]
    assert owed is not None
    memory.records.add("a later write")
    assert memory.upkeep.stats()["scrub_owed_since"] is None


SCRUBBING = """
import hashlib, random, sys, time
from pathlib import Path
from agent_memory.engines.sqlite import scrub
from agent_memory.engines.sqlite.connection import Connections

chance, connections = random.Random(sys.argv[2]), Connections(Path(sys.argv[1]))
while True:
    turn = chance.random()
    if turn < 0.7:
        with connections.writing(durable=False) as connection:
            for _ in range(chance.randrange(1, 30)):
                text = str(chance.random()) * chance.choice((1, 5, 50, 600))
                row = (chance.randrange(20000), text, hashlib.md5(text.encode()).hexdigest())
                connection.execute("insert or replace into t values (?, ?, ?)", row)
            first = chance.randrange(20000)
            connection.execute("delete from t where a between ? and ?", (first, first + 20))
            scrub.owe(connection, 1)
    elif turn < 0.85:
        with connections.reading() as connection:
            for _, text, digest in connection.execute("select * from t order by random() limit 50"):
                assert hashlib.md5(text.encode()).hexdigest() == digest
    elif scrub.scrub(connections, patience=chance.choice((0, 0.5))):
        print("scrubbed", flush=True)
    if chance.random() < 0.02:
        connections._empty()
"""


@pytest.mark.soak
def test_writers_readers_and_scrubbers_that_are_killed_leave_a_valid_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.touch()
    with connect(path) as connection:
        connection.execute("create table t (a integer primary key, b text, c text)")
        connection.execute("create index t_c on t (c, b)")
        connection.execute("create table meta (name text primary key, value text not null) without rowid")
    connection.close()
    for round in range(10):
        command = [sys.executable, "-c", SCRUBBING, str(path)]
        running = [
            subprocess.Popen([*command, f"{round}.{one}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for one in range(4)
        ]
        for process in running:  # killed somewhere in the middle, each after a scrub of its own
            assert process.stdout is not None and process.stdout.readline() == "scrubbed\n", process.communicate()
            process.kill()
            process.communicate()
        connection = sqlite3.connect(path)
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        for _, text, digest in connection.execute("select * from t"):
            assert hashlib.md5(text.encode()).hexdigest() == digest
        connection.close()
