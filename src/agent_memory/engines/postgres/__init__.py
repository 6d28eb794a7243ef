"""PostgreSQL with pgvector: one database for many processes and machines."""

from __future__ import annotations

from agent_memory.ports.store import Store


def open_store(uri: str, *, maybe_others: bool = False, replica: str | None = None) -> Store:
    """Create or open the tables in a database. `uri` may hold a password; `Store.url` does not. `maybe_others`: only
    where it is empty or ours. `replica`: the address of a copy that answers what may lag a little."""
    from agent_memory.engines.postgres import storage, vocabulary
    from agent_memory.engines.postgres.access import PostgresAccess
    from agent_memory.engines.postgres.debts import PostgresDebts
    from agent_memory.engines.postgres.desk import PostgresWorking
    from agent_memory.engines.postgres.feed import PostgresFeed
    from agent_memory.engines.postgres.index import PostgresIndex
    from agent_memory.engines.postgres.namespaces import PostgresVectors
    from agent_memory.engines.postgres.reads import Reads, Replica
    from agent_memory.engines.postgres.receipts import PostgresReceipts
    from agent_memory.engines.postgres.recode import Recoding
    from agent_memory.engines.postgres.records import PostgresRecords
    from agent_memory.engines.postgres.schema import open_database
    from agent_memory.engines.postgres.tenants import PostgresTenants

    database = open_database(uri, maybe_others=maybe_others)
    try:
        reads = Reads(database, None if replica is None else Replica(replica, database))
    except BaseException:
        database.close()
        raise
    index, records = PostgresIndex(reads), PostgresRecords(reads)

    def close() -> None:
        index.shelves.close()
        reads.close()

    def after_fork(child: bool) -> None:
        reads.after_fork(child)
        if child:
            index.shelves.renew()
            records.groups.renew()

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
        debts=PostgresDebts(database),
        vocabularies=lambda: vocabulary.stored(database),
        recode=Recoding(database),
    )
