"""Is this machine, this store and this embedder fit to work? Each question is a small function that looks and says;
nothing is changed or created, and a store that cannot be opened is an answer like any other. (A remote embedder or
reranker, where one is configured, is sent two short texts.)"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

from agent_memory.app import config, registry, telemetry, trust
from agent_memory.app.memory import AgentMemory
from agent_memory.app.mounts import MOUNTS, file_system, nearest, on_network
from agent_memory.app.remote import is_remote
from agent_memory.app.variables import Heard
from agent_memory.engines.sqlite import schema
from agent_memory.engines.sqlite.connection import OLDEST_SQLITE
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.models.record import Scope
from agent_memory.models.size import sized
from agent_memory.ports.embedder import Embedder, Space

OLDEST_PYTHON = (3, 11)
MEGABYTE = 1 << 20
LITTLE_SPACE, NO_SPACE = 1024 * MEGABYTE, 50 * MEGABYTE
RERANK_SECONDS = 10.0
RESET_FIXED = (((3, 44, 6), (3, 45, 0)), ((3, 50, 7), (3, 51, 0)))  # older branches that got the cure, too
RESET_BUG = "it has the WAL-reset bug: two processes that write at the same instant can, very rarely, damage the store"
RESET_FIX = "use a Python with SQLite 3.51.3 or newer (3.50.7 and 3.44.6 are mended, too), and keep exports until then"
CLOCK_SLACK = timedelta(minutes=1)
LAST_MOMENT = to_micros(datetime.max.replace(tzinfo=UTC))
LONG_LOG = 256 * MEGABYTE


class State(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Check:
    """One answer. `fix` says what to do when it is not ok."""

    name: str
    state: State
    detail: str
    fix: str = ""


def examine(store: str | None = None) -> list[Check]:
    """Every check that makes sense here, in the order in which to repair things."""
    heard = config.heard(store=store)
    checks = [check_python(), check_sqlite(), check_git(), *check_variables(heard), *check_pages()]
    try:
        settings = config.settled(heard)
    except AgentMemoryError as error:
        return [
            *checks,
            Check("settings", State.FAIL, error.message, error.hint or "correct the variable"),
            check_telemetry(),
        ]
    if is_remote(settings.store_url):
        checks.append(Check("settings", State.OK, f"server {settings.store_url}, user {settings.user}"))
        return [*checks, check_server(settings), check_telemetry(settings)]
    checks.append(Check("settings", State.OK, f"embedder {settings.embedding_provider}, user {settings.user}"))
    space: Space | None = None
    try:
        embedder = registry.open_embedder(settings)
        space = embedder.space
        checks.append(check_embedder(embedder))
    except AgentMemoryError as error:
        checks.append(Check("embedder", State.FAIL, error.message, error.hint))
    if settings.rerank_url is not None:
        checks.append(check_reranker(settings))
    return [*checks, *_store(settings.store_url, space), check_telemetry(settings)]


def check_python() -> Check:
    version = sys.version.split()[0]
    if sys.version_info < OLDEST_PYTHON:
        return Check("python", State.FAIL, version, f"use Python {'.'.join(map(str, OLDEST_PYTHON))} or newer")
    return Check("python", State.OK, version)


def check_sqlite() -> Check:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        return Check("sqlite", State.FAIL, sqlite3.sqlite_version, f"use a Python with SQLite {wanted} or newer")
    if has_reset_bug(sqlite3.sqlite_version_info):
        return Check("sqlite", State.WARN, f"{sqlite3.sqlite_version}: {RESET_BUG}", RESET_FIX)
    return Check("sqlite", State.OK, sqlite3.sqlite_version)


def has_reset_bug(version: tuple[int, ...]) -> bool:
    """Whether this SQLite can lose what two connections write and checkpoint at the same instant."""
    return (3, 7, 0) <= version < (3, 51, 3) and not any(first <= version < end for first, end in RESET_FIXED)


def check_git() -> Check:
    """Rules are read without it; their versions and the hooks are git's."""
    found = shutil.which("git")
    if found is None:
        fix = "install it, or mend PATH: without it rules have no versions, and no hooks stop what they deny"
        return Check("git", State.WARN, "not found", fix)
    return Check("git", State.OK, found)


