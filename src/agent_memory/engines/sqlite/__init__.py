"""The default engine: everything in one SQLite file, with the standard library's driver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent_memory.ports.store import Store

if TYPE_CHECKING:
    from agent_memory.engines.sqlite.connection import Connections
    from agent_memory.engines.sqlite.index import SqliteIndex


def open_store(path: Path, setting: str | None = None, *, filling: bool = False) -> Store:
    """Create or open the file; nothing else is written beside SQLite's own log. `path` is absolute. `setting` is the
    variable that names it, where it is not the store's own. `filling`: also one that a `migrate` has begun to fill."""
    from agent_memory.engines.sqlite import scrub, vocabulary
    from agent_memory.engines.sqlite.access import SqliteAccess
    from agent_memory.engines.sqlite.debts import SqliteDebts
    from agent_memory.engines.sqlite.desk import SqliteWorking
    from agent_memory.engines.sqlite.feed import SqliteFeed
    from agent_memory.engines.sqlite.index import SqliteIndex
    from agent_memory.engines.sqlite.interning import Interning
    from agent_memory.engines.sqlite.namespaces import SqliteVectors
    from agent_memory.engines.sqlite.reading import SqliteReading
    from agent_memory.engines.sqlite.receipts import SqliteReceipts
    from agent_memory.engines.sqlite.recode import SqliteRecoding
    from agent_memory.engines.sqlite.records import SqliteRecords
    from agent_memory.engines.sqlite.schema import open_file
    from agent_memory.engines.sqlite.shipping import SqliteShipping
    from agent_memory.engines.sqlite.spending import SqliteSpending
    from agent_memory.engines.sqlite.tenants import SqliteTenants

    connections = open_file(path, setting=setting, filling=filling)
    interning = Interning()
    index = SqliteIndex(connections, interning)
    records = SqliteRecords(connections, interning)
    recoding = SqliteRecoding(connections, interning, lambda: records.kinds)

    def after_fork(child: bool) -> None:
        connections.after_fork(child)
        if child:
            index.renew()
            records.groups.renew()

    return Store(
        url=f"sqlite:///{path}",
        records=records,
        index=index,
        working=SqliteWorking(connections),
        receipts=SqliteReceipts(connections, interning),
        vectors=SqliteVectors(connections),
        access=SqliteAccess(connections),
        feed=SqliteFeed(connections, interning),
        tenants=SqliteTenants(connections, index.shelves.drop),
        close=lambda: _close(index, connections),
        read_only=connections.read_only,
        before_fork=connections.before_fork,
        after_fork=after_fork,
        scrub=lambda patient: scrub.pay(connections, patient=patient),
        debts=SqliteDebts(connections),
        owes=lambda: scrub.owes(connections),
        vocabularies=lambda: vocabulary.stored(connections),
        bound=index.shelves.bound,
        recode=recoding,
        encodings=recoding,
        shipping=SqliteShipping(connections),
        spending=SqliteSpending(connections),
        reading=SqliteReading(connections),
    )


def _close(index: SqliteIndex, connections: Connections) -> None:
    index.shelves.close()
    connections.close()
