-- The access log.

-- name: insert_reads
insert into reads (first, last, tenant, reasons, lines)
select * from unnest(%(first)s::bigint[], %(last)s::bigint[], %(tenant)s::text[], %(reasons)s::bigint[], %(lines)s::text[])

-- name: tenant_is_there
select exists (select 1 from tenants where name = %(tenant)s)

-- name: unknown_ids
select id from unnest(%(ids)s::text[]) as u (id)
where not exists (select 1 from versions v where v.tenant = (select tenant from tenants where name = %(tenant)s) and v.id = u.id)

-- name: reads
select lines from reads
where tenant = %(tenant)s and last >= %(since)s and (%(id)s::text is null or position(%(id)s in lines) > 0)
    and (%(user)s::text is null or position(%(user)s in lines) > 0)
    and (%(key)s::text is null or position(%(key)s in lines) > 0)
order by number desc

-- name: reads_explained
select number, lines from reads
where tenant = %(tenant)s and reasons > 0
    and exists (select 1 from unnest(%(ids)s::text[]) as u (id) where position(u.id in lines) > 0)

-- name: forget_why
update reads set reasons = %(reasons)s, lines = %(lines)s where number = %(number)s

-- name: oldest_read
select first from reads order by number limit 1

-- name: expire_reads
delete from reads where last < %(oldest)s
