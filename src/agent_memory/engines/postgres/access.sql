-- API keys and refused calls.

-- name: keys
select id, digest, label, tenant, "user", permissions, created_at, expires_at, ended_at from keys

-- name: key
{{keys}} where id = %(id)s

-- name: keys_of
{{keys}} where %(tenant)s::text is null or tenant = %(tenant)s order by created_at desc, id desc

-- name: guarded
select exists (select 1 from journal where tenant = 0 and operation = 8)

-- name: insert_key
insert into keys (id, digest, label, tenant, "user", permissions, created_at, expires_at, ended_at)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s)

-- name: end_key
update keys set ended_at = %(at)s where id = %(id)s and ended_at is null

-- name: insert_refusal
insert into refusals (at, tenant, "user", operation, reason, key) values (%s, %s, %s, %s, %s, %s)

-- name: refusals
select at, tenant, "user", operation, reason, key from refusals
where tenant = %(tenant)s and (key is not null) = %(keyed)s order by number desc limit %(limit)s

-- name: cut_keyed_refusals
delete from refusals where tenant = %(tenant)s and key is not null and number <= (
    select number from refusals where tenant = %(tenant)s and key is not null
    order by number desc limit 1 offset %(most)s)

-- name: cut_keyless_refusals
delete from refusals where key is null and number <= (
    select number from refusals where key is null order by number desc limit 1 offset %(most)s)
