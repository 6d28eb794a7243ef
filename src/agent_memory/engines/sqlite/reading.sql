-- The access log.

-- name: last_read
select coalesce(max(number), 0) from reads

-- name: insert_read
insert into reads (number, at, tenant, user, agent, key, door, operation, ids, shown, why, micros, tokens, money, receipt,
    seal)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: reads
select at, tenant, user, agent, key, door, operation, ids, shown, why, micros, tokens, money, receipt from reads
where tenant = :tenant and at >= :since and (:user is null or user = :user) and (:key is null or key = :key)
    and (:id is null or instr(' ' || ids || ' ', ' ' || :id || ' ') > 0)
order by number desc limit :limit

-- name: reads_explained
select number, ids from reads where tenant = ? and why is not null

-- name: read_row
select number, at, tenant, user, agent, key, door, operation, ids, shown, null, micros, tokens, money, receipt from reads
where number = ?

-- name: forget_why
update reads set why = null, seal = ? where number = ?

-- name: known_id
select exists (select 1 from versions where id = ?)

-- name: oldest_read
select at from reads order by number limit 1

-- name: expire_reads
delete from reads where at < ?
