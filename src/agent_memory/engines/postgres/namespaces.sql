-- Vectors of callers' own.

-- name: namespace_lock
-- One dimension in a namespace: whoever writes there waits for whoever writes there.
select pg_advisory_xact_lock(hashtextextended(%(namespace)s, %(tenant)s))

-- name: namespace_dimension
select dimension from namespaces where tenant = %(tenant)s and namespace = %(namespace)s limit 1

-- name: namespace_upsert
insert into namespaces (tenant, namespace, id, dimension, embedding, metadata)
values (%(tenant)s, %(namespace)s, %(id)s, %(dimension)s, %(vector)s::text::vector, %(metadata)s)
on conflict (tenant, namespace, id) do update set embedding = excluded.embedding, metadata = excluded.metadata

-- name: namespace_nearest
select id, -(embedding <#> %(vector)s::text::vector), metadata from namespaces
where tenant = %(tenant)s and namespace = %(namespace)s
order by embedding <#> %(vector)s::text::vector, id

-- name: namespace_delete
delete from namespaces where tenant = %(tenant)s and namespace = %(namespace)s and id = any(%(ids)s::text[])

-- name: namespace_names
-- A tenant's, one by one through the index: there are few names, and many vectors under each.
with recursive names(name) as (
    select min(namespace) from namespaces where tenant = (select me())
    union all select (select min(n.namespace) from namespaces n where n.tenant = (select me()) and n.namespace > name)
    from names where name is not null)
select name from names where name is not null

-- name: all_namespaces
delete from namespaces where tenant = (select me())
