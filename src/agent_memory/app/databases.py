"""What the doctor says of a PostgreSQL store, without changing anything."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from agent_memory.app import registry
from agent_memory.app.check import CheckState, Diagnosis
from agent_memory.app.contents import CLOCK_SLACK, check_debts, check_lags
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.moment import from_micros
from agent_memory.models.record import Scope
from agent_memory.models.size import sized
from agent_memory.ports.records import View
from agent_memory.ports.store import Store

GUIDE = "docs/guides/postgresql.md"


def check_database(url: str, replica: str | None, shelf_lines: int) -> Iterator[Diagnosis]:
    """Whether it can be reached and is what we need, under which role we are there, and what is owed."""
    try:
        engine = registry.postgres()
        from agent_memory.engines.postgres import schema

        found = schema.health(url)
    except AgentMemoryError as error:
        yield Diagnosis("store", CheckState.FAIL, error.message, error.hint)
        return
    yield Diagnosis("store", CheckState.OK, f"{found.place}, PostgreSQL {found.server}, {sized(found.size)}")
    yield _schema(found)
    yield _role(found)
    yield _transport(found)
    yield _clock(found.now)
    if found.schema >= found.newest:
        yield from _inside(engine, url, replica, shelf_lines)


def _schema(found: Any) -> Diagnosis:
    if found.schema == 0:
        return Diagnosis(
            "schema",
            CheckState.WARN,
            "the database has no tables of ours yet",
            "the first write creates them, and so does `agent-memory upgrade`",
        )
    if found.schema < found.newest:
        detail = f"version {found.schema}, this agent-memory knows {found.newest}"
        return Diagnosis("schema", CheckState.WARN, detail, "the next command upgrades it")
    newer = f", which this agent-memory may use, though it knows {found.newest}" if found.schema > found.newest else ""
    return Diagnosis("schema", CheckState.OK, f"version {found.schema}{newer}, pgvector {found.extension}")


def _role(found: Any) -> Diagnosis:
    """Row-level security stands behind our filters, and some roles pass it by."""
    why = "is a superuser" if found.superuser else "has BYPASSRLS" if found.bypasses else ""
    if why:
        detail = f"{found.role} {why}: the database does not keep tenants apart for it, only our statements do"
        return Diagnosis("role", CheckState.WARN, detail, f"connect as a role of its own: {GUIDE} has the statements")
    if found.owns:
        detail = f"{found.role} owns the tables: it could switch row-level security off"
        return Diagnosis("role", CheckState.WARN, detail, f"let another role own them: {GUIDE} has the statements")
    return Diagnosis("role", CheckState.OK, f"{found.role}, kept to its tenant by row-level security")


def _transport(found: Any) -> Diagnosis:
    if found.encrypted or found.local:
        return Diagnosis("transport", CheckState.OK, "encrypted" if found.encrypted else "on this machine")
    return Diagnosis("transport", CheckState.WARN, "not encrypted", "add ?sslmode=verify-full to the URL")


def _clock(now: int) -> Diagnosis:
    apart = abs(time.time() - now / 1e6)
    if apart > CLOCK_SLACK.total_seconds():
        detail = f"the clocks of this machine and of the database are {apart:.0f} seconds apart"
        return Diagnosis("clock", CheckState.WARN, detail, "the database's is used; correct the one that is wrong")
    return Diagnosis("clock", CheckState.OK, f"that of the database: {from_micros(now):%Y-%m-%d %H:%M:%S} UTC")


def _inside(engine: Any, url: str, replica: str | None, shelf_lines: int) -> Iterator[Diagnosis]:
    try:
        store: Store = engine.open_store(url, replica=replica, shelf_lines=shelf_lines)
    except AgentMemoryError as error:
        yield Diagnosis("store", CheckState.FAIL, error.message, error.hint)
        return
    try:
        found = store.records.stats(View(Scope(), 0))
        if replica is not None:
            yield _replica(found["replica"])
        yield _erasures(found["scrub_owed_since"])
        yield _large(store)
        if store.debts is not None:
            yield from check_debts(store.debts.standing())
        yield from check_lags(store.vectors.lags())
    finally:
        store.close()


def _replica(found: dict[str, Any] | None) -> Diagnosis:
    from agent_memory.engines.postgres.reads import LONGEST_LAG

    unused = "calls that only read go to the primary"
    if found is None:
        fix = "check AGENT_MEMORY_POSTGRES_REPLICA_URI, and that it runs"
        return Diagnosis("replica", CheckState.WARN, f"out of reach, or not a copy of the store: {unused}", fix)
    seconds = found["seconds_behind"]
    if seconds is None or seconds > LONGEST_LAG:
        late = "nobody knows how far behind" if seconds is None else f"{seconds:.0f} seconds behind"
        return Diagnosis(
            "replica", CheckState.WARN, f"{late}: {unused}", "look at its log, and whether it reaches the primary"
        )
    return Diagnosis("replica", CheckState.OK, f"at most {seconds:.1f} seconds behind, {found['lines_behind']} lines")


def _large(store: Store) -> Diagnosis:
    """Readers with more memories than a process keeps in its memory."""
    wanting = 0 if store.indexing is None else store.indexing.wanting()
    if store.indexing is None or not wanting:
        return Diagnosis("large readers", CheckState.OK, "all are searched in memory, or have their indexes")
    detail = f"{wanting} without indexes: each process that serves them keeps all their memories in its own memory"
    if store.indexing.able():
        return Diagnosis(
            "large readers", CheckState.WARN, detail, "`agent-memory upkeep run-jobs` makes them, a server in time"
        )
    fix = f"run `agent-memory upkeep run-jobs` as the role that owns the tables, with pgvector 0.8 or newer: {GUIDE}"
    return Diagnosis("large readers", CheckState.WARN, detail, fix)


def _erasures(since: int | None) -> Diagnosis:
    if since is None:
        return Diagnosis("erasures", CheckState.OK, "nothing that was forgotten is left in the tables' files")
    return Diagnosis(
        "erasures",
        CheckState.WARN,
        f"what was forgotten on {from_micros(since):%Y-%m-%d %H:%M} UTC or later is still in the files, out of reach",
        f"`agent-memory upkeep run-jobs` rewrites the tables, as the role that owns them; the log and backups: {GUIDE}",
    )
