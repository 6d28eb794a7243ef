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
from datetime import datetime
from itertools import chain
from pathlib import Path

from agent_memory.app import config, extractors, importers, plugins, registry, telemetry, trust
from agent_memory.app.check import CheckState, Diagnosis
from agent_memory.app.contents import check_debts, check_erasures, check_lags, contents
from agent_memory.app.databases import check_database
from agent_memory.app.jobs import registered
from agent_memory.app.memory import AgentMemory
from agent_memory.app.mounts import MOUNTS, file_system, nearest, on_network
from agent_memory.app.parts import check_parts, places
from agent_memory.app.variables import SettingsHeard
from agent_memory.engines.sqlite.connection import OLDEST_SQLITE
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.moment import to_micros
from agent_memory.models.record import SHARED, Scope
from agent_memory.models.size import counted, sized
from agent_memory.ports.debts import Owed
from agent_memory.ports.embedder import Embedder
from agent_memory.ports.vectors import Lag

OLDEST_PYTHON = (3, 11)
MEGABYTE = 1 << 20
LITTLE_SPACE, NO_SPACE = 1024 * MEGABYTE, 50 * MEGABYTE
RERANK_SECONDS = 10.0
RESET_FIXED = (((3, 44, 6), (3, 45, 0)), ((3, 50, 7), (3, 51, 0)))  # older branches that got the cure, too
RESET_BUG = "it has the WAL-reset bug: two processes that write at the same instant can, very rarely, damage the store"
RESET_FIX = "use a Python with SQLite 3.51.3 or newer (3.50.7 and 3.44.6 are fixed, too), and keep exports until then"


def examine(
    store: str | None = None, user: str | None = None, tenant: str | None = None, agent: str | None = None
) -> list[Diagnosis]:
    """Every check that makes sense here, in the order in which to repair things. What is None comes from the
    settings."""
    heard = config.heard(store=store, user=user, tenant=tenant)
    checks = [check_python(), check_sqlite(), check_git(), *check_variables(heard), *check_plugins(), *check_pages()]
    try:
        settings = config.settled(heard)
    except AgentMemoryError as error:
        return [
            *checks,
            Diagnosis("settings", CheckState.FAIL, error.message, error.hint or "correct the variable"),
            check_telemetry(),
        ]
    if settings.store_url.partition("://")[0] in registry.POSTGRES:
        checks = [one for one in checks if one.name != "sqlite"]
    if settings.maybe_others and settings.store_url != settings.postgres_uri:
        ignored = f"POSTGRES_URI ignored: there is a store at {settings.home / 'memory.db'}"
        checks.append(
            Diagnosis("variable", CheckState.WARN, ignored, "to use the database, set AGENT_MEMORY_POSTGRES_URI")
        )
    whose = f"user {settings.user}" + (f", agent {agent}" if agent else "")
    if settings.is_remote:
        checks.append(Diagnosis("settings", CheckState.OK, f"server {settings.store_url}, {whose}"))
        return [*checks, *check_server(settings, agent or SHARED), check_telemetry(settings)]
    checks.append(Diagnosis("settings", CheckState.OK, f"embedder {settings.embedding_provider}, {whose}"))
    embedder: Embedder | None = None
    try:
        embedder = registry.open_embedder(settings)
        checks.append(check_embedder(embedder))
    except AgentMemoryError as error:
        checks.append(Diagnosis("embedder", CheckState.FAIL, error.message, error.hint))
    if settings.rerank_url is not None:
        checks.append(check_reranker(settings))
    if settings.extract == "model" and settings.chat_provider is None:
        alone = "AGENT_MEMORY_EXTRACT=model, but there is no chat model: the rules read alone"
        checks.append(Diagnosis("extract", CheckState.WARN, alone, "set AGENT_MEMORY_CHAT_PROVIDER and _CHAT_MODEL"))
    checks += check_parts(settings)
    return [*checks, *_store(settings, embedder), check_telemetry(settings)]


def check_python() -> Diagnosis:
    version = sys.version.split()[0]
    if sys.version_info < OLDEST_PYTHON:
        return Diagnosis("python", CheckState.FAIL, version, f"use Python {'.'.join(map(str, OLDEST_PYTHON))} or newer")
    return Diagnosis("python", CheckState.OK, version)


def check_sqlite() -> Diagnosis:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        return Diagnosis(
            "sqlite", CheckState.FAIL, sqlite3.sqlite_version, f"use a Python with SQLite {wanted} or newer"
        )
    if has_reset_bug(sqlite3.sqlite_version_info):
        return Diagnosis("sqlite", CheckState.WARN, f"{sqlite3.sqlite_version}: {RESET_BUG}", RESET_FIX)
    return Diagnosis("sqlite", CheckState.OK, sqlite3.sqlite_version)


