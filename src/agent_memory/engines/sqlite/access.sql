-- API keys and refused calls.

-- name: keys
select id, digest, label, tenant, user, permissions, created_at, expires_at, ended_at from keys

-- name: key
{{keys}} where id = ?

-- name: keys_of
{{keys}} where :tenant is null or tenant = :tenant order by created_at desc, id desc

-- name: guarded
select exists (select 1 from journal indexed by journal_keys where tenant = 0 and operation = 8)

-- name: insert_key
insert into keys (id, digest, label, tenant, user, permissions, created_at, expires_at, ended_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: end_key
update keys set ended_at = ? where id = ? and ended_at is null

-- name: last_refusal
select coalesce(max(number), 0) from refusals

-- name: insert_refusal
insert into refusals (number, at, tenant, user, operation, reason, key, seal) values (?, ?, ?, ?, ?, ?, ?, ?)

-- name: refusals
select at, tenant, user, operation, reason, key from refusals
where tenant = :tenant and (key is not null) = :keyed order by number desc limit :limit

-- name: cut_keyed_refusals
delete from refusals where tenant = :tenant and key is not null and number <= (
    select number from refusals where tenant = :tenant and key is not null order by number desc limit 1 offset :most)

-- name: cut_keyless_refusals
delete from refusals where key is null and number <= (
    select number from refusals where key is null order by number desc limit 1 offset :most)
