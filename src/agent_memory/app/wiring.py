"""Where the parts meet: a store, an embedder and the kinds become a runtime, shared by the clients of a process."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_memory.app import registry
from agent_memory.app.config import Settings
from agent_memory.core.govern.receipts import ReceiptBook
from agent_memory.core.recall.recall import Recalling
from agent_memory.core.write.commit import Writing
from agent_memory.core.write.embed import Embedding
from agent_memory.models.kinds.kind import Kind
from agent_memory.ports.embedder import Embedder
from agent_memory.ports.store import Store


@dataclass(eq=False)
class Runtime:
    """One open store and what works on it. Counted: the last client to leave closes it."""

    settings: Settings
    store: Store
    embedding: Embedding
    kinds: Mapping[str, Kind]
    receipts: ReceiptBook
    process: int = field(default_factory=os.getpid)
    clients: int = 0

    @property
    def writing(self) -> Writing:
        return Writing(self.store.records, self.embedding, self.kinds)

    @property
    def recalling(self) -> Recalling:
        return Recalling(self.store.index, self.embedding, self.receipts)


_open: list[Runtime] = []
_lock = threading.Lock()


def borrow(settings: Settings, embedder: Embedder | None = None) -> Runtime:
    """The runtime for these settings: one per store and embedder, so that clients share caches and connections."""
    with _lock:
        chosen = embedder or registry.open_embedder(settings)
        url = settings.store_url
        for runtime in _open:
            if (runtime.process, runtime.settings.store_url, runtime.embedding.space) == (
                os.getpid(),
                url,
                chosen.space,
            ):
                break
        else:
            runtime = build(settings, chosen)
            _open.append(runtime)
        runtime.clients += 1
        return runtime


def release(runtime: Runtime) -> None:
    with _lock:
        runtime.clients -= 1
        if runtime.clients == 0:
            _open.remove(runtime)
            _close(runtime)


def build(settings: Settings, embedder: Embedder) -> Runtime:
    kinds = registry.installed_kinds()
    store = registry.open_store(settings.store_url)
    store.records.prepare(kinds.values())
    return Runtime(settings, store, Embedding(embedder, store.index), kinds, ReceiptBook(store.receipts))


def _close(runtime: Runtime) -> None:
    runtime.receipts.flush()
    runtime.store.close()


@atexit.register
def _close_all() -> None:
    """Receipts that still wait are written when the process ends; runtimes of a parent process are left alone."""
    for runtime in _open:
        if runtime.process == os.getpid():
            _close(runtime)
    _open.clear()
