-- Several embeddings of a record. A namespace holds vectors of one model (null: nobody said which).
alter table namespaces add column model text collate "C";

-- The last score of each, in the answer to a query.
create table scores (
    tenant integer not null,
    namespace text collate "C" not null,
    id text collate "C" not null,
    score double precision not null,
    at bigint not null,
    primary key (tenant, namespace, id)
);

-- What a store of vectors elsewhere has not been told yet: it is read from `namespaces` when it is told. What is not
-- there any more is deleted over there. The number of a row grows with every change. Of a tenant that is erased its rows
-- stay until then, as debts do.
create sequence missed_numbers;
create table missed (
    tenant integer not null,
    place text collate "C" not null,
    namespace text collate "C" not null,
    id text collate "C" not null,
    number bigint not null default nextval('missed_numbers'),
    at bigint not null default extract(epoch from clock_timestamp()) * 1000000,
    primary key (place, namespace, id, tenant)
);
create index missed_number on missed (place, number);

do $$
declare one text;
begin
    foreach one in array string_to_array('scores missed', ' ')
    loop
        execute format('alter table %I enable row level security', one);
        execute format('alter table %I force row level security', one);
        execute format('create policy tenants on %I using (tenant = (select me()) or (select operating()))', one);
    end loop;
end $$;
