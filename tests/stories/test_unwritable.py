"""A read is never refused because something cannot be written: a full disk, a lock that somebody holds, a log that
cannot be made."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.core.govern import book
from agent_memory.engines.sqlite import connection as engine
from agent_memory.models.errors import StoreError, StoreFull
from patience import PATIENCE, until


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Somebody else has the write lock."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")
    try:
        yield
    finally:
        other.execute("rollback")
        other.close()


@pytest.fixture(autouse=True)
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for the write lock here waits for ever, and the test with it."""
    monkeypatch.setattr(engine, "BUSY_SECONDS", 3600.0)
    monkeypatch.setenv("AGENT_MEMORY_PROCEDURES", "false")


def test_a_held_write_lock_stops_no_recall(home: Path) -> None:
    with AgentMemory("ada") as memory:
        memory.records.add_many([{"text": f"the boats of pier {number}"} for number in range(20)])
        with held(home / "memory.db"):
            found = memory.recall("boats")
            assert found.hits and found.pending == 20
            assert memory.remember("boats").facts == []
            assert memory.upkeep.stats()["pending_vectors"] == 20
            with AgentMemory("bob") as other:
                assert other.recall("boats").hits == []
        until(lambda: memory.recall("boats").pending < 20)  # lines that waited may be written first


def test_a_writer_of_this_process_stops_no_recall(memory: AgentMemory) -> None:
    memory.records.add_many([{"text": "the boats"}])
    with memory._client.runtime.store.records._connections.writing():  # type: ignore[attr-defined]
        assert memory.recall("boats").pending == 1


def test_the_first_read_of_an_empty_store_writes_nothing(memory: AgentMemory, home: Path) -> None:
    with held(home / "memory.db"):
        assert memory.recall("boats").hits == []
    assert memory.upkeep.stats()["seq"] == 0


def test_receipts_wait_until_they_can_be_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also more of them than go into one batch: no recall writes them itself."""
    monkeypatch.setattr(book, "FLUSH_LINES", 3)
    monkeypatch.setattr(book, "FLUSH_SECONDS", 0.01)
    with AgentMemory("ada") as memory:
        memory.records.add("the boats")
        with held(home / "memory.db"):
            receipts = [memory.recall("boats").receipt_id for _ in range(10)]
            memory._client.runtime.receipts.flush()
        for receipt in receipts:
            memory.receipts.get(receipt)


def test_a_flush_waits_for_the_one_that_writes_already() -> None:
    """What another thread has taken can be read only once it is written."""
    began, go_on, kept = threading.Event(), threading.Event(), list[str]()

    def keep(lines: Sequence[str]) -> None:
        began.set()
        assert go_on.wait(PATIENCE)
        kept.extend(lines)

    lines = book.Book(keep)
    lines.add("one")
    first = threading.Thread(target=lines.flush)
    first.start()
    assert began.wait(PATIENCE)
    second = threading.Thread(target=lambda: (lines.flush(), kept.append("read")))
    second.start()
    second.join(0.2)
    assert second.is_alive(), "it would look before the line is there"
    go_on.set()
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert kept == ["one", "read"]


def test_what_waits_is_bounded_and_its_loss_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(book, "MOST_LINES", 5)
    with AgentMemory("ada") as memory, caplog.at_level(logging.WARNING):
        memory.records.add("the boats")
        with held(home / "memory.db"):
            receipts = [memory.recall("boats").receipt_id for _ in range(8)]
            memory._client.runtime.receipts.flush()
        assert "3 lines were not kept" in caplog.text
        memory.receipts.get(receipts[-1])
        with pytest.raises(LookupError):
            memory.receipts.get(receipts[0])


FULL = """
import os, sys
os.environ["AGENT_MEMORY_PROCEDURES"] = "false"
from agent_memory import AgentMemory
from agent_memory.models.errors import StoreFull
with AgentMemory("ada", store=sys.argv[1]) as memory:
    found = memory.recall("where do the boats go?")
    assert found[0].text == "the boats go to the harbour" and found.pending == 20, found
    assert len(memory.records.find()) == 21 and memory.upkeep.verify().ok
    try:
        memory.records.add("x" * 10_000)
    except StoreFull:
        pass
    else:
        sys.exit("there was room")
    assert memory.recall("boats").hits
