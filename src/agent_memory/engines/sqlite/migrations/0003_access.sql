-- API keys: a hash of each secret, never the secret. And calls that were refused.
create table keys (
    id text primary key, digest blob not null, label text not null, tenant text not null, user text,
    permissions text not null, created_at integer not null, expires_at integer, ended_at integer
) without rowid;
create table refusals (
    number integer primary key, at integer not null, tenant text not null, user text not null,
    operation text not null, reason text not null, key text
);
create index refusals_of on refusals (tenant, number);
