-- Vectors in namespaces, and what places elsewhere have not been told of them.

-- name: namespace_lock
-- One model in a namespace: whoever writes there waits for whoever writes there.
select pg_advisory_xact_lock(hashtextextended(%(namespace)s, %(tenant)s))

-- name: namespaces_share
-- Whoever adds a vector waits for whoever forgets a record: then it is seen that the record is gone.
select pg_advisory_xact_lock_shared(hashtextextended(chr(31), %(tenant)s))

-- name: namespaces_hold
-- Whoever forgets waits for whoever adds one, and finds it, also in a namespace that is new.
select pg_advisory_xact_lock(hashtextextended(chr(31), %(tenant)s))

-- name: namespace_settled
-- In order, so that the index is used whatever the database has counted.
select dimension, model from namespaces where tenant = %(tenant)s and namespace = %(namespace)s order by id limit 1

-- name: namespace_upsert
insert into namespaces (tenant, namespace, id, dimension, embedding, metadata, model)
values (%(tenant)s, %(namespace)s, %(id)s, %(dimension)s, %(vector)s::text::vector, %(metadata)s, %(model)s)
on conflict (tenant, namespace, id) do update
set embedding = excluded.embedding, metadata = excluded.metadata, model = excluded.model

-- name: namespace_nearest
select id, -(embedding <#> %(vector)s::text::vector), metadata from namespaces
where tenant = %(tenant)s and namespace = %(namespace)s
order by embedding <#> %(vector)s::text::vector, id

-- name: namespace_held
select n.namespace, n.model, n.embedding::text, n.metadata, s.score, s.at from namespaces n
left join scores s on s.tenant = n.tenant and s.namespace = n.namespace and s.id = n.id
where n.tenant = (select me()) and n.namespace = any(%(names)s::text[]) and n.id = %(id)s order by n.namespace

-- name: namespace_places
select namespace, id, model, metadata from namespaces
where tenant = (select me()) and namespace = any(%(names)s::text[]) and id = any(%(ids)s::text[]) order by namespace, id

-- name: namespace_counts
select namespace, min(model), min(dimension), count(*) from namespaces
where tenant = (select me()) and namespace = any(%(names)s::text[]) group by namespace order by namespace

-- name: namespace_delete
delete from namespaces where tenant = %(tenant)s and namespace = %(namespace)s and id = any(%(ids)s::text[])

-- name: namespace_names
-- Those that begin so, one by one through the index: there are few names, and many vectors under each.
with recursive names(name) as (
    select min(namespace) from namespaces where tenant = (select me()) and namespace >= %(beginning)s
    union all select (select min(n.namespace) from namespaces n where n.tenant = (select me()) and n.namespace > name)
    from names where starts_with(name, %(beginning)s))
select name from names where starts_with(name, %(beginning)s)

-- name: all_namespaces
delete from namespaces where tenant = (select me())

-- name: all_scores
delete from scores where tenant = (select me())

-- name: put_scores
-- Of vectors that stay until this is committed; in order, so that two do not wait for each other.
insert into scores (tenant, namespace, id, score, at)
select n.tenant, n.namespace, n.id, g.score, g.at
from unnest(%(namespaces)s::text[], %(ids)s::text[], %(scores)s::double precision[], %(ats)s::bigint[])
    as g (namespace, id, score, at)
join namespaces n on n.tenant = (select me()) and n.namespace = g.namespace and n.id = g.id
order by n.namespace, n.id for key share of n
on conflict (tenant, namespace, id) do update set score = excluded.score, at = excluded.at

-- name: delete_scores
delete from scores where tenant = %(tenant)s and namespace = %(namespace)s and id = any(%(ids)s::text[])

-- name: miss
-- That these have changed, to each store of vectors elsewhere or to one.
insert into missed (tenant, place, namespace, id)
select %(tenant)s, p.name, %(namespace)s, g.id from places p, unnest(%(ids)s::text[]) as g (id)
where starts_with(p.name, 'vectors ') and p.name = coalesce(%(place)s, p.name)
on conflict (tenant, place, namespace, id) do update set number = excluded.number

-- name: miss_again
-- The same where it is missed already: somebody may be telling it right now. What is not is a debt's affair.
update missed set number = nextval('missed_numbers')
where tenant = %(tenant)s and namespace = %(namespace)s and id = any(%(ids)s::text[])

-- name: miss_tenant_again
update missed set number = nextval('missed_numbers') where tenant = %(tenant)s

-- name: miss_all
insert into missed (tenant, place, namespace, id) select tenant, %(place)s, namespace, id from namespaces

-- name: all_missed
select m.namespace, m.id, m.number, n.embedding::text, n.metadata from missed m
left join namespaces n on n.tenant = m.tenant and n.namespace = m.namespace and n.id = m.id
where m.place = %(place)s and m.number > %(after)s order by m.number limit %(limit)s

-- name: told
delete from missed m using unnest(%(namespaces)s::text[], %(ids)s::text[], %(numbers)s::bigint[]) as g (namespace, id, number)
where m.place = %(place)s and m.namespace = g.namespace and m.id = g.id and m.number = g.number

-- name: missed_written_off
delete from missed where place = %(place)s

-- name: lags
select p.name, count(*), min(m.at), p.error from missed m join places p on p.name = m.place
group by p.name, p.error order by p.name

-- name: lags_in
-- By names: a tenant that was erased, and came again, has another number.
select exists (select 1 from missed where place = %(place)s and namespace = %(namespace)s)
    or exists (select 1 from debts where place = %(place)s and whose = %(tenant)s)
