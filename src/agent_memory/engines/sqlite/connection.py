"""Connections to one SQLite file: shared by threads and processes, safe after a fork, errors in our words."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agent_memory.models.errors import AgentMemoryError, Corrupt, InvalidInput, StoreError, StoreFull
from agent_memory.ports.abandon import stoppable
from agent_memory.ports.gate import Gate

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
    ("could not decode", Corrupt, "a text in the file is not UTF-8", "`agent-memory verify` names the damage"),
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


# Of a parent, in a child: not even to be closed, which could end locks and remove a log that the parent relies on.
_inherited: list[sqlite3.Connection] = []


class Connections:
    """A pool. A connection is used by one thread at a time, and none is open while the process forks.

    A file that was removed or replaced could still be written, and nobody would find that again: it is refused.

    SQLite remembers for a whole process which locks it holds on a file. A child would inherit that memory, but not the
    locks: the parent could then remove the log into which the child writes. So everything is closed before a fork,
    and opened anew on both sides; a child whose parent could not do that is refused.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self.closed = False
        self._idle: list[sqlite3.Connection] = []
        self._refuse = False
        self._file: tuple[int, int] | None = None  # which file it is, from the first connection on
        self._gate = Gate()
        self._writing = threading.Lock()

    @property
    def name(self) -> str:
        return str(self.path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot: what other processes commit meanwhile is not seen. When nobody waits for it, it is stopped."""
        with self.plain() as connection, stoppable(connection.interrupt):
            connection.execute("begin")
            yield connection

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing. `durable`: the disk has it before this returns."""
        if self.read_only:
            raise StoreError(f"the store is read-only: {self.name}", hint="copy it to where it can be written")
        with self._writing, self.plain() as connection:
            connection.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
            connection.execute("begin immediate")
            yield connection
            connection.execute("commit")

    @contextmanager
    def plain(self) -> Iterator[sqlite3.Connection]:
        """No transaction: for pragmas and checkpoints. One that is left open is rolled back."""
        connection = self._take()
        try:
            yield connection
        except sqlite3.Error as error:
            raise translated(error, self.name) from error
        finally:
            self._give(connection)

    def close(self) -> None:
        self.closed = True
        self._empty()

    def before_fork(self) -> None:
        self._gate.before_fork()
        self._empty()

    def after_fork(self, child: bool) -> None:
        unused = self._gate.after_fork(child)
        if child:
            self._writing = threading.Lock()
            self._refuse = self._refuse or bool(self._idle) or not unused
            _inherited.extend(self._idle)
            self._idle = []

    def _take(self) -> sqlite3.Connection:
        self._gate.enter()
        try:
            if self.closed:
                raise StoreError("the store is closed", hint="open a new AgentMemory")
            if self._refuse:
                raise StoreError(
                    f"this process was forked while the store was in use: {self.name}",
                    hint="fork when no thread is inside a call, and with os.fork; or start processes by `spawn`",
                )
            if self._file is not None and _identity(self.path) != self._file:
                raise StoreError(
                    f"the file of the store was removed or replaced while it was in use: {self.name}",
                    hint="put it back; or end all that use it, and open it again",
                )
            with suppress(IndexError):
                return self._idle.pop()
            return self._opened()
        except BaseException:
            self._gate.leave()
            raise

    def _opened(self) -> sqlite3.Connection:
        connection = connect(self.path, read_only=self.read_only)
        if not self.read_only and self._file is None:  # one that is only read is opened anew each time
            self._file = _identity(self.path)
        return connection

    def _give(self, connection: sqlite3.Connection) -> None:
        """Back into the pool, or away if it is not fit for the next one."""
        try:
            if self._refuse:  # this thread forked while it held the connection
                _inherited.append(connection)
                return
            connection.rollback()
            if self.read_only:  # opened for each read: what is read without locks may change in between
                _close(connection)
            else:
                self._idle.append(connection)
        except sqlite3.Error:  # the disk fails; the caller hears of what it did, not of this
            _close(connection)
        finally:
            self._gate.leave()
            if self.closed:
                self._empty()

    def _empty(self) -> None:
        with suppress(IndexError):  # others may be taking them at the same time
            while True:
                _close(self._idle.pop())


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - takes half as long, and is asked at every call
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _close(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        connection.close()


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """One connection with our settings. The one place that chooses the driver."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} is too old",
            hint=f"use a Python with SQLite {'.'.join(map(str, OLDEST_SQLITE))} or newer",
        )
    pragmas = ["temp_store = memory"]
    pragmas += [] if read_only else ["journal_mode = wal", "synchronous = full", "secure_delete = on"]
    try:
        connection = sqlite3.connect(
            f"{path.as_uri()}?{looking(path) if read_only else 'mode=rw'}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
    except sqlite3.Error as error:
        raise translated(error, str(path)) from error
    try:
        for pragma in pragmas:
            connection.execute(f"pragma {pragma}")
    except sqlite3.Error as error:
        connection.close()
        raise translated(error, str(path)) from error
    return connection


def looking(path: Path) -> str:
    """How to read a file without putting SQLite's log beside it: while there is no log, nobody is writing."""
    with suppress(OSError):
        if Path(f"{path}-wal").stat().st_size:
            return "mode=ro"
    return "mode=ro&immutable=1"
