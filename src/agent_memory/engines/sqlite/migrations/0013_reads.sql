-- The access log: who read which memories, when, and why.
create table reads (
    number integer primary key, at integer not null, tenant text not null, user text not null, agent text not null,
    key text, door text not null, operation text not null, ids text not null, shown integer not null, why text,
    micros integer not null, tokens integer, money real, receipt text, seal blob
);
create index reads_of on reads (tenant, number);
