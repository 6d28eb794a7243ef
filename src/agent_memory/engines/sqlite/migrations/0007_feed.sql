-- The feed: who does a job (name, token, holder, from when until when) and what came of its last runs; how far each job
-- has read the lines of each tenant, and its turn: whoever was served longest ago is next.
create table leases (
    name text primary key, token integer not null, holder text, since integer not null, until integer not null,
    ran_at integer, seconds real, did text not null, failed_at integer, error text, seal blob
) without rowid;
create table cursors (
    job text not null, tenant text not null, seq integer not null, chain text not null, turn integer not null,
    seal blob,
    primary key (job, tenant)
) without rowid;
