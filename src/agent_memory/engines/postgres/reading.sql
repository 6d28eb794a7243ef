-- The access log.

-- name: insert_reads
insert into reads (at, tenant, "user", agent, key, door, operation, ids, shown, why, micros, tokens, money, receipt)
select * from unnest(%(at)s::bigint[], %(tenant)s::text[], %(user)s::text[], %(agent)s::text[], %(key)s::text[],
    %(door)s::text[], %(operation)s::text[], %(ids)s::text[], %(shown)s::bigint[], %(why)s::text[], %(micros)s::bigint[],
    %(tokens)s::bigint[], %(money)s::float8[], %(receipt)s::text[])

-- name: tenant_is_there
select exists (select 1 from tenants where name = %(tenant)s)

-- name: unknown_ids
select id from unnest(%(ids)s::text[]) as u (id)
where not exists (select 1 from versions v where v.tenant = (select tenant from tenants where name = %(tenant)s) and v.id = u.id)

-- name: reads
select at, tenant, "user", agent, key, door, operation, ids, shown, why, micros, tokens, money, receipt from reads
where tenant = %(tenant)s and at >= %(since)s and (%(user)s::text is null or "user" = %(user)s)
    and (%(key)s::text is null or key = %(key)s)
    and (%(id)s::text is null or position(' ' || %(id)s || ' ' in ' ' || ids || ' ') > 0)
order by number desc limit %(limit)s

-- name: forget_why
update reads set why = null
where tenant = %(tenant)s and why is not null and string_to_array(ids, ' ') && %(ids)s::text[]

-- name: oldest_read
select at from reads order by number limit 1

-- name: expire_reads
delete from reads where at < %(oldest)s
