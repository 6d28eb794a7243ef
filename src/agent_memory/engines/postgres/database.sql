-- Opening a database, and the beginning of every transaction.

-- name: begin
begin isolation level {mode}

-- name: commit
commit

-- name: probe
select 1

-- name: not_durable
-- A killed server loses nothing of it either; a power cut may.
set local synchronous_commit = off

-- name: settings
-- Everything ends with the transaction, so that a pooler may hand the connection to anybody. And what time it is.
set_config('search_path', 'agent_memory, public', true), set_config('lock_timeout', %(lock)s, true),
    set_config('statement_timeout', %(statement)s, true), set_config('idle_in_transaction_session_timeout', %(idle)s, true),
    (extract(epoch from clock_timestamp()) * 1000000)::bigint

-- name: enter
select agent_memory.enter(%(tenant)s), {{settings}}

-- name: operate
select set_config('agent_memory.operating', 'on', true), {{settings}}

-- name: me
select me()

-- name: hold_mine
select founded from tenants where tenant = (select me()) for key share

-- name: take_your_time
set local statement_timeout = 0

-- name: settle
select settle(%(tenant)s, %(salt)s, %(genesis)s)

-- name: server
select current_setting('server_version_num')::integer, pg_is_in_recovery(), current_setting('server_encoding')

-- name: store_genesis
select genesis from tenants where tenant = 0

-- name: replica
-- Whose it is, and how many seconds behind at most: as long as everything that came was replayed, and more may come, none.
select ({{store_genesis}}), case when not pg_is_in_recovery() or (pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn()
        and exists (select 1 from pg_stat_wal_receiver where pid is not null)) then 0
    else extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()) end::double precision

-- name: extension
select extversion, extnamespace::regnamespace::text from pg_extension where extname = 'vector'

-- name: create_extension
create extension if not exists vector schema public

-- name: tables_there
select exists (select 1 from pg_tables where schemaname = 'agent_memory' and tablename = 'meta')

-- name: may_use
select has_schema_privilege('agent_memory', 'usage') and has_table_privilege('agent_memory.meta', 'select')

-- name: schema_lock
-- Of whoever creates or upgrades: others wait, then find it done.
select pg_advisory_xact_lock(7018141438171079013)

-- name: create_schema
create schema if not exists agent_memory

-- name: version
-- And the oldest that a program may know and still use it: this one, where nobody has said.
select value::integer, coalesce((select value from meta where name = 'floor'), value)::integer from meta where name = 'schema'

-- name: put_version
insert into meta (name, value) values ('schema', %(version)s), ('floor', %(floor)s)
on conflict (name) do update set value = excluded.value

-- name: try_schema_lock
select pg_try_advisory_xact_lock(7018141438171079014)

-- name: idle_at_will
set local idle_in_transaction_session_timeout = 0

-- name: insert_store
insert into tenants (tenant, salt, genesis, chain) values (0, %(salt)s, %(genesis)s, %(genesis)s)

-- name: extension_available
select exists (select 1 from pg_available_extensions where name = 'vector')

-- name: others_tables
select exists (select 1 from pg_tables where schemaname not in ('pg_catalog', 'information_schema', 'agent_memory'))

-- name: health
select current_setting('server_version'), current_user, r.rolsuper, r.rolbypassrls,
    coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false), inet_server_addr() is null
        or host(inet_server_addr()) in ('127.0.0.1', '::1'),
    (extract(epoch from clock_timestamp()) * 1000000)::bigint, pg_database_size(current_database())
from pg_roles r where r.rolname = current_user

-- name: owns
select pg_has_role(current_user, c.relowner, 'usage') from pg_class c where c.oid = 'agent_memory.versions'::regclass
