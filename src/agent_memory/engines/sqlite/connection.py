"""Connections to one SQLite file: shared by threads and processes, safe after a fork, errors in our words."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_memory.models.errors import AgentMemoryError, Corrupt, InvalidInput, StoreError, StoreFull

BUSY_SECONDS = 30.0
OLDEST_SQLITE = (3, 40, 0)

# Foreign errors, mapped once. The first text that occurs in SQLite's message decides.
_MEANING: tuple[tuple[str, type[AgentMemoryError], str, str], ...] = (
    ("disk is full", StoreFull, "the disk is full", "free some space; nothing was written"),
    ("readonly", StoreError, "the store is read-only", "check the permissions of the file and its folder"),
    (
        "unable to open",
        StoreError,
        "the store cannot be opened",
        "check that the folder exists and is writable",
    ),
    (
        "not a database",
        StoreError,
        "the file is no SQLite database",
        "choose another path, or restore a backup",
    ),
    ("file is encrypted", StoreError, "the file is no readable SQLite database", "is it encrypted?"),
    ("malformed", Corrupt, "the database file is damaged", "restore a backup, or run `agent-memory doctor`"),
    ("locked", StoreError, "the store is busy", "another process holds it for long; try again"),
    ("disk i/o", StoreError, "the disk reported an error", "check the disk and its free space"),
    ("string or blob too big", InvalidInput, "a value is too large for SQLite", "store it in smaller parts"),
)


def translated(error: sqlite3.Error, path: str) -> AgentMemoryError:
    """A SQLite error as one of ours."""
    said = str(error).lower()
    for text, kind, message, hint in _MEANING:
        if text in said:
            return kind(f"{message}: {path}", hint=hint)
    return StoreError(f"SQLite could not do it: {error}: {path}", hint="run `agent-memory doctor`")


class Connections:
    """A pool. A connection is used by one thread at a time; one that crossed a fork is never touched again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[sqlite3.Connection] = []
        self._abandoned: list[sqlite3.Connection] = []
        self._pid = os.getpid()
        self._guard = threading.Lock()
        self._writing = threading.Lock()
        self.closed = False

    @property
    def name(self) -> str:
        return str(self.path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot: what other processes commit meanwhile is not seen."""
        connection = self._take()
        try:
            connection.execute("begin")
            yield connection
        except sqlite3.Error as error:
            raise translated(error, self.name) from error
        finally:
            self._give(connection)

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing. `durable`: the disk has it before this returns."""
        with self._writing:
            connection = self._take()
            try:
                if not durable:
                    connection.execute("pragma synchronous = normal")
                connection.execute("begin immediate")
                yield connection
                connection.execute("commit")
            except sqlite3.Error as error:
                raise translated(error, self.name) from error
            finally:
                if connection.in_transaction:
                    connection.rollback()
                if not durable:
                    connection.execute("pragma synchronous = full")
                self._give(connection)

    @contextmanager
    def plain(self) -> Iterator[sqlite3.Connection]:
        """No transaction: for pragmas and checkpoints."""
        connection = self._take()
        try:
            yield connection
        except sqlite3.Error as error:
            raise translated(error, self.name) from error
        finally:
            self._give(connection)

    def close(self) -> None:
        with self._guard:
            self.closed = True
            if self._pid == os.getpid():
                for connection in self._idle:
                    connection.close()
            self._idle = []

    def _take(self) -> sqlite3.Connection:
        with self._guard:
            if self.closed:
                raise StoreError("the store is closed", hint="open a new AgentMemory")
            if self._pid != os.getpid():
                # Closing them here could end locks that the parent relies on; leaving them alone is safe.
                self._abandoned += self._idle
                self._idle, self._pid, self._writing = [], os.getpid(), threading.Lock()
            if self._idle:
                return self._idle.pop()
        return connect(self.path)

    def _give(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            connection.rollback()
        with self._guard:
            if not self.closed and self._pid == os.getpid():
                self._idle.append(connection)
                return
        connection.close()


def connect(path: Path) -> sqlite3.Connection:
    """One connection with our settings. The one place that chooses the driver."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old",
            hint=f"use a Python with SQLite {'.'.join(map(str, OLDEST_SQLITE))} or newer",
        )
    try:
        connection = sqlite3.connect(
            str(path),
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
    except sqlite3.Error as error:
        raise translated(error, str(path)) from error
    try:
        for pragma in (
            "journal_mode = wal",
            "synchronous = full",
            "secure_delete = on",
            "temp_store = memory",
        ):
            connection.execute(f"pragma {pragma}")
    except sqlite3.Error as error:
        connection.close()
        raise translated(error, str(path)) from error
    return connection