def has_reset_bug(version: tuple[int, ...]) -> bool:
    """Whether this SQLite can lose what two connections write and checkpoint at the same instant."""
    return (3, 7, 0) <= version < (3, 51, 3) and not any(first <= version < end for first, end in RESET_FIXED)


def check_git() -> Diagnosis:
    """Rules are read without it; their versions and the hooks are git's."""
    found = shutil.which("git")
    if found is None:
        fix = "install it, or mend PATH: without it rules have no versions, and no hooks stop what they deny"
        return Diagnosis("git", CheckState.WARN, "not found", fix)
    return Diagnosis("git", CheckState.OK, found)


def check_variables(heard: SettingsHeard) -> Iterator[Diagnosis]:
    """Every setting that somebody set, and where; then what was said and does not count."""
    for name, one in heard.said.items():
        yield Diagnosis("setting", CheckState.OK, f"{one.variable} = {config.shown(name, one.value)} ({one.origin})")
    left = [name for name in config.Settings.model_fields if name not in heard.said]
    yield Diagnosis("setting", CheckState.OK, f"{', '.join(left)} (default)")
    for notice in heard.notices:
        yield Diagnosis("variable", CheckState.OK if notice.aside else CheckState.WARN, notice.message, notice.fix)


def check_pages() -> Iterator[Diagnosis]:
    """Whether the pages of the repository here are rules, or only what somebody wrote."""
    here = trust.here()
    if here is not None and here.trusted:
        yield Diagnosis("pages", CheckState.OK, f"{here.name} is trusted: its pages are rules")
    elif here is not None:
        yield Diagnosis("pages", CheckState.WARN, f"{here.name} is not trusted: its pages are only quoted", trust.HOW)


def check_plugins() -> Iterator[Diagnosis]:
    """What other packages bring, and what of it is not used: nobody replaces ours."""
    for group, ours in plugins.OURS.items():
        for one in plugins.installed(group):
            if one.entry.name in ours:
                yield Diagnosis(
                    "plug-in", CheckState.WARN, f"{one} is not used: that name is ours", "give it another name"
                )
            else:
                yield Diagnosis("plug-in", CheckState.OK, str(one))
    for one, _, wrong in chain(registered(), extractors.registered(), importers.registered()):
        if wrong:
            yield Diagnosis("plug-in", CheckState.WARN, f"{one} is not used: {wrong}", "repair it, or uninstall it")
        else:
            yield Diagnosis("plug-in", CheckState.OK, str(one))


def check_embedder(embedder: Embedder) -> Diagnosis:
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
        return Diagnosis(
            "embedder", CheckState.FAIL, f"{name}: {error.message}", f"{fix}; until then texts are found by words"
        )
    spent = f"ready in {(loaded - started) * 1000:.0f} ms, {(done - loaded) * 1000:.1f} ms a text"
    return Diagnosis("embedder", CheckState.OK, f"{name}: {spent}")


def check_reranker(settings: config.Settings) -> Diagnosis:
    """Ask it, and time the answer."""
    try:
        reranker = registry.open_reranker(settings)
        started = time.perf_counter()
        reranker.score("is this machine fit to remember?", ["it is", "lunch is at one"], RERANK_SECONDS)
    except AgentMemoryError as error:
        fix = error.hint or "check the reranker's settings"
        return Diagnosis("reranker", CheckState.WARN, error.message, f"{fix}; until then hits keep their fused order")
    return Diagnosis("reranker", CheckState.OK, f"{reranker.name}: {(time.perf_counter() - started) * 1000:.0f} ms")


def check_server(settings: config.Settings, agent: str = SHARED) -> Iterator[Diagnosis]:
    """Ask it something, and time the answer; its store and its embedder are for a doctor over there."""
    try:
        memory = AgentMemory.unopened(settings, Scope(tenant=settings.tenant, user=settings.user, agent=agent))
        memory.upkeep.stats()
        started = time.perf_counter()
        stats = memory.upkeep.stats()
        spent = (time.perf_counter() - started) * 1000
        memory.close(clear=False)
    except AgentMemoryError as error:
        yield Diagnosis(
            "server", CheckState.FAIL, error.message, error.hint or "check --store and AGENT_MEMORY_API_KEY"
        )
        return
    yield Diagnosis(
        "server", CheckState.OK, f"answers in {spent:.0f} ms; {counted(stats['records'], 'record')} of {settings.user}"
    )
    owed = stats.get("scrub_owed_since")
    yield check_erasures(owed and datetime.fromisoformat(owed))
    for one in stats.get("debts") or ():
        since = one["since"] and to_micros(datetime.fromisoformat(one["since"]))
        yield from check_debts([Owed(one["place"], one["records"], since, one["error"], one.get("tenants", 0))])
    for one in stats.get("behind") or ():
        since = to_micros(datetime.fromisoformat(one["since"]))
        yield from check_lags([Lag(one["place"], one["vectors"], since, one["error"])])


