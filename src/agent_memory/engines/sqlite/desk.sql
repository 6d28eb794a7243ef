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
