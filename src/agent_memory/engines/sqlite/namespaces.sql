-- Vectors in namespaces, and what places elsewhere have not been told of them.

-- name: namespace_settled
select length(data), model from namespaces where namespace = ? limit 1

-- name: namespace_upsert
insert into namespaces (namespace, id, scale, data, metadata, model, seal) values (?, ?, ?, ?, ?, ?, ?)
on conflict do update set scale = excluded.scale, data = excluded.data, metadata = excluded.metadata,
    model = excluded.model, seal = excluded.seal

-- name: namespace_vectors
select id, scale, data, metadata from namespaces where namespace = ? order by id

-- name: namespace_vector
select n.model, n.scale, n.data, n.metadata, s.score, s.at from namespaces n
left join scores s on s.namespace = n.namespace and s.id = n.id where n.namespace = ? and n.id = ?

-- name: namespace_counts
select namespace, min(model), min(length(data)), count(*) from namespaces where namespace = ? group by namespace

-- name: namespace_delete
delete from namespaces where namespace = ? and id = ?

-- name: namespace_names
-- Those that begin so, one by one through the index: there are few names, and many vectors under each.
with recursive names(name) as (
    select min(namespace) from namespaces where namespace >= :beginning
    union all select (select min(namespace) from namespaces where namespace > name) from names
    where substr(name, 1, length(:beginning)) = :beginning)
select name from names where substr(name, 1, length(:beginning)) = :beginning

-- name: all_vectors
select namespace, id from namespaces

-- name: put_score
insert or replace into scores (namespace, id, score, at, seal)
select :namespace, :id, :score, :at, :seal from namespaces where namespace = :namespace and id = :id

-- name: delete_score
delete from scores where namespace = ? and id = ?

-- name: vector_places
select place, name from places where substr(name, 1, 8) = 'vectors '

-- name: place_number
select place from places where name = ?

-- name: next_missed
select coalesce(max(number), 0) + 1 from missed where place = ?

-- name: missed_since
select at from missed where place = ? and namespace = ? and id = ?

-- name: put_missed
insert or replace into missed (place, namespace, id, number, at, seal) values (?, ?, ?, ?, ?, ?)

-- name: all_missed
select m.namespace, m.id, m.number, n.scale, n.data, n.metadata from missed m
left join namespaces n on n.namespace = m.namespace and n.id = m.id
where m.place = ? and m.number > ? order by m.number limit ?

-- name: told
delete from missed where place = ? and namespace = ? and id = ? and number = ?

-- name: missed_written_off
delete from missed where place in (select place from places where name = ?)

-- name: lags
select p.name, count(*), min(m.at), p.error from missed m join places p on p.place = m.place group by p.place order by p.name

-- name: lags_in
select exists (select 1 from missed where place = :place and namespace = :namespace)
    or exists (select 1 from debts where place = :place and tenant = :tenant)