def check_variables(heard: Heard) -> Iterator[Check]:
    """Every setting that somebody set, and where; then what was said and does not count."""
    for name, one in heard.said.items():
        yield Check("setting", State.OK, f"{one.variable} = {config.shown(name, one.value)} ({one.origin})")
    left = [name for name in config.Settings.model_fields if name not in heard.said]
    yield Check("setting", State.OK, f"{', '.join(left)} (default)")
    for notice in heard.notices:
        yield Check("variable", State.OK if notice.aside else State.WARN, notice.message, notice.fix)


def check_pages() -> Iterator[Check]:
    """Whether the pages of the repository here are rules, or only what somebody wrote."""
    here = trust.here()
    if here is not None and here.trusted:
        yield Check("pages", State.OK, f"{here.name} is trusted: its pages are rules")
    elif here is not None:
        yield Check("pages", State.WARN, f"{here.name} is not trusted: its pages are only quoted", trust.HOW)


def check_embedder(embedder: Embedder) -> Check:
    """Load it, and time one text."""
    name = embedder.space.fingerprint
    try:
        started = time.perf_counter()
        embedder.embed_many(["warm"])
        loaded = time.perf_counter()
        embedder.embed_many(["is this machine fit to remember?"])
        done = time.perf_counter()
    except AgentMemoryError as error:
        fix = error.hint or "check the embedder's settings"
        return Check("embedder", State.FAIL, f"{name}: {error.message}", f"{fix}; until then texts are found by words")
    spent = f"ready in {(loaded - started) * 1000:.0f} ms, {(done - loaded) * 1000:.1f} ms a text"
    return Check("embedder", State.OK, f"{name}: {spent}")


def check_reranker(settings: config.Settings) -> Check:
    """Ask it, and time the answer."""
    try:
        reranker = registry.open_reranker(settings)
        assert reranker is not None
        started = time.perf_counter()
        reranker.score("is this machine fit to remember?", ["it is", "lunch is at one"], RERANK_SECONDS)
    except AgentMemoryError as error:
        fix = error.hint or "check the reranker's settings"
        return Check("reranker", State.WARN, error.message, f"{fix}; until then hits keep their fused order")
    return Check("reranker", State.OK, f"{reranker.name}: {(time.perf_counter() - started) * 1000:.0f} ms")


def check_server(settings: config.Settings) -> Check:
    """Ask it something, and time the answer; its store and its embedder are for a doctor over there."""
    try:
        memory = AgentMemory.unopened(settings, Scope(tenant=settings.tenant, user=settings.user))
        memory.upkeep.stats()
        started = time.perf_counter()
        records = memory.upkeep.stats()["records"]
        spent = (time.perf_counter() - started) * 1000
        memory.close(clear=False)
    except AgentMemoryError as error:
        return Check("server", State.FAIL, error.message, error.hint or "check --store and AGENT_MEMORY_API_KEY")
    return Check("server", State.OK, f"answers in {spent:.0f} ms; {records} records of {settings.user}")


def check_telemetry(settings: config.Settings | None = None) -> Check:
    """We have none, unless told to. onnxruntime does, and is told to be silent before it is loaded."""
    if "onnxruntime" in sys.modules and os.environ.get("ORT_DISABLE_TELEMETRY") != "1":
        return Check("telemetry", State.WARN, "onnxruntime was loaded before it was told to be silent", "report this")
    if settings is None or settings.telemetry == telemetry.OFF:
        return Check("telemetry", State.OK, "off")
    try:
        telemetry.begin(settings)
    except AgentMemoryError as error:
        return Check("telemetry", State.FAIL, error.message, error.hint)
    return Check("telemetry", State.OK, f"traces are sent over {settings.telemetry}")


