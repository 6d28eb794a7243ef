-- Opening a database, and the beginning of every transaction.

-- name: begin
begin isolation level {mode}

-- name: commit
commit

-- name: not_durable
-- A killed server loses nothing of it either; a power cut may.
set local synchronous_commit = off

-- name: settings
-- Everything ends with the transaction, so that a pooler may hand the connection to anybody.
select set_config('search_path', 'agent_memory, public', true), set_config('lock_timeout', %(lock)s, true),
    set_config('statement_timeout', %(statement)s, true), set_config('idle_in_transaction_session_timeout', %(idle)s, true)

-- name: enter
select enter(%(tenant)s)

-- name: me
select me()

-- name: settle
select settle(%(tenant)s, %(salt)s, %(genesis)s)

-- name: operate
select set_config('agent_memory.operating', 'on', true)

-- name: server
select current_setting('server_version_num')::integer, pg_is_in_recovery(), current_setting('server_encoding')

-- name: extension
select extversion from pg_extension where extname = 'vector'

-- name: create_extension
create extension if not exists vector

-- name: tables_there
select exists (select 1 from pg_tables where schemaname = 'agent_memory' and tablename = 'meta')

-- name: schema_lock
-- Of whoever creates or upgrades: others wait, then find it done.
select pg_advisory_xact_lock(7018141438171079013)

-- name: create_schema
create schema if not exists agent_memory

-- name: version
select value::integer from meta where name = 'schema'

-- name: put_version
insert into meta (name, value) values ('schema', %(version)s) on conflict (name) do update set value = excluded.value

-- name: insert_store
insert into tenants (tenant, salt, genesis, chain) values (0, %(salt)s, %(genesis)s, %(genesis)s)

-- name: role
select current_user, r.rolsuper, r.rolbypassrls, pg_has_role(current_user, c.relowner, 'usage')
from pg_roles r, pg_class c where r.rolname = current_user and c.oid = to_regclass('agent_memory.versions')

-- name: extension_available
select exists (select 1 from pg_available_extensions where name = 'vector')
