-- Receipts, and what they say was accessed.

-- name: hold_head
-- Others keep receipts at the same time; an erasure waits, or is waited for.
select founded from tenants where tenant = (select me()) for share

-- name: last_erasures
-- In each of these scopes.
select s."user", s.agent, (select max(t.line) from tombstones t where t.tenant = s.tenant and t.scope = s.scope)
from unnest(%(users)s::text[], %(agents)s::text[]) as g ("user", agent)
join scopes s on s.tenant = (select me()) and s."user" = g."user" and s.agent = g.agent

-- name: records_of_versions
select version, record from versions where tenant = (select me()) and version = any(%(versions)s::bigint[])

-- name: insert_receipt
insert into receipts (tenant, id, "user", agent, at, seq, terms, body, told, seal)
values (me(), %s, %s, %s, %s, %s, %s, %s, %s, %s)

-- name: count_accesses
insert into accesses (tenant, record, count, last)
select me(), g.record, count(*), max(g.at) from unnest(%(records)s::bigint[], %(moments)s::bigint[]) as g (record, at)
group by g.record order by g.record
on conflict (tenant, record) do update
set count = accesses.count + excluded.count, last = greatest(accesses.last, excluded.last)

-- name: note_accesses
insert into accessed (tenant, record, at, times)
select me(), g.record, g.at, count(*) from unnest(%(records)s::bigint[], %(moments)s::bigint[]) as g (record, at)
group by g.record, g.at order by g.record, g.at
on conflict (tenant, record, at) do update set times = accessed.times + excluded.times

-- name: receipt
select body from receipts where tenant = (select me()) and id = %(id)s
and "user" in (%(user)s, %(all)s) and agent in (%(agent)s, %(all)s)

-- name: receipts_since
select id, "user", agent, at, body from receipts
where tenant = (select me()) and at >= %(moment)s
and (%(user)s::text is null or "user" in (%(user)s, %(all)s) and agent in (%(agent)s, %(all)s))
order by at desc, receipt desc limit %(limit)s

-- name: accesses_of
select v.id, s."user", s.agent, v.record, a.count, a.last from (
    select distinct id, scope, record from versions
    where tenant = (select me()) and id = any(%(ids)s::text[])) v
join scopes s on s.tenant = (select me()) and s.scope = v.scope
left join accesses a on a.tenant = (select me()) and a.record = v.record
where s."user" in (%(user)s, %(all)s) and s.agent in (%(agent)s, %(all)s)

-- name: accessed_until
select g.record, coalesce(sum(a.times) filter (where a.at > %(until)s), 0)::bigint, max(a.at) filter (where a.at <= %(until)s)
from unnest(%(records)s::bigint[]) as g (record)
left join accessed a on a.tenant = (select me()) and a.record = g.record group by g.record

-- name: accessed_since
select value::bigint from meta where name = 'accessed'

-- name: anything_expired
select exists (select 1 from receipts where at < %(oldest)s) or exists (select 1 from accessed where at < %(oldest)s)

-- name: leads_up
-- Whether a receipt or a line of any journal is from between these moments. Recorded times grow with the lines.
select exists (select 1 from receipts where at between %(first)s and %(last)s) or exists (
    select 1 from tenants w where (
        select j.at from journal j where j.tenant = w.tenant and j.at <= %(last)s order by j.seq desc limit 1
    ) >= %(first)s)

-- name: expire_receipts
delete from receipts where at < %(oldest)s

-- name: expire_accessed
delete from accessed where at < %(oldest)s

-- name: put_accessed_since
insert into meta (name, value) values ('accessed', %(since)s)
on conflict (name) do update set value = greatest(meta.value::bigint, excluded.value::bigint)::text
