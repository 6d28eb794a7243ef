"""PostgreSQL with pgvector: one database for many processes and machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_memory.models.errors import InvalidInput
from agent_memory.ports.store import Store

if TYPE_CHECKING:
    from agent_memory.engines.postgres.reads import Reads

SHELF_LINES = 200_000
"""Lines of the journal that may tell of a scope which is searched in memory."""


def check_address(uri: str, field: str) -> None:
    """`InvalidInput` where what this setting says is not the address of a database; nobody is asked."""
    from agent_memory.engines.postgres.connection import shown

    try:
        shown(uri)
    except InvalidInput as error:
        said = error.message.partition(": ")[2]
        raise InvalidInput(f"{field}: {said}", hint=error.hint, field=field) from None


class Opening(NamedTuple):
    """`maybe_others`: a database is taken only if it is empty or ours. Without `create`, one without our tables is an
    error. `filling`: also one that a `migrate` has begun to fill, in this version of the schema; and none of another
    version is upgraded for that."""

    maybe_others: bool = False
    create: bool = True
    filling: bool = False


def open_store(
    uri: str,
    how: Opening = Opening(),  # noqa: B008
    *,
    replica: str | None = None,
    shelf_lines: int = SHELF_LINES,
) -> Store:
    """Create or open the tables in a database. `uri` may hold a password; `Store.url` does not. `replica`: the address
    of a copy that answers what may lag a little. `shelf_lines`: a scope that more lines of the journal tell of is not
    kept in memory, but looked up in the database, once its indexes are made."""
    from agent_memory.engines.postgres.reads import Reads, Replica
    from agent_memory.engines.postgres.schema import open_database

    database = open_database(uri, how)
    try:
        return _store(Reads(database, None if replica is None else Replica(replica, database)), shelf_lines)
    except BaseException:
        database.close()
        raise


def _store(reads: Reads, shelf_lines: int) -> Store:
    from agent_memory.engines.postgres import storage, vocabulary
    from agent_memory.engines.postgres.access import PostgresAccess
    from agent_memory.engines.postgres.debts import PostgresDebts
    from agent_memory.engines.postgres.desk import PostgresWorking
    from agent_memory.engines.postgres.feed import PostgresFeed
    from agent_memory.engines.postgres.index import PostgresIndex
    from agent_memory.engines.postgres.indexing import PostgresIndexing
    from agent_memory.engines.postgres.namespaces import PostgresVectors
    from agent_memory.engines.postgres.reading import PostgresReading
    from agent_memory.engines.postgres.receipts import PostgresReceipts
    from agent_memory.engines.postgres.recode import PostgresRecoding
    from agent_memory.engines.postgres.records import PostgresRecords
    from agent_memory.engines.postgres.shipping import PostgresShipping
    from agent_memory.engines.postgres.spending import PostgresSpending
    from agent_memory.engines.postgres.tenants import PostgresTenants

    database = reads.primary
    index, records = PostgresIndex(reads, shelf_lines), PostgresRecords(reads)

    def close() -> None:
        index.shelves.close()
        reads.close()

    def after_fork(child: bool) -> None:
        reads.after_fork(child)
        if child:
            index.shelves.renew()
            records.groups.renew()

    recoding = PostgresRecoding(database)
    return Store(
        url=database.name,
        records=records,
        index=index,
        working=PostgresWorking(database),
        receipts=PostgresReceipts(database),
        vectors=PostgresVectors(database),
        access=PostgresAccess(database),
        feed=PostgresFeed(database),
        tenants=PostgresTenants(database, index.shelves.drop),
        close=close,
        before_fork=reads.before_fork,
        after_fork=after_fork,
        scrub=lambda patient: storage.pay(database, patient=patient),
        owes=lambda: storage.owed(database) is not None,
        ripe=lambda: storage.ripe(database),
        debts=PostgresDebts(database),
        vocabularies=lambda: vocabulary.stored(database),
        bound=index.shelves.bound,
        recode=recoding,
        encodings=recoding,
        bounded=database.time.bounded,
        watch=database.watched,
        indexing=PostgresIndexing(database, shelf_lines),
        shipping=PostgresShipping(database),
        spending=PostgresSpending(database),
        reading=PostgresReading(database),
    )
