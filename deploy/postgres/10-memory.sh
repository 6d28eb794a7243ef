#!/bin/sh
# Run once, by the image of PostgreSQL, when its data folder is new: a database for agent-memory, and two roles, neither
# of them a superuser. One owns the tables, and only creates and upgrades them; the other works with them, and is held to
# its tenant by row-level security.
set -eu
psql --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname=postgres <<'SQL'
\set owner_password `cat /run/secrets/owner_password`
\set password `cat /run/secrets/memory_password`
create role memory_owner login password :'owner_password';
create role memory login password :'password';
create database memory owner memory_owner encoding 'UTF8' template template0;
\connect memory
create extension vector;
create schema agent_memory authorization memory_owner;
grant usage on schema agent_memory to memory;
alter default privileges for role memory_owner in schema agent_memory
    grant select, insert, update, delete, maintain on tables to memory;
alter default privileges for role memory_owner in schema agent_memory grant usage on sequences to memory;
alter default privileges for role memory_owner in schema agent_memory grant execute on functions to memory;
SQL
