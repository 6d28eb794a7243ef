-- The feed: lines without a view, cursors and leases.

-- name: feed_lines
select j.seq, j.at, j.operation, j.scope, n.text, coalesce(r.id, t.id), j.chain
from journal j
join scopes s on s.scope = j.scope
left join versions r on r.version = j.record
left join names n on n.name = r.kind
left join tombstones t on t.record = j.record
where s.tenant = :tenant and j.seq > :after
order by j.seq limit :limit

-- name: chain_at
select lower(hex(j.chain)) from journal j join scopes s on s.scope = j.scope where j.seq = ? and s.tenant = ?

-- name: cursor
select seq, chain from cursors where job = ? and tenant = ?

-- name: progress
with standing as (
    select c.tenant, c.seq, c.turn from cursors c
    join journal j on j.seq = c.seq and lower(hex(j.chain)) = c.chain
    join scopes s on s.scope = j.scope and s.tenant = c.tenant
    where c.job = :job
)
select s.tenant, coalesce(d.turn, 0) as turn, count(*) as lines
from journal j
join scopes s on s.scope = j.scope
left join standing d on d.tenant = s.tenant
where j.seq > coalesce(d.seq, 0)
group by s.tenant

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
