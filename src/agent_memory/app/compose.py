"""One store out of several engines: records, search, spaces, receipts and access come from one, since they share
transactions; the working set and a vector store may each have a URL of their own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_memory.app import plugins, registry
from agent_memory.app.config import Settings, shown
from agent_memory.core.write.reach import Reach
from agent_memory.models.errors import InvalidInput, PartMissing
from agent_memory.ports.store import Store
from agent_memory.ports.vectors import VectorStore
from agent_memory.ports.working import WorkingStore

PORTS = {"working": WorkingStore, "vectors": VectorStore}
"""What may have a URL of its own, by the setting that says it."""
CONNECT_SECONDS = 2  # for vectors in a database, unless its URL says otherwise


def part_settings(settings: Settings) -> tuple[object, ...]:
    """What decides which engines `compose` puts together, beside the store's own, and how that is used."""
    return tuple(getattr(settings, name) for name in (*PORTS, "postgres_replica_uri", "shelf_lines"))


def part_urls(settings: Settings) -> dict[str, str]:
    """Where each part is that is not in the store itself, by its setting. A path is absolute: a place is attached to a
    store for good, and a relative one would be another in every folder."""
    home, found = registry.locate(settings.store_url), dict[str, str]()
    for name in PORTS:
        said = getattr(settings, name)
        if said is None:
            continue
        url = registry.locate(said, name)
        path = said.removeprefix("sqlite:///")
        if url.startswith("sqlite://") and not Path(path).expanduser().is_absolute():
            raise InvalidInput(
                f"{name}: {said!r} is a relative path, which is another file in every folder",
                hint=f"say where it is: {registry.variable(name)}={registry.sqlite_path(said)}",
                field=name,
            )
        if url != home:
            found[name] = url
    return found


def place(name: str, url: str) -> str:
    """What a part is called in debts, without secrets."""
    return f"{name} {shown(name, url)}"


def compose(settings: Settings, *, create: bool = True) -> Store:
    """The store that the settings name. A place outside is attached for good: from now on every erasure concerns it,
    also one by a process that does not know of it. Without `create`, no database gets tables of ours."""
    elsewhere = part_urls(settings)  # before anything is opened, or made
    store = registry.open_store(registry.locate(settings.store_url), settings=settings, create=create)
    try:
        for name, url in elsewhere.items():
            store = _with(store, name, url)
        if store.debts is not None and not store.read_only:
            for place in store.outside:
                store.debts.attach(place)
    except BaseException:
        store.close()
        raise
    return store


def _with(store: Store, name: str, url: str) -> Store:
    """A store whose part of this name is the one at the URL; of vectors it keeps a mirror of its own."""
    if store.debts is None:
        raise PartMissing(
            f"{name}: the engine of the store does not keep what another one must forget",
            hint=f"unset {registry.variable(name)}: then the store has its own",
            field=name,
        )
    where = place(name, url)
    part, owner = opened(name, url)
    return replace(
        store,
        **({"vector_store": (where, part)} if name == "vectors" else {name: part}),
        outside={**store.outside, where: part},
        close=_each(_hook(owner, "close"), store.close),
        before_fork=_each(_hook(owner, "before_fork"), store.before_fork),
        after_fork=_each(_hook(owner, "after_fork"), store.after_fork),
    )


def opened(name: str, url: str) -> tuple[Any, object]:
    """As `open_part`; vectors may be away, and are not asked before they are needed."""
    return (reached := _reached(url), reached) if name == "vectors" else open_part(name, url)


def _reached(url: str) -> Reach:
    """A vector store that may be away. What can be known without asking it is an error at once; a database is not
    connected with before it is needed."""
    if url.partition("://")[0] in registry.POSTGRES:
        registry.postgres("vectors").check_address(url, "vectors")
        return Reach(lambda: open_part("vectors", _brief(url)))
    opened = open_part("vectors", url)
    return Reach(lambda: opened)


def _brief(url: str) -> str:
    """Of a database that does not answer at all, nobody waits for long."""
    return url if "connect_timeout=" in url else f"{url}{'&' if '?' in url else '?'}connect_timeout={CONNECT_SECONDS}"


def open_part(name: str, url: str) -> tuple[Any, object]:
    """The port at a URL, and who is to be closed and told of forks: a plug-in's, or that of any store."""
    scheme = url.partition("://")[0]
    found = plugins.find(f"agent_memory.{name}", scheme)
    if found is not None:
        part = found.make(url, shape=PORTS[name])
        return part, part
    whole = registry.open_store(url, name)
    return getattr(whole, name), whole


def _hook(owner: object, name: str) -> Callable[..., None]:
    """What a plug-in has need not be closed, nor care for forks."""
    found: Callable[..., None] = getattr(owner, name, lambda *_: None)
    return found


def _each(*calls: Callable[..., None]) -> Callable[..., None]:
    def call(*arguments: object) -> None:
        with ExitStack() as later:
            for one in reversed(calls):
                later.callback(one, *arguments)

    return call
