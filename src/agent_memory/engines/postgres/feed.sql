-- The feed: lines without a view, cursors and leases.

-- name: feed_lines
select j.seq, j.at, j.operation, s."user", s.agent, r.kind, coalesce(r.id, t.id), j.chain
from tenants w
join journal j on j.tenant = w.tenant
left join scopes s on s.tenant = j.tenant and s.scope = j.scope
left join versions r on r.tenant = j.tenant and r.version = j.record
left join tombstones t on t.tenant = j.tenant and t.record = j.record
where w.name = %(tenant)s and j.seq > %(after)s
order by j.seq limit %(limit)s

-- name: chain_at
select j.chain from tenants w join journal j on j.tenant = w.tenant where w.name = %(tenant)s and j.seq = %(seq)s

-- name: cursor
select c.seq, c.chain from tenants w join cursors c on c.tenant = w.tenant where w.name = %(tenant)s and c.job = %(job)s

-- name: progress
-- How far each tenant's journal is past a reader. The head says how long it is; the lines are only counted.
select w.tenant, w.name, coalesce(c.turn, 0) as turn, coalesce(c.seq, 0) as seq
from tenants w
left join cursors c on c.tenant = w.tenant and c.job = %(job)s and exists (
    select 1 from journal j where j.tenant = c.tenant and j.seq = c.seq and encode(j.chain, 'hex') = c.chain)
where w.name is not null and w.seq > coalesce(c.seq, 0)

-- name: news
select name from ({{progress}}) p order by turn, name limit %(limit)s

-- name: behind
select coalesce(sum((select count(*) from journal j where j.tenant = p.tenant and j.seq > p.seq)), 0)::bigint
from ({{progress}}) p

-- name: put_cursor
insert into cursors (tenant, job, seq, chain, turn)
select tenant, %(job)s, %(seq)s, %(chain)s, nextval('cursor_turns') from tenants where name = %(tenant)s for key share
on conflict (tenant, job) do update set seq = excluded.seq, chain = excluded.chain, turn = excluded.turn

-- name: jobs
select name, token, holder, since, until, ran_at, seconds, did, failed_at, error from leases

-- name: all_jobs
{{jobs}} order by name

-- name: job
{{jobs}} where name = %(name)s

-- name: lock_job
-- Whoever takes it or writes on its behalf waits for whoever does, also where it has no row yet.
select pg_advisory_xact_lock(hashtextextended(%(name)s, 23))

-- name: put_job
insert into leases (name, token, holder, since, until, ran_at, seconds, did, failed_at, error)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
on conflict (name) do update set token = excluded.token, holder = excluded.holder, since = excluded.since,
    until = excluded.until, ran_at = excluded.ran_at, seconds = excluded.seconds, did = excluded.did,
    failed_at = excluded.failed_at, error = excluded.error

-- name: drop_job
delete from leases where name = %(name)s

-- name: clock
-- The database's: those of the machines that ask may differ.
select (extract(epoch from clock_timestamp()) * 1000000)::bigint

-- name: hush_jobs
update leases set error = null where position(%(tenant)s in error) > 0
