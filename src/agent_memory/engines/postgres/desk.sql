-- Working sets.

-- name: working_set
insert into working (tenant, desk, slot, "user", agent, conversation, key, value, expires_at)
values (me(), %(desk)s, %(slot)s, %(user)s, %(agent)s, %(conversation)s, %(key)s, %(value)s, %(expires_at)s)
on conflict (tenant, desk, slot) do update set value = excluded.value, expires_at = excluded.expires_at

-- name: working_get
select value from working
where tenant = (select me()) and desk = %(desk)s and slot = %(slot)s and expires_at > %(now)s

-- name: working_values
select key, value from working where tenant = (select me()) and desk = %(desk)s and expires_at > %(now)s

-- name: working_delete
delete from working where tenant = (select me()) and desk = %(desk)s and slot = %(slot)s

-- name: list_push
insert into lists (tenant, desk, slot, "user", agent, conversation, name, value, expires_at)
values (me(), %(desk)s, %(slot)s, %(user)s, %(agent)s, %(conversation)s, %(name)s, %(value)s, %(expires_at)s)

-- name: list_cut
delete from lists where tenant = (select me()) and desk = %(desk)s and slot = %(slot)s and item <= (
    select item from lists where tenant = (select me()) and desk = %(desk)s and slot = %(slot)s
    order by item desc limit 1 offset %(keep)s)

-- name: list_items
select value, expires_at from lists where tenant = (select me()) and desk = %(desk)s and slot = %(slot)s
order by item desc limit %(limit)s

-- name: clear_working
delete from working where tenant = (select me()) and desk = %(desk)s

-- name: clear_lists
delete from lists where tenant = (select me()) and desk = %(desk)s

-- name: desk_is_used
select exists (select 1 from working where tenant = (select me()) and desk = %(desk)s)
    or exists (select 1 from lists where tenant = (select me()) and desk = %(desk)s)

-- name: sweep_working
delete from working where tenant = (select me()) and expires_at <= %(now)s

-- name: sweep_lists
-- Lists whose last item is over.
delete from lists l
using (select distinct desk, slot from lists where tenant = (select me()) and expires_at <= %(now)s) o
where l.tenant = (select me()) and l.desk = o.desk and l.slot = o.slot and (
    select n.expires_at from lists n where n.tenant = l.tenant and n.desk = l.desk and n.slot = l.slot
    order by n.item desc limit 1) <= %(now)s

-- name: values_of_readers
select desk, slot, value from working
where tenant = (select me()) and %(user)s in ("user", %(all)s) and %(agent)s in (agent, %(all)s) and value like '{%%'

-- name: items_of_readers
select desk, slot, item, value from lists
where tenant = (select me()) and %(user)s in ("user", %(all)s) and %(agent)s in (agent, %(all)s) and value like '{%%'

-- name: delete_items
delete from lists l using unnest(%(desks)s::bytea[], %(slots)s::bytea[], %(items)s::bigint[]) as g (desk, slot, item)
where l.tenant = (select me()) and l.desk = g.desk and l.slot = g.slot and l.item = g.item

-- name: delete_values
delete from working w using unnest(%(desks)s::bytea[], %(slots)s::bytea[]) as g (desk, slot)
where w.tenant = (select me()) and w.desk = g.desk and w.slot = g.slot

-- name: all_working
delete from working where tenant = (select me())

-- name: all_lists
delete from lists where tenant = (select me())
