-- What was erased and is still in the files of the database, until the tables are rewritten.

-- name: owe_storage
insert into storage (one, since, erasures, last, tenants) values (true, %(now)s, 1, pg_current_xact_id(), %(tenant)s)
on conflict (one) do update set erasures = storage.erasures + 1, last = excluded.last,
    tenants = storage.tenants or excluded.tenants

-- name: storage_owed
-- `free`: no transaction, here or on a replica, can still look at what was there before the last erasure.
select since, erasures, last < pg_snapshot_xmin(pg_current_snapshot())
    and not exists (select 1 from pg_stat_activity where pid <> pg_backend_pid() and age(backend_xmin) >= age(last::xid))
    and not exists (select 1 from pg_replication_slots where age(xmin) >= age(last::xid)) as free, tenants
from storage

-- name: storage_paid
delete from storage where erasures = %(erasures)s

-- name: filenodes
-- Another one after each rewrite.
select relname, pg_relation_filenode(oid) from pg_class
where relnamespace = 'agent_memory'::regnamespace and relname = any(%(tables)s::text[])

-- name: rewrite
vacuum (full, analyze) {tables}
