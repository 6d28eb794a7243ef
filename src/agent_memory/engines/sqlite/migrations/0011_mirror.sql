-- Several embeddings of a record. A namespace holds vectors of one model (null: nobody said which).
alter table namespaces add column model text;

-- The last score of each, in the answer to a query.
create table scores (
    namespace text not null, id text not null, score real not null, at integer not null, seal blob,
    primary key (namespace, id)
) without rowid;

-- What a store of vectors elsewhere has not been told yet: it is read from `namespaces` when it is told. What is not
-- there any more is deleted over there. The number of a row grows with every change.
create table missed (
    place integer not null, namespace text not null, id text not null, number integer not null, at integer not null,
    seal blob,
    primary key (place, namespace, id)
) without rowid;
create index missed_number on missed (place, number);
