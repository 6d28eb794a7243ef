-- Rows have the numbers of their tenant's journal: every key begins with the tenant. Names are stored as words. What is
-- only compared as a whole is in text that sorts by its bytes, so that no locale of a server changes an order.

create table meta (name text collate "C" primary key, value text not null);

-- The store itself is tenant 0, and has no name. `seq`, `at` and `chain` are the head of the journal: a writer holds this
-- row. `founded` is the line of the store's journal that tells of it. A number is never used again.
create sequence tenant_numbers;

create table tenants (
    tenant integer primary key,
    name text collate "C" unique,
    base bigint not null default 0,
    salt bytea not null,
    genesis bytea not null,
    seq bigint not null default 0,
    at bigint not null default 0,
    chain bytea not null,
    founded bigint not null default 0
);

create table journal (
    tenant integer not null,
    seq bigint not null,
    at bigint not null,
    operation smallint not null,
    scope integer not null,
    record bigint,
    other bigint,
    actor text collate "C" not null,
    reason text collate "C",
    digest bytea not null,
    chain bytea not null,
    primary key (tenant, seq)
);
create index journal_scope on journal (tenant, scope, seq);
create index journal_keys on journal (seq) where tenant = 0 and operation = 8;
create index journal_adopted on journal (seq) where tenant = 0 and operation = 7;

create table scopes (
    tenant integer not null,
    scope integer not null,
    "user" text collate "C" not null,
    agent text collate "C" not null,
    last bigint not null default 0,
    primary key (tenant, scope),
    unique (tenant, "user", agent)
);

-- A content and its words; `text` is as it stands, `encoded` by a codec.
create table contents (
    tenant integer not null,
    content bigint not null,
    text text,
    encoded bytea,
    codec text,
    payload text not null,
    salt bytea not null,
    length integer not null,
    terms bytea not null,
    vocabulary integer not null,
    primary key (tenant, content)
);

-- A key may be longer than an entry of an index, its hash is not; and a column of its own is looked up behind the walls.
create table versions (
    tenant integer not null,
    version bigint not null,
    record bigint not null,
    id text collate "C" not null,
    number integer not null,
    content bigint not null,
    scope integer not null,
    kind text collate "C" not null,
    key text collate "C",
    key_hash bigint generated always as (hashtextextended(key, 0)) stored,
    conversation text collate "C",
    conversation_hash bigint generated always as (hashtextextended(conversation, 0)) stored,
    position bigint,
    repository text collate "C",
    status text collate "C" not null,
    importance double precision not null,
    confidence double precision not null,
    source text collate "C" not null,
    valid_from bigint not null,
    valid_to bigint,
    ended bigint,
    primary key (tenant, version)
);
create index versions_id on versions (tenant, id, scope);
create index versions_record on versions (tenant, record);
create index versions_scope on versions (tenant, scope, version);
create index versions_time on versions (tenant, kind, scope, valid_from, record);
create index versions_key on versions (tenant, key_hash) where key_hash is not null;
create index versions_conversation on versions (tenant, conversation_hash) where conversation_hash is not null;
create index versions_ended on versions (tenant, ended) where ended is not null;

create table links (
    tenant integer not null,
    link bigint not null,
    source bigint not null,
    target bigint not null,
    type text collate "C" not null,
    scope integer not null,
    weight double precision not null,
    properties text not null,
    salt bytea not null,
    ended bigint,
    primary key (tenant, link)
);
create index links_source on links (tenant, source, type);
create index links_target on links (tenant, target, type);
create index links_scope on links (tenant, scope, link);
create index links_ended on links (tenant, ended) where ended is not null;

create table tombstones (
    tenant integer not null,
    record bigint not null,
    id text collate "C" not null,
    scope integer not null,
    line bigint not null,
    primary key (tenant, record)
);
create index tombstones_scope on tombstones (tenant, scope, line);
create index tombstones_id on tombstones (tenant, id);

