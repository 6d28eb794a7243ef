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

-- name: storage_awaited
-- Who can still look at it.
select pid, usename, application_name, (extract(epoch from xact_start) * 1000000)::bigint from pg_stat_activity, storage
where pid <> pg_backend_pid() and age(backend_xmin) >= age(last::xid) order by xact_start limit 1

-- name: orders
-- Of each table an index over all of its rows.
select distinct on (t.relname) t.relname, i.relname from pg_index x
join pg_class t on t.oid = x.indrelid join pg_class i on i.oid = x.indexrelid join pg_am a on a.oid = i.relam
where t.relnamespace = 'agent_memory'::regnamespace and t.relname = any(%(tables)s::text[])
    and a.amname = 'btree' and x.indpred is null and x.indisvalid
order by t.relname, x.indisprimary desc

-- name: unready_large
-- Also those that are not ready yet: whoever wants to say so waits, and then looks again.
update large_scopes set ready = false where dimension > 0

-- name: shed_index
drop index agent_memory.{index}

-- name: rewrite
-- Unlike `vacuum full` it can be in a transaction, with a limit of its own for locks, also behind a pooler.
cluster {table} using {index}

-- name: count_rows
analyze {table}