def check_telemetry(settings: config.Settings | None = None) -> Diagnosis:
    """We have none, unless told to. onnxruntime does, and is told to be silent before it is loaded."""
    if "onnxruntime" in sys.modules and os.environ.get("ORT_DISABLE_TELEMETRY") != "1":
        return Diagnosis(
            "telemetry", CheckState.WARN, "onnxruntime was loaded before it was told to be silent", "report this"
        )
    if settings is None or settings.telemetry == telemetry.OFF:
        return Diagnosis("telemetry", CheckState.OK, "off")
    try:
        telemetry.begin(settings)
    except AgentMemoryError as error:
        return Diagnosis("telemetry", CheckState.FAIL, error.message, error.hint)
    return Diagnosis("telemetry", CheckState.OK, f"traces are sent over {settings.telemetry}")


def _store(settings: config.Settings, embedder: Embedder | None) -> Iterator[Diagnosis]:
    url, told = settings.store_url, places(settings)
    scheme, separator, _ = url.partition("://")
    if scheme in registry.POSTGRES:
        yield from check_database(url, settings.postgres_replica_uri, settings.shelf_lines)
        return
    if separator and scheme != "sqlite":
        yield Diagnosis("store", CheckState.WARN, f"{scheme}:// is not examined", "use its own tools")
        return
    try:
        path = registry.sqlite_path(url).absolute()
        found = check_file(path)
    except (AgentMemoryError, OSError) as error:
        yield Diagnosis("store", CheckState.FAIL, str(error), "use --store /path/to/memory.db")
        return
    yield found
    yield check_free_space(path)
    yield check_file_system(path)
    if found.state is CheckState.OK:
        inside = list(contents(path, embedder, told))
        yield from inside
        if inside[0].name != "database":  # it is ours
            yield check_permissions(path)
            yield check_writable(path)


def check_file(path: Path) -> Diagnosis:
    """There is a file, or there could be one."""
    if path.is_dir():
        return Diagnosis("store", CheckState.FAIL, f"{path} is a directory", "name a file inside it with --store")
    if path.exists():
        if not path.is_file():
            return Diagnosis("store", CheckState.FAIL, f"{path} is not a regular file", "choose another path")
        if not os.access(path, os.R_OK):
            return Diagnosis(
                "store", CheckState.FAIL, f"{path} cannot be read", "run as its owner, or change its permissions"
            )
        return Diagnosis("store", CheckState.OK, f"{path}, {sized(path.stat().st_size)}")
    folder = nearest(path.parent)
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        return Diagnosis("store", CheckState.FAIL, f"{path} cannot be created in {folder}", "choose another path")
    return Diagnosis(
        "store",
        CheckState.WARN,
        f"there is none yet at {path}",
        "the first `agent-memory add` creates it; if you expected one, check --store and AGENT_MEMORY_HOME",
    )


def check_writable(path: Path) -> Diagnosis:
    """SQLite writes the file, and its log beside it."""
    for place in (path, path.parent):
        if not os.access(place, os.W_OK):
            return Diagnosis(
                "writable",
                CheckState.FAIL,
                f"{place} cannot be written",
                "change its permissions, or how it is mounted",
            )
    return Diagnosis("writable", CheckState.OK, "the file and its folder")


def check_permissions(path: Path) -> Diagnosis:
    """Memories are private; only the group may be let in on purpose."""
    if os.name != "posix":
        return Diagnosis("permissions", CheckState.OK, "left to the system")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & stat.S_IRWXO:
        return Diagnosis(
            "permissions", CheckState.WARN, f"{mode:04o}: every user of this machine can read it", f"chmod 600 {path}"
        )
    return Diagnosis("permissions", CheckState.OK, f"{mode:04o}")


def check_free_space(path: Path) -> Diagnosis:
    free = shutil.disk_usage(nearest(path)).free
    state = CheckState.FAIL if free < NO_SPACE else CheckState.WARN if free < LITTLE_SPACE else CheckState.OK
    return Diagnosis("disk", state, f"{sized(free)} free", "" if state is CheckState.OK else "free some space")


def check_file_system(path: Path, mounts: Path = MOUNTS) -> Diagnosis:
    """SQLite's locks are not reliable over a network."""
    kind = file_system(path, mounts)
    if kind is None:
        return Diagnosis("file system", CheckState.OK, "unknown on this system")
    if on_network(kind):
        return Diagnosis(
            "file system",
            CheckState.WARN,
            f"{kind}: SQLite's locks are unreliable on a network",
            "keep the store on a local disk, or let one process at a time use it",
        )
    return Diagnosis("file system", CheckState.OK, kind)