-- A field is a word or a number, which is exactly the one that came: 0.1 as the nearest one in binary.
create table fields (
    tenant integer not null,
    content bigint not null,
    name text collate "C" not null,
    word text collate "C",
    number numeric
);
create index fields_content on fields (tenant, content);

create table spaces (
    space integer primary key,
    model text collate "C" not null,
    version text collate "C" not null,
    dimension integer not null,
    active boolean not null,
    unique (model, version, dimension)
);

create table vectors (
    tenant integer not null,
    line bigint not null,
    place integer not null,
    space integer not null,
    scope integer not null,
    content bigint not null,
    part integer not null,
    start integer not null,
    "end" integer not null,
    scale double precision not null,
    data bytea not null,
    seal bytea not null,
    primary key (tenant, line, place)
);
create index vectors_content on vectors (tenant, scope, space, content);

create table pending (
    tenant integer not null,
    content bigint not null,
    space integer not null,
    scope integer not null,
    part integer not null,
    primary key (tenant, content, space)
);
create index pending_scope on pending (tenant, space, scope);

create table vocabularies (
    vocabulary integer primary key,
    name text collate "C" not null,
    digest text collate "C" not null,
    active boolean not null
);
create unique index vocabularies_active on vocabularies (active) where active;

create table receipts (
    tenant integer not null,
    receipt bigint not null generated by default as identity,
    id text collate "C" not null,
    "user" text collate "C" not null,
    agent text collate "C" not null,
    at bigint not null,
    seq bigint not null,
    terms bytea not null,
    body text not null,
    told bigint[] not null,
    seal bytea not null,
    primary key (tenant, id)
);
create index receipts_at on receipts (tenant, at);
create index receipts_over on receipts (at);

create table accesses (
    tenant integer not null,
    record bigint not null,
    count bigint not null,
    last bigint not null,
    primary key (tenant, record)
);

create table accessed (
    tenant integer not null,
    record bigint not null,
    at bigint not null,
    times bigint not null,
    primary key (tenant, record, at)
);
create index accessed_over on accessed (at);

create table answers (
    tenant integer not null,
    scope integer not null,
    key text collate "C" not null,
    request bytea not null,
    at bigint not null,
    answer text not null,
    seal bytea not null,
    primary key (tenant, scope, key)
);
create index answers_at on answers (tenant, at);

-- `desk` and `slot` are hashes of whose it is and of its name: both may be longer than an entry of an index.
create table working (
    tenant integer not null,
    desk bytea not null,
    slot bytea not null,
    "user" text collate "C" not null,
    agent text collate "C" not null,
    key text collate "C" not null,
    value text not null,
    expires_at bigint not null,
    primary key (tenant, desk, slot)
);
create index working_expires on working (tenant, expires_at);

create table lists (
    tenant integer not null,
    desk bytea not null,
    slot bytea not null,
    item bigint not null generated by default as identity,
    "user" text collate "C" not null,
    agent text collate "C" not null,
    value text not null,
    expires_at bigint not null,
    primary key (tenant, desk, slot, item)
);
create index lists_expires on lists (tenant, expires_at);

create table namespaces (
    tenant integer not null,
    namespace text collate "C" not null,
    id text collate "C" not null,
    dimension integer not null,
    embedding vector not null,
    metadata text not null,
    primary key (tenant, namespace, id)
);

create table cursors (
    tenant integer not null,
    job text collate "C" not null,
    seq bigint not null,
    chain text collate "C" not null,
    turn bigint not null,
    primary key (tenant, job)
);

-- Whose cursor moved last.
create sequence cursor_turns;

-- An empty `id`: everything of the tenant, whose name stays here for so long.
create table debts (
    tenant integer not null,
    whose text collate "C" not null,
    place text collate "C" not null,
    "user" text collate "C" not null,
    agent text collate "C" not null,
    id text collate "C" not null,
    seq bigint not null,
    at bigint not null,
    primary key (tenant, place, "user", agent, id)
);

