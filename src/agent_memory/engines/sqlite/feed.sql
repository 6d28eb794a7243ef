-- The feed: lines without a view, cursors and leases.

-- name: feed_lines
select j.number, j.at, j.operation, j.scope, n.text, coalesce(r.id, t.id), j.chain
from tenants w
cross join journal j on j.tenant = w.tenant
left join versions r on r.version = j.record
left join names n on n.name = r.kind
left join tombstones t on t.record = j.record
where w.name = :tenant and j.number > :after
order by j.number limit :limit

-- name: chain_at
select lower(hex(j.chain)) from tenants w cross join journal j on j.tenant = w.tenant and j.number = ? where w.name = ?

-- name: cursor
select seq, chain from cursors where job = ? and tenant = ?

-- name: progress
with standing as (
    select c.tenant, c.seq, c.turn from cursors c
    cross join tenants w on w.name = c.tenant
    cross join journal j on j.tenant = w.tenant and j.number = c.seq and lower(hex(j.chain)) = c.chain
    where c.job = :job
)
select w.name as tenant, coalesce(d.turn, 0) as turn, count(*) as lines
from tenants w
left join standing d on d.tenant = w.name
cross join journal j on j.tenant = w.tenant and j.number > coalesce(d.seq, 0)
where w.name is not null
group by w.name

-- name: news
select tenant from ({{progress}}) order by turn, tenant limit :limit

-- name: behind
select coalesce(sum(lines), 0) from ({{progress}})

-- name: next_turn
select coalesce(max(turn), 0) + 1 from cursors where job = ?

-- name: put_cursor
insert or replace into cursors (job, tenant, seq, chain, turn, seal) values (?, ?, ?, ?, ?, ?)

-- name: job
select name, token, holder, since, until, ran_at, seconds, did, failed_at, error from leases where name = ?

-- name: jobs
select name, token, holder, since, until, ran_at, seconds, did, failed_at, error from leases order by name

-- name: put_job
insert or replace into leases (name, token, holder, since, until, ran_at, seconds, did, failed_at, error, seal)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: drop_job
delete from leases where name = ?
