-- Readers that are too large for memory: of each of their scopes, words and vectors that the database looks up itself.
-- All of it is derived, and made by a job; `line` is how far it has come.

-- How many lines tell of a scope: about as many as a shelf of it would have rows.
alter table scopes add column lines bigint not null default 0;
update scopes s set lines = j.lines
from (select tenant, scope, count(*) as lines from journal group by tenant, scope) j
where j.tenant = s.tenant and j.scope = s.scope;

-- What counts is what was made since the line `adopted` of the store's journal. `recent`: what came later is few enough
-- for memory. `first` and `documents` are for estimates.
create table large_scopes (
    tenant integer not null,
    scope integer not null,
    space integer not null,
    dimension integer not null,
    adopted bigint not null,
    line bigint not null default 0,
    recent bigint not null default 0,
    first bigint not null default 0,
    documents bigint not null default 0,
    ready boolean not null default false,
    primary key (tenant, scope)
);

create table large_words (
    tenant integer not null,
    scope integer not null,
    term bigint not null,
    content bigint not null,
    record bigint not null
);
create index large_words_term on large_words (tenant, scope, term, content desc) include (record);
create index large_words_record on large_words (tenant, record);

-- A partial HNSW index of each scope is made when its rows are there.
create table large_vectors (
    tenant integer not null,
    scope integer not null,
    space integer not null,
    content bigint not null,
    record bigint not null,
    embedding halfvec not null
);
create index large_vectors_record on large_vectors (tenant, record);

do $$
declare one text;
begin
    foreach one in array string_to_array('large_scopes large_words large_vectors', ' ')
    loop
        execute format('alter table %I enable row level security', one);
        execute format('alter table %I force row level security', one);
        execute format('create policy tenants on %I using (tenant = (select me()) or (select operating()))', one);
    end loop;
end $$;

-- The turns beside a turn are looked up by their places.
create index versions_place on versions (tenant, conversation_hash, position) where conversation_hash is not null;
drop index versions_conversation;