def _store(url: str, space: Space | None) -> Iterator[Check]:
    scheme, separator, _ = url.partition("://")
    if separator and scheme != "sqlite":
        yield Check("store", State.WARN, f"{scheme}:// is not examined", "ask its own tools")
        return
    try:
        path = registry.sqlite_path(url).absolute()
        found = check_file(path)
    except (AgentMemoryError, OSError) as error:
        yield Check("store", State.FAIL, str(error), "use --store sqlite:///path/to/memory.db")
        return
    yield found
    yield check_free_space(path)
    yield check_file_system(path)
    if found.state is State.OK:
        inside = list(_contents(path, space))
        yield from inside
        if inside[0].name != "database":  # it is ours
            yield check_permissions(path)
            yield check_writable(path)


def check_file(path: Path) -> Check:
    """There is a file, or there could be one."""
    if path.is_dir():
        return Check("store", State.FAIL, f"{path} is a directory", "name a file inside it with --store")
    if path.exists():
        if not path.is_file():
            return Check("store", State.FAIL, f"{path} is no regular file", "choose another path")
        if not os.access(path, os.R_OK):
            return Check("store", State.FAIL, f"{path} cannot be read", "run as its owner, or correct its permissions")
        return Check("store", State.OK, f"{path}, {sized(path.stat().st_size)}")
    folder = nearest(path.parent)
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return Check("store", State.FAIL, f"{path} cannot be created in {folder}", "choose another path")
    return Check(
        "store",
        State.WARN,
        f"there is none yet at {path}",
        "the first `agent-memory add` creates it; if you expected one, check --store and AGENT_MEMORY_HOME",
    )


def check_writable(path: Path) -> Check:
    """SQLite writes the file, and its log beside it."""
    for place in (path, path.parent):
        if not os.access(place, os.W_OK):
            return Check("writable", State.FAIL, f"{place} cannot be written", "correct its permissions, or its mount")
    return Check("writable", State.OK, "the file and its folder")


def check_permissions(path: Path) -> Check:
    """Memories are private; only the group may be let in on purpose."""
    if os.name != "posix":
        return Check("permissions", State.OK, "left to the system")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & stat.S_IRWXO:
        return Check("permissions", State.WARN, f"{mode:04o}: everybody here can read it", f"chmod 600 {path}")
    return Check("permissions", State.OK, f"{mode:04o}")


def check_free_space(path: Path) -> Check:
    free = shutil.disk_usage(nearest(path)).free
    state = State.FAIL if free < NO_SPACE else State.WARN if free < LITTLE_SPACE else State.OK
    return Check("disk", state, f"{sized(free)} free", "" if state is State.OK else "free some space")


def check_file_system(path: Path, mounts: Path = MOUNTS) -> Check:
    """SQLite's locks are not reliable over a network."""
    kind = file_system(path, mounts)
    if kind is None:
        return Check("file system", State.OK, "unknown on this system")
    if on_network(kind):
        return Check(
            "file system",
            State.WARN,
            f"{kind}: SQLite's locks are unreliable on a network",
            "keep the store on a local disk, or let one process at a time use it",
        )
    return Check("file system", State.OK, kind)


def _contents(path: Path, space: Space | None) -> Iterator[Check]:
    """What is inside, read without writing a byte."""
    try:
        with _looking(path) as connection:
            version = check_schema(connection)
            yield version
            if version.name != "database":
                yield check_integrity(connection)
                yield check_log(path)
                yield check_clock(connection)
            if version.state is State.OK:
                yield from _vectors(connection, space)
    except (sqlite3.Error, OSError) as error:
        yield Check("database", State.FAIL, str(error), "is it a SQLite file? choose another path, or restore a backup")


