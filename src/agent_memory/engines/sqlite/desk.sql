-- Working sets, and vectors of callers' own.

-- name: working_set
insert into working (scope, conversation, key, value, expires_at, seal) values (?, ?, ?, ?, ?, ?)
on conflict do update set value = excluded.value, expires_at = excluded.expires_at, seal = excluded.seal

-- name: working_get
select value from working where scope = ? and conversation = ? and key = ? and expires_at > ?

-- name: working_values
select key, value from working where scope = ? and conversation = ? and expires_at > ?

-- name: working_delete
delete from working where scope = ? and conversation = ? and key = ?

-- name: last_item
select coalesce(max(item), 0) from lists

-- name: list_push
insert into lists (item, scope, conversation, name, value, expires_at, seal) values (?, ?, ?, ?, ?, ?, ?)

-- name: list_cut
delete from lists where scope = ?1 and conversation = ?2 and name = ?3 and item not in (
    select item from lists where scope = ?1 and conversation = ?2 and name = ?3 order by item desc limit ?4)

-- name: list_items
select value, expires_at from lists where scope = ? and conversation = ? and name = ? order by item desc limit ?

-- name: desk_is_used
select exists (select 1 from working where scope = ?1 and conversation = ?2)
    or exists (select 1 from lists where scope = ?1 and conversation = ?2)

-- name: clear_working
delete from working where scope = ? and conversation = ?

-- name: clear_lists
delete from lists where scope = ? and conversation = ?

-- name: sweep_working
delete from working where expires_at <= ?

-- name: sweep_lists
delete from lists where item in (select l.item from lists l where (
    select n.expires_at from lists n where n.scope = l.scope and n.conversation = l.conversation and n.name = l.name
    order by n.item desc limit 1) <= :now)

-- name: namespace_dimension
select length(data) from namespaces where namespace = ? limit 1

-- name: namespace_upsert
insert into namespaces (namespace, id, scale, data, metadata, seal) values (?, ?, ?, ?, ?, ?)
on conflict do update set scale = excluded.scale, data = excluded.data, metadata = excluded.metadata,
    seal = excluded.seal

-- name: namespace_vectors
select id, scale, data, metadata from namespaces where namespace = ? order by id

-- name: namespace_delete
delete from namespaces where namespace = ? and id = ?

-- name: namespace_names
-- A tenant's, one by one through the index: there are few names, and many vectors under each.
with recursive names(name) as (
    select min(namespace) from namespaces where namespace >= :tenant || char(31)
    union all select (select min(namespace) from namespaces where namespace > name) from names
    where substr(name, 1, length(:tenant) + 1) = :tenant || char(31))
select name from names where substr(name, 1, length(:tenant) + 1) = :tenant || char(31)
