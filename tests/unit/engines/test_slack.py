"""What SQLite leaves between rows that it moved goes, and nothing that it reads changes."""

from __future__ import annotations

import os
import random
import sqlite3
from pathlib import Path

import pytest

from agent_memory.engines.sqlite import log, slack
from agent_memory.engines.sqlite.connection import connect
from agent_memory.models.errors import StoreError

GONE = b"gone-for-good"


def shuffled(path: Path, seed: int, rows: int = 4000) -> sqlite3.Connection:
    """A table and an index that were written in random order, and of which a third was deleted."""
    chance = random.Random(seed)
    path.touch()
    connection = connect(path)
    connection.execute("create table t (a integer primary key, b text, c text)")
    connection.execute("create index t_b on t (b)")
    numbers = chance.sample(range(10**6), rows)
    for place, number in enumerate(numbers):
        if place % 500 == 0:
            connection.execute("begin")
        mark = "gone-for-good" if place % 3 == 0 else "stays"
        connection.execute(
            "insert into t values (?, ?, ?)",
            (number, f"{chance.random()} {mark} {number}", mark * chance.choice((1, 9, 900))),
        )
        if place % 500 == 499:
            connection.execute("commit")
    connection.execute("delete from t where b like '%gone-for-good%'")
    connection.execute("pragma wal_checkpoint(truncate)")
    return connection


def roots(connection: sqlite3.Connection) -> list[int]:
    return [1, *(row[0] for row in connection.execute("select rootpage from sqlite_schema where rootpage > 0"))]


def test_what_was_moved_and_deleted_goes_and_nothing_else(tmp_path: Path) -> None:
    left = 0
    for seed in range(5):
        path = tmp_path / f"{seed}.db"
        connection = shuffled(path, seed)
        rows = connection.execute("select * from t order by a").fetchall()
        left += GONE in path.read_bytes()
        connection.execute("begin immediate")
        assert slack.sweep(path, roots(connection)) > 0
        assert slack.sweep(path, roots(connection)) == 0
        connection.execute("rollback")
        connection.close()
        assert GONE not in path.read_bytes()
        connection = connect(path)
        assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert connection.execute("select * from t order by a").fetchall() == rows
        connection.close()
    assert left, "`secure_delete` alone was enough"


@pytest.mark.parametrize("damage", ["type of a page", "child", "size"])
def test_a_file_that_makes_no_sense_is_not_touched(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    connection = shuffled(path, 7)
    root = connection.execute("select rootpage from sqlite_schema where name = 't'").fetchone()[0]
    known = roots(connection)
    connection.close()
    data = bytearray(path.read_bytes())
    start = (root - 1) * 4096
    if damage == "type of a page":
        data[start] = 7
    elif damage == "child":
        data[start + 8 : start + 12] = (10**6).to_bytes(4, "big")
    else:
        data = data[: len(data) // 2]
    path.write_bytes(data)
    with pytest.raises(StoreError):
        slack.sweep(path, known)
    assert path.read_bytes() == data


def test_locks_of_this_process_outlive_a_sweep(tmp_path: Path) -> None:
    """Closing any descriptor of a file would end them all: another process could then take the log away."""
    path = tmp_path / "a.db"
    connection = shuffled(path, 1, rows=500)
    slack.sweep(path, roots(connection))
    connection.execute("insert into t values (-1, 'late', '')")
    if (child := os.fork()) == 0:
        other = sqlite3.connect(path)
        other.execute("select count(*) from t").fetchone()
        other.close()  # the last one, if nobody else holds a lock
        os._exit(0)
    os.waitpid(child, 0)
    assert Path(f"{path}-wal").stat().st_size > 0
    connection.close()


def test_only_what_lies_beyond_the_end_of_the_log_is_overwritten(tmp_path: Path) -> None:
    path, wal = tmp_path / "a.db", tmp_path / "a.db-wal"
    path.touch()
    connection = connect(path)
    connection.execute("create table t (b text)")
    connection.executemany("insert into t values (?)", [("gone-for-good" * 500,)] * 50)
    connection.execute("delete from t")
    assert GONE in wal.read_bytes()
    before = log.header(wal)
    connection.execute("pragma wal_checkpoint(restart)")
    connection.execute("insert into t values ('stays')")  # begins the log again
    assert log.header(wal) != before and GONE in wal.read_bytes()
    pages = connection.execute("pragma wal_checkpoint(passive)").fetchone()[1]
    size = wal.stat().st_size
    log.overwrite(wal, pages, 4096)
    assert GONE not in wal.read_bytes() and wal.stat().st_size == size
    for end in ("", "-wal"):  # as if everybody had crashed now
        (tmp_path / f"b.db{end}").write_bytes((tmp_path / f"a.db{end}").read_bytes())
    crashed = connect(tmp_path / "b.db")
    assert crashed.execute("select * from t").fetchall() == [("stays",)]
    crashed.close()
    connection.close()


@pytest.mark.skipif(os.name != "posix", reason="a file that is open cannot be removed")
def test_a_log_that_is_removed_is_overwritten(tmp_path: Path) -> None:
    path, wal = tmp_path / "a.db", tmp_path / "a.db-wal"
    path.touch()
    connection = connect(path)
    connection.execute("create table t (b text)")
    connection.execute("insert into t values ('gone-for-good')")
    with wal.open("rb") as held:
        with log.overwritten_when_removed(wal):
            connection.close()
        assert not wal.exists()
        left = held.read()
    assert left and not left.strip(b"\0")
