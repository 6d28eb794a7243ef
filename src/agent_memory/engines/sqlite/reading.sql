-- The access log.

-- name: last_read
select coalesce(max(number), 0) from reads

-- name: put_reads
insert or replace into reads (number, first, last, tenant, reasons, lines, seal) values (?, ?, ?, ?, ?, ?, ?)

-- name: reads
select lines from reads
where tenant = :tenant and last >= :since and (:id is null or instr(lines, :id) > 0)
    and (:user is null or instr(lines, :user) > 0) and (:key is null or instr(lines, :key) > 0)
order by number desc

-- name: reads_explained
select number, first, last, tenant, reasons, lines, seal from reads
where tenant = ? and reasons > 0 and exists (select 1 from json_each(?) where instr(lines, value) > 0)

-- name: known_id
select exists (select 1 from versions where id = ?)

-- name: oldest_read
select first from reads order by number limit 1

-- name: expire_reads
delete from reads where last < ?