create table keys (
    id text collate "C" primary key,
    digest bytea not null,
    label text not null,
    tenant text collate "C" not null,
    "user" text collate "C",
    permissions text not null,
    created_at bigint not null,
    expires_at bigint,
    ended_at bigint
);

create table refusals (
    number bigint primary key generated by default as identity,
    at bigint not null,
    tenant text collate "C" not null,
    "user" text collate "C" not null,
    operation text not null,
    reason text not null,
    key text collate "C"
);
create index refusals_of on refusals (tenant, number);

create table leases (
    name text collate "C" primary key,
    token bigint not null,
    holder text,
    since bigint not null,
    until bigint not null,
    ran_at bigint,
    seconds double precision,
    did text not null,
    failed_at bigint,
    error text
);

-- What was erased since the tables were rewritten: from when on, how often, by which transaction last, and whether a whole
-- tenant was among it.
create table storage (
    one boolean primary key check (one),
    since bigint not null,
    erasures bigint not null,
    last xid8 not null,
    tenants boolean not null
);

create table places (name text collate "C" primary key, error text);

-- Whose rows a transaction may see. `enter` says so at its beginning, and it ends with it: -1 is nobody's. Who operates
-- the store sees all of them.
create function me() returns integer stable language sql
    as $$select nullif(current_setting('agent_memory.tenant', true), '')::integer$$;
create function operating() returns boolean stable language sql
    as $$select coalesce(current_setting('agent_memory.operating', true), '') = 'on'$$;
create function enter(wanted text) returns integer volatile security definer language sql
    set search_path = agent_memory, pg_temp
    as $$select set_config('agent_memory.tenant', coalesce((select tenant from tenants where name = wanted), -1)::text, true)::integer$$;

-- A field of a payload, for views. What JSON may say and no text can hold here is U+FFFD.
create function said(document text, field text) returns text immutable strict parallel safe language sql
    as $$select (case when position('\u0000' in document) = 0 then document
        else regexp_replace(document, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g') end)::json ->> field$$;

-- A tenant that comes for the first time gets a number; its journal begins with its first write. Whoever makes the same one
-- meanwhile waits, and holds nothing that anybody else needs.
create function settle(wanted text, its_salt bytea, beginning bytea) returns integer volatile security definer language plpgsql
    set search_path = agent_memory, pg_temp
    as $$
    begin
        insert into tenants (tenant, name, salt, genesis, chain)
            select nextval('tenant_numbers'), wanted, its_salt, beginning, beginning
            where not exists (select 1 from tenants where name = wanted) on conflict (name) do nothing;
        return enter(wanted);
    end $$;
revoke execute on function settle(text, bytea, bytea) from public;

-- Behind the filters of every statement: a role that does not own these tables, and forgets to enter, sees nothing. What
-- is the store's own is seen by whoever has entered, and changed by whoever writes.
do $$
declare one text;
begin
    foreach one in array string_to_array('scopes contents versions links tombstones fields vectors pending receipts '
        'accesses accessed answers working lists namespaces cursors debts', ' ')
    loop
        execute format('alter table %I enable row level security', one);
        execute format('alter table %I force row level security', one);
        execute format('create policy tenants on %I using (tenant = (select me()) or (select operating()))', one);
    end loop;
    foreach one in array string_to_array('tenants journal', ' ')
    loop
        execute format('alter table %I enable row level security', one);
        execute format('create policy tenants on %I using (tenant in ((select me()), 0) and (select me()) is not null '
            'or (select operating()))', one);
    end loop;
    foreach one in array string_to_array('meta spaces vocabularies places storage leases keys refusals', ' ')
    loop
        execute format('alter table %I enable row level security', one);
        execute format('create policy entered on %I using ((select me()) is not null or (select operating()))', one);
    end loop;
end $$;
alter table journal force row level security;
