-- Places outside that hold traces of records, and which erased ones each must still forget: ids, never words.

create table places (
    place integer primary key,
    name text not null unique,
    error text,
    seal blob
);

create table debts (
    place integer not null,
    tenant text not null,
    user text not null,
    agent text not null,
    id text not null,
    seq integer not null,
    at integer not null,
    seal blob,
    primary key (place, tenant, user, agent, id)
) without rowid;