"""


@pytest.fixture
def small_disk() -> Iterator[Path]:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux can mount a small disk")
    with tempfile.TemporaryDirectory() as name:
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", name], capture_output=True)
        if made.returncode:
            pytest.skip("mounting is not allowed here")
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "-l", name], check=True)


def fill(disk: Path) -> None:
    file = os.open(disk / "filling", os.O_CREAT | os.O_WRONLY)
    for size in (4096, 1):
        try:
            while True:
                os.write(file, bytes(size))
        except OSError as error:
            assert error.errno == errno.ENOSPC
    os.close(file)


@pytest.mark.parametrize("log", [False, True], ids=["closed", "in use"])
def test_a_new_process_reads_from_a_full_disk(log: bool, small_disk: Path) -> None:
    store = small_disk / "memory.db"
    writer = AgentMemory("ada", store=store)
    writer.records.add("the boats go to the harbour")
    writer.records.add_many([{"text": f"later note {number}"} for number in range(20)])
    if not log:
        writer.close()
    fill(small_disk)
    ran = subprocess.run([sys.executable, "-c", FULL, str(store)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    if log:
        assert writer.recall("boats").hits
        with pytest.raises(StoreFull):
            writer.records.add("x" * 100_000)
        writer.close()
    (small_disk / "filling").unlink()
    with AgentMemory("ada", store=store) as memory:
        assert memory.upkeep.verify().ok and memory.recall("boats").pending < 20
        memory.records.add("there is room again")


def test_where_the_log_cannot_be_made_it_is_read_without(home: Path) -> None:
    """A directory in the place of the index of the log stands for a disk without room, everywhere."""
    with AgentMemory("ada") as memory:
        memory.records.add("the boats go to the harbour")
    (home / "memory.db-shm").mkdir()
    with AgentMemory("ada") as memory:
        assert memory.recall("boats").hits
        with pytest.raises(StoreError):
            memory.records.add("more")
    (home / "memory.db-shm").rmdir()
    with AgentMemory("ada") as memory:
        memory.records.add("more")


@pytest.mark.parametrize("end", ["-wal", "-shm"])
@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_log_that_is_gone_takes_no_more_writes(end: str, how: str, home: Path) -> None:
    """Whoever comes next begins another log, and the two would overwrite each other."""
    with AgentMemory("ada") as memory:
        memory.records.add("kept", id="kept")
        log = Path(f"{home / 'memory.db'}{end}")
        data = log.read_bytes()
        log.unlink()
        if how == "replaced":
            log.write_bytes(data)
        for call in (lambda: memory.records.add("lost"), lambda: memory.records.get("kept"), memory.upkeep.stats):
            with pytest.raises(StoreError, match=r"log of the store .* removed or replaced") as raised:
                call()
            assert "open it again" in raised.value.hint
        memory.close(clear=False)


def test_what_a_removed_log_held_is_not_lost(home: Path) -> None:
    with AgentMemory("ada") as memory:
        memory.records.add("kept", id="kept")
        for end in ("-wal", "-shm"):
            Path(f"{home / 'memory.db'}{end}").unlink()
        memory.close(clear=False)
    with AgentMemory("ada") as memory:
        assert memory.records.get("kept").text == "kept" and memory.upkeep.verify().ok


def test_many_threads_open_and_close_without_missing_their_log(home: Path) -> None:
    troubles: list[BaseException] = []

    def use() -> None:
        try:
            for number in range(10):
                with AgentMemory("ada") as memory:
                    memory.records.get(memory.records.add(f"note {number}").id)
        except BaseException as error:
            troubles.append(error)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not troubles
