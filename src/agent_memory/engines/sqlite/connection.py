"""Connections to one SQLite file: shared by threads and processes, safe after a fork, errors in our words."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agent_memory.engines.sqlite.log import overwritten_when_removed
from agent_memory.models.errors import AgentMemoryError, Busy, Corrupt, InvalidInput, StoreError, StoreFull
from agent_memory.ports.abandon import stoppable
from agent_memory.ports.forks import ForkGuard

BUSY_SECONDS = 30.0
BRIEF_SECONDS = 1.0  # for what is only written beside something else, and can come later
OLDEST_SQLITE = (3, 40, 0)
UNCHANGING = "mode=ro&immutable=1"

_Meaning = tuple[type[AgentMemoryError], str, str]
_FULL: _Meaning = (StoreFull, "the disk is full", "free some space; nothing was written")
_BUSY: _Meaning = (Busy, "the store is busy", "another process holds it for long; try again")

# Foreign errors, mapped once, by SQLite's code: the whole of it where that says more, else its last byte.
_MEANING: dict[int, _Meaning] = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR_SHMSIZE: _FULL,  # no room for the index of the log
    sqlite3.SQLITE_READONLY: (
        StoreError,
        "the store is read-only",
        "check the permissions of the file and its folder",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        StoreError,
        "the store cannot be opened",
        "check that the folder exists and is writable",
    ),
    sqlite3.SQLITE_NOTADB: (
        StoreError,
        "the file is no SQLite database",
        "choose another path, or restore a backup; or is it encrypted?",
    ),
    sqlite3.SQLITE_CORRUPT: (
        Corrupt,
        "the database file is damaged, or the disk cannot read it",
        "check the disk, restore a backup, or run `agent-memory doctor`",
    ),
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_IOERR: (StoreError, "the disk reported an error", "check the disk and its free space"),
    sqlite3.SQLITE_TOOBIG: (InvalidInput, "a value is too large for SQLite", "store it in smaller parts"),
}
_UNWRITABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def translated(error: sqlite3.Error, path: str) -> AgentMemoryError:
    """A SQLite error as one of ours."""
    code = _code(error)
    found = _MEANING.get(code) or _MEANING.get(code & 0xFF)
    if "could not decode" in str(error).lower():  # Python's own, without a code
        found = (Corrupt, "a text in the file is not UTF-8", "`agent-memory verify` names the damage")
    if found is None:
        return StoreError(f"SQLite could not do it: {error}: {path}", hint="run `agent-memory doctor`")
    kind, message, hint = found
    return kind(f"{message}: {path}", hint=hint)


def called(path: Path, setting: str | None) -> str:
    """A file in errors."""
    return str(path) if setting is None else f"{path}, which {setting} names"


def _code(error: BaseException | None) -> int:
    return getattr(error, "sqlite_errorcode", 0)


# Of a parent, in a child: not even to be closed, which could end locks and remove a log that the parent relies on.
_inherited: list[sqlite3.Connection] = []


class Connections:
    """A pool. A connection is used by one thread at a time, and none is open while the process forks.

    A file that was removed or replaced could still be written, and nobody would find that again: it is refused. So is
    one whose log or its index was: other processes would write into another log.

    SQLite remembers for a whole process which locks it holds on a file. A child would inherit that memory, but not the
    locks: the parent could then remove the log into which the child writes. So everything is closed before a fork,
    and opened anew on both sides; a child whose parent could not do that is refused.

    `recognise` is told of every transaction when it begins.
    """

    def __init__(self, path: Path, *, read_only: bool = False, setting: str | None = None) -> None:
        """`setting` is the variable that names the file, where it is not the store's own."""
        self.path = path
        self.name = called(path, setting)
        self.read_only = read_only
        self.closed = False
        self._idle: list[sqlite3.Connection] = []
        self._refuse = False
        self._file: _Identity = None  # which file it is, from the first connection on
        self._beside: tuple[_Identity, ...] = (None, None)  # which log and index, as long as a connection is open
        self._open = 0
        self._counting = threading.Lock()
        self._gate = ForkGuard()
        self._writing = threading.RLock()  # knows whose it is: only its owner gives it back
        self.recognise: Callable[[sqlite3.Connection], None] = lambda connection: None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One snapshot: what other processes commit meanwhile is not seen. When nobody waits for it, it is stopped.

        It needs no room on the disk: where the log cannot be made, for want of space, nobody is writing either.
        """
        with self._using(to_read=True) as connection, stoppable(connection.interrupt):
            connection.execute("begin")
            self.recognise(connection)
            yield connection

    @contextmanager
    def writing(self, *, durable: bool = True, seconds: float | None = None) -> Iterator[sqlite3.Connection]:
        """All or nothing. `durable`: the disk has it before this returns. `seconds`: how long to wait for whoever else
        writes, where that should be less than usual."""
        if self.read_only:
            raise StoreError(f"the store is read-only: {self.name}", hint="copy it to where it can be written")
        lock = self._writing
        try:  # an interrupt may come as soon as it is acquired
            if not lock.acquire(timeout=-1 if seconds is None else seconds):
                raise Busy(f"{_BUSY[1]}: {self.name}", hint="another thread of this process writes; try again")
            with self.plain() as connection, waiting(connection, seconds):
                connection.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
                connection.execute("begin immediate")
                self.recognise(connection)
                yield connection
                connection.execute("commit")
        finally:
            with suppress(RuntimeError):  # not acquired; or a child that was forked in here has a lock of its own
                lock.release()

    @contextmanager
    def plain(self) -> Iterator[sqlite3.Connection]:
        """No transaction: for pragmas and checkpoints. One that is left open is rolled back."""
        with self._using() as connection:
            yield connection

    @contextmanager
    def _using(self, *, to_read: bool = False) -> Iterator[sqlite3.Connection]:
        connection, lasting = self._take(to_read)
        try:
            yield connection
        except sqlite3.Error as error:
            raise translated(error, self.name) from error
        finally:
            self._give(connection, lasting)

    def close(self) -> None:
        self.closed = True
        self._empty()

    @contextmanager
    def nobody_else(self) -> Iterator[None]:
        """Whoever else is in a transaction has ended it, and nobody begins one: as long as a fork would wait."""
        self._gate.before_fork()
        try:
            yield
        finally:
            self._gate.after_fork(child=False)

    def before_fork(self) -> None:
        self._gate.before_fork()
        self._empty()

    def after_fork(self, child: bool) -> None:
        unused = self._gate.after_fork(child)
        if child:
            self._writing, self._counting = threading.RLock(), threading.Lock()
            self._open = 0
            self._refuse = self._refuse or bool(self._idle) or not unused
            _inherited.extend(self._idle)
            self._idle = []

    def _take(self, to_read: bool) -> tuple[sqlite3.Connection, bool]:
        """A connection, and whether it goes into the pool afterwards."""
        self._gate.enter()
        try:
            self._check()
            with suppress(IndexError):
                return self._idle.pop(), True
            return self._opened(to_read)
        except BaseException:
            self._gate.leave()
            raise

    def _check(self) -> None:
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
                hint="put it back; or stop everything that uses it, and open it again",
            )
        if self._open and (now := _beside(self.path)) != self._beside and self._open:
            if None in self._beside:  # made only now, by the first that read
                self._beside = now
                return
            raise StoreError(
                f"the log of the store (-wal, -shm) was removed or replaced while it was in use: {self.name}",
                hint="stop everything that uses it, and open it again",
            )

    def _opened(self, to_read: bool) -> tuple[sqlite3.Connection, bool]:
        if self.read_only:  # opened for each read: what is read without locks may change in between
            return connect(self.path, read_only=True), False
        try:
            connection = connect(self.path)
        except StoreError as error:
            unwritable = _code(error.__cause__) & 0xFF in _UNWRITABLE
            if to_read and unwritable and looking(self.path) == UNCHANGING:
                return connect(self.path, read_only=True), False
            raise
        with self._counting:
            self._open += 1
            if self._open == 1:
                self._beside = _beside(self.path)
                self._file = self._file or _identity(self.path)
        return connection, True

    def _give(self, connection: sqlite3.Connection, lasting: bool) -> None:
        """Back into the pool, or away if it is not fit for the next one."""
        try:
            if self._refuse:  # this thread forked while it held the connection
                _inherited.append(connection)
                return
            connection.rollback()
            if lasting:
                self._idle.append(connection)
            else:
                _close(connection)
        except sqlite3.Error:  # the disk fails; the caller hears of what it did, not of this
            self._count_down(lasting)
            _close(connection)
        finally:
            self._gate.leave()
            if self.closed:
                self._empty()

    def _count_down(self, lasting: bool = True) -> None:
        with self._counting:
            self._open -= lasting

    def _empty(self) -> None:
        """Close what is idle. Whoever is the last moves the log into the file and removes it. If somebody else has
        begun another log meanwhile, ours is out of date, and must not be moved."""
        now = _beside(self.path)
        stray = any(None not in (one, mine) and one != mine for one, mine in zip(now, self._beside, strict=True))
        with suppress(IndexError), overwritten_when_removed(Path(f"{self.path}-wal")):
            while True:  # others may be taking them at the same time
                connection = self._idle.pop()
                self._count_down()
                if stray:
                    _inherited.append(connection)
                else:
                    _close(connection)


_Identity = tuple[int, int] | None


def _beside(path: Path) -> tuple[_Identity, ...]:
    """Which files the log and its index are."""
    return _identity(f"{path}-wal"), _identity(f"{path}-shm")


@contextmanager
def waiting(connection: sqlite3.Connection, seconds: float | None) -> Iterator[None]:
    """Wait only so long for locks of other processes."""
    if seconds is None:
        yield
        return
    connection.execute(f"pragma busy_timeout = {int(seconds * 1000)}")
    try:
        yield
    finally:
        connection.execute(f"pragma busy_timeout = {int(BUSY_SECONDS * 1000)}")


def _identity(path: Path | str) -> _Identity:
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
    return UNCHANGING
