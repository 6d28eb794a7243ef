"""What is inside a SQLite store, looked at by the doctor without writing a byte."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from agent_memory.app.check import CheckState, Diagnosis
from agent_memory.app.registry import variable
from agent_memory.core.write.embed import FOLLOWING, REEMBED
from agent_memory.core.write.wording import REBUILD, outdated
from agent_memory.core.write.words import FIRST
from agent_memory.engines.sqlite import missed, schema, scrub, vocabulary
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.models.errors import StoreNewer
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.models.size import counted, sized
from agent_memory.ports.changes import Vocabulary
from agent_memory.ports.debts import Owed
from agent_memory.ports.embedder import Embedder, Space
from agent_memory.ports.vectors import Lag

CLOCK_SLACK = timedelta(minutes=1)
LAST_MOMENT = to_micros(datetime.max.replace(tzinfo=UTC))
LONG_LOG = 256 << 20  # bytes


def contents(path: Path, embedder: Embedder | None, told: Collection[str] = ()) -> Iterator[Diagnosis]:
    """What is inside, read without writing a byte. `told` are the places outside that this process has."""
    try:
        with _looking(path) as connection:
            version = check_schema(connection)
            yield version
            if version.name != "database":
                yield check_integrity(connection)
                yield check_log(path)
                yield check_clock(connection)
                yield check_erasures(_owed_since(connection))
                yield from check_debts(_standing(connection), told)
                yield from check_lags(_lagging(connection), told)
            if version.state is CheckState.OK:
                yield check_words(connection)
                yield from _vectors(connection, embedder)
    except (sqlite3.Error, OSError) as error:
        yield Diagnosis(
            "database", CheckState.FAIL, str(error), "is it a SQLite file? choose another path, or restore a backup"
        )


@contextmanager
def _looking(path: Path) -> Iterator[sqlite3.Connection]:
    """Read-only. While nobody has the store open it cannot change, and SQLite need not put its log beside it."""
    how = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path))}?{how}", uri=True, timeout=5.0)
    try:
        yield connection
    finally:
        connection.close()


def check_schema(connection: sqlite3.Connection) -> Diagnosis:
    newest = max(schema.migrations())
    version, application = (_pragma(connection, name) for name in ("user_version", "application_id"))
    empty = connection.execute("select count(*) from sqlite_schema").fetchone()[0] == 0
    if application != schema.APPLICATION_ID and not empty:
        return Diagnosis("database", CheckState.FAIL, "the file belongs to another program", "choose another path")
    if version > newest:
        detail = f"version {version}, this agent-memory knows {newest}"
        return Diagnosis("schema", CheckState.FAIL, detail, "upgrade agent-memory")
    if empty:
        return Diagnosis("schema", CheckState.WARN, "an empty file", "the first `agent-memory add` fills it")
    if version < newest:
        return Diagnosis("schema", CheckState.OK, f"version {version}: the next command upgrades it to {newest}")
    return Diagnosis("schema", CheckState.OK, f"version {version}")


def check_integrity(connection: sqlite3.Connection) -> Diagnosis:
    said = "\n".join(str(row[0]) for row in connection.execute("pragma quick_check(3)"))
    found = [line for line in said.splitlines() if line and not line.startswith("***")]
    if found == ["ok"]:
        return Diagnosis("integrity", CheckState.OK, "SQLite's quick check; `agent-memory verify` proves the rest")
    return Diagnosis("integrity", CheckState.FAIL, "; ".join(found), "restore a backup")


def check_log(path: Path) -> Diagnosis:
    """Whether the file is written through a log, as its header says, and how much waits in it."""
    with path.open("rb") as file:
        header = file.read(20)
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.exists() else 0
    if header[18:] != b"\2\2":
        return Diagnosis("log", CheckState.WARN, "no write-ahead log", "the next command turns it on")
    if size > LONG_LOG:
        return Diagnosis(
            "log", CheckState.WARN, f"{sized(size)} wait in it", "close readers that stay open for a long time"
        )
    return Diagnosis("log", CheckState.OK, f"write-ahead, {sized(size)}")


def check_clock(connection: sqlite3.Connection) -> Diagnosis:
    """Recorded time never goes backwards: one line from a clock that was ahead dates all that follow."""
    found = connection.execute(
        "select at from journal where typeof(at) = 'integer' order by rowid desc limit 1"
    ).fetchone()
    now = datetime.now(UTC)
    if found is None or found[0] <= to_micros(now + CLOCK_SLACK):
        return Diagnosis("clock", CheckState.OK, "the journal's last line is not in the future")
    last = from_micros(min(found[0], LAST_MOMENT))
    return Diagnosis(
        "clock",
        CheckState.WARN,
        f"the last line of the journal is dated {last:%Y-%m-%d %H:%M} UTC, and it is {now:%Y-%m-%d %H:%M} UTC",
        "set this machine's clock; if it is right, it was ahead once, and what is written until then carries that date",
    )


def check_erasures(since: datetime | None) -> Diagnosis:
    """Whether the disk still holds something that was forgotten `since` then."""
    if since is None:
        return Diagnosis("erasures", CheckState.OK, "nothing that was forgotten is left on the disk")
    return Diagnosis(
        "erasures",
        CheckState.WARN,
        f"what was forgotten on {since:%Y-%m-%d %H:%M} UTC or later may still be in the file or its log",
        "stop the long-running reader; then a server, the next write or `agent-memory upkeep run-jobs` overwrites it",
    )


def check_debts(standing: Iterable[Owed], told: Collection[str] | None = None) -> Iterator[Diagnosis]:
    """Whether places outside still hold something that was forgotten. `told` are those that can be told from here;
    None: nobody knows."""
    for one in standing:
        if one.left:
            owed = [(one.tenants, "whole tenant"), (one.records, "record")]
            what = " and ".join(counted(number, word) for number, word in owed if number)
            since = "" if one.since is None else f" since {from_micros(min(one.since, LAST_MOMENT)):%Y-%m-%d %H:%M} UTC"
            yield Diagnosis(
                "debt",
                CheckState.WARN,
                f"{one.place} has to forget {what}{since}; {one.error or 'not asked yet'}",
                f"{_how(one.place, told)}; if it is gone for good: `agent-memory upkeep detach '{one.place}'`",
            )


def check_lags(behind: Iterable[Lag], told: Collection[str] | None = None) -> Iterator[Diagnosis]:
    """Whether a vector store misses something that the mirror here has. `told` is as in `check_debts`."""
    for one in behind:
        since = f"{from_micros(min(one.since, LAST_MOMENT)):%Y-%m-%d %H:%M} UTC"
        yield Diagnosis(
            "behind",
            CheckState.WARN,
            f"{one.place} misses {counted(one.vectors, 'vector')} since {since}; {one.error or 'not told yet'}",
            f"{_how(one.place, told)}; until then the mirror in the store answers",
        )


def _how(place: str, told: Collection[str] | None) -> str:
    """To let a place be told."""
    part, _, url = place.partition(" ")
    run = "`agent-memory upkeep run-jobs`"
    if told is None or place in told:
        return f"see that it is in reach; then a server, the next change or {run} tells it"
    return f"it is not set here: run {run} with {variable(part)}={url}, where it is in reach"


def _standing(connection: sqlite3.Connection) -> list[Owed]:
    if not connection.execute("select 1 from sqlite_schema where name = 'debts'").fetchone():
        return []  # of a version without
    return [Owed(*row) for row in connection.execute(SQL["debts_standing"])]


def _lagging(connection: sqlite3.Connection) -> list[Lag]:
    if not connection.execute("select 1 from sqlite_schema where name = 'missed'").fetchone():
        return []  # of a version without
    return missed.lags(connection)


def check_words(connection: sqlite3.Connection) -> Diagnosis:
    """Whether they are made as this program makes them."""
    told = connection.execute("select 1 from sqlite_schema where name = 'vocabularies'").fetchone()
    stored = vocabulary.known(connection) if told else (Vocabulary(FIRST),)
    try:
        why = outdated(stored)
    except StoreNewer as error:
        return Diagnosis("words", CheckState.FAIL, error.message, error.hint)
    if why is not None:
        return Diagnosis("words", CheckState.WARN, why, REBUILD)
    return Diagnosis("words", CheckState.OK, stored[0].fingerprint if stored else "none yet")


def _vectors(connection: sqlite3.Connection, embedder: Embedder | None) -> Iterator[Diagnosis]:
    row = connection.execute("select space, model, version, dimension from spaces where active").fetchone()
    if row is None:
        yield Diagnosis("space", CheckState.OK, "no vectors yet")
        return
    number, *described = row
    stored = Space(*described)
    if stored in getattr(embedder, "earlier", ()):
        yield Diagnosis("space", CheckState.WARN, FOLLOWING, REEMBED)
        return
    if embedder is not None and stored != embedder.space:
        yield Diagnosis(
            "space",
            CheckState.FAIL,
            f"the store holds {stored.fingerprint}, the embedder makes {embedder.space.fingerprint}",
            "configure the embedder that the store was built with, or run `agent-memory rebuild --vectors`",
        )
    else:
        yield Diagnosis("space", CheckState.OK, stored.fingerprint)
    pending: int = connection.execute("select count(*) from pending where space = ?", (number,)).fetchone()[0]
    if pending:
        yield Diagnosis(
            "vectors",
            CheckState.WARN,
            f"{counted(pending, 'text')} still without one",
            "`agent-memory rebuild` makes them",
        )
    else:
        yield Diagnosis("vectors", CheckState.OK, "none pending")


def _owed_since(connection: sqlite3.Connection) -> datetime | None:
    row = connection.execute("select at from journal where rowid = ?", (scrub.owed(connection),)).fetchone()
    return row and from_micros(min(row[0], LAST_MOMENT))


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"pragma {name}").fetchone()[0]
    return value