@contextmanager
def _looking(path: Path) -> Iterator[sqlite3.Connection]:
    """Read-only. While nobody has the store open it cannot change, and SQLite need not put its log beside it."""
    how = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path))}?{how}", uri=True, timeout=5.0)
    try:
        yield connection
    finally:
        connection.close()


def check_schema(connection: sqlite3.Connection) -> Check:
    newest = max(schema.migrations())
    version, application = (_pragma(connection, name) for name in ("user_version", "application_id"))
    empty = connection.execute("select count(*) from sqlite_schema").fetchone()[0] == 0
    if application != schema.APPLICATION_ID and not empty:
        return Check("database", State.FAIL, "it belongs to another program", "choose another path")
    if version > newest:
        detail = f"version {version}, this agent-memory knows {newest}"
        return Check("schema", State.FAIL, detail, "upgrade agent-memory")
    if empty:
        return Check("schema", State.WARN, "an empty file", "the first `agent-memory add` fills it")
    if version < newest:
        return Check("schema", State.OK, f"version {version}: the next command upgrades it to {newest}")
    return Check("schema", State.OK, f"version {version}")


def check_integrity(connection: sqlite3.Connection) -> Check:
    said = "\n".join(str(row[0]) for row in connection.execute("pragma quick_check(3)"))
    found = [line for line in said.splitlines() if line and not line.startswith("***")]
    if found == ["ok"]:
        return Check("integrity", State.OK, "SQLite's quick check; `agent-memory verify` proves the rest")
    return Check("integrity", State.FAIL, "; ".join(found), "restore a backup")


def check_log(path: Path) -> Check:
    """Whether the file is written through a log, as its header says, and how much waits in it."""
    with path.open("rb") as file:
        header = file.read(20)
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.exists() else 0
    if header[18:] != b"\2\2":
        return Check("log", State.WARN, "no write-ahead log", "the next command turns it on")
    if size > LONG_LOG:
        return Check("log", State.WARN, f"{sized(size)} wait in it", "end readers that stay open for long")
    return Check("log", State.OK, f"write-ahead, {sized(size)}")


def check_clock(connection: sqlite3.Connection) -> Check:
    """Recorded time never goes backwards: one line from a clock that was ahead dates all that follow."""
    found = connection.execute(
        "select at from journal where typeof(at) = 'integer' order by seq desc limit 1"
    ).fetchone()
    now = datetime.now(UTC)
    if found is None or found[0] <= to_micros(now + CLOCK_SLACK):
        return Check("clock", State.OK, "the journal's last line is not in the future")
    last = from_micros(min(found[0], LAST_MOMENT))
    return Check(
        "clock",
        State.WARN,
        f"the last line of the journal is dated {last:%Y-%m-%d %H:%M} UTC, and it is {now:%Y-%m-%d %H:%M} UTC",
        "set this machine's clock; if it is right, it was ahead once, and what is written until then carries that date",
    )


def _vectors(connection: sqlite3.Connection, space: Space | None) -> Iterator[Check]:
    row = connection.execute("select space, model, version, dimension from spaces where active").fetchone()
    if row is None:
        yield Check("space", State.OK, "no vectors yet")
        return
    number, *described = row
    stored = Space(*described)
    if space is not None and stored != space:
        yield Check(
            "space",
            State.FAIL,
            f"the store holds {stored.fingerprint}, the embedder makes {space.fingerprint}",
            "configure the embedder that the store was built with, or run `agent-memory rebuild --vectors`",
        )
    else:
        yield Check("space", State.OK, stored.fingerprint)
    pending: int = connection.execute("select count(*) from pending where space = ?", (number,)).fetchone()[0]
    if pending:
        yield Check("vectors", State.WARN, f"{pending} texts wait for theirs", "`agent-memory rebuild` makes them")
    else:
        yield Check("vectors", State.OK, "none pending")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"pragma {name}").fetchone()[0]
    return value
