-- Each tenant has a journal of its own, and the store one for what concerns all of them: tenant 0.
-- A row keeps the key that it had: the `line` of the file that brought it. Outside the engine a line is known by its
-- tenant and its `number` there, which is what seals and chains are made of. Within a tenant both grow together, so that
-- `versions.version`, `contents.content`, `links.link`, `to_seq` and the like are compared by line.
create table tenants (
    tenant integer primary key autoincrement,  -- never used again: the store's journal names it
    name text unique,
    base integer not null,  -- how far the one journal of all tenants went that it had a part in; the next line is base + 1
    salt blob not null,
    genesis blob not null
);

alter table journal rename column seq to line;
alter table journal add column tenant integer not null default 0;
alter table journal add column number integer not null default 0;
alter table journal add column old blob;  -- the value of the chain when all tenants had one journal
alter table tombstones rename column seq to line;
alter table scopes add column number integer not null default 0;  -- within the tenant

-- words of the users that repeat, each tenant's own: who acted
create table actors (
    actor integer primary key, tenant integer not null, text text not null,
    unique (tenant, text)
);
-- and conversations and repositories, as `labels` once all that is there has moved
create table own_labels (
    label integer primary key, tenant integer not null, text text not null,
    unique (tenant, text)
);
