#!/bin/sh
# Run once, by the image of PostgreSQL, when its data folder is new: a database and a role of its own for agent-memory,
# which is not a superuser.
set -eu
psql --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname=postgres <<'SQL'
\set password `cat /run/secrets/memory_password`
create role memory login password :'password';
create database memory owner memory encoding 'UTF8' template template0;
\connect memory
create extension vector;
SQL
