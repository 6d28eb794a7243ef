-- Embedding spaces, and what waits for their vectors.

-- name: spaces
select space, model, version, dimension, active from spaces order by active desc, space

-- name: change_spaces
-- For whoever changes what every write goes by: it waits for those that are being written, and others for it.
lock table spaces in exclusive mode

-- name: space
select space from spaces where model = %(model)s and version = %(version)s and dimension = %(dimension)s

-- name: insert_space
insert into spaces (space, model, version, dimension, active)
select coalesce(max(space), 0) + 1, %(model)s, %(version)s, %(dimension)s, %(active)s from spaces returning space

-- name: activate_space
update spaces set active = true where space = %(space)s

-- name: adopted
select exists (select 1 from journal j where j.tenant = 0 and j.operation = 7 and j.seq > %(after)s and j.reason = %(reason)s)

-- name: pend_everything
insert into pending (tenant, content, space, scope, part)
select distinct v.tenant, v.content, %(space)s::integer, v.scope, 0 from versions v
where not exists (select 1 from vectors x where x.tenant = v.tenant and x.space = %(space)s and x.scope = v.scope
    and x.content = v.content)
on conflict do nothing

-- name: pend_again
insert into pending (tenant, content, space, scope, part)
select distinct v.tenant, v.content, %(space)s::integer, v.scope, 0 from versions v
where not exists (select 1 from unnest(%(tenants)s::integer[], %(contents)s::bigint[]) as b (tenant, content)
    where b.tenant = v.tenant and b.content = v.content)

-- name: brought
select tenant, line, place, space, scope, content, part, start, "end", scale, data, seal from vectors
where space = %(space)s and start = 0 and "end" = 0

-- name: sample
select w.name, x.content, c.text, c.encoded, c.codec, x.part, x.start, x."end", x.scale, x.data
from (select * from vectors where space = %(space)s and start < "end" order by random() limit %(limit)s) x
join contents c on c.tenant = x.tenant and c.content = x.content
join tenants w on w.tenant = x.tenant

-- name: vectors_of
{{mine}}
select v.version, x.part, x.start, x."end", x.scale, x.data from versions v join mine m on m.scope = v.scope + 0
join vectors x on x.tenant = v.tenant and x.scope = v.scope and x.content = v.content
join spaces s on s.space = x.space and s.active
where v.tenant = (select me()) and v.version = any(%(handles)s::bigint[])
and not exists (select 1 from pending p where p.tenant = v.tenant and p.content = v.content and p.space = x.space)
order by v.version, x.part

-- name: all_pending
select count(*) from pending where space = %(space)s

-- name: tenant_pending
select w.name from pending p join tenants w on w.tenant = p.tenant where p.space = %(space)s order by p.tenant limit 1

-- name: unembedded
-- Without a reader: of all scopes of the tenant.
{{mine}}
select p.content, c.text, c.encoded, c.codec, p.part from pending p
join contents c on c.tenant = p.tenant and c.content = p.content
where p.tenant = (select me()) and p.space = %(space)s
and (%(users)s::text[] is null or p.scope in (select scope from mine)) order by p.content desc limit %(limit)s

-- name: lacking
select p.content, s."user", s.agent, s.scope, p.part from pending p join scopes s on s.tenant = p.tenant and s.scope = p.scope
where p.tenant = (select me()) and p.space = %(space)s and p.content = any(%(contents)s::bigint[])

-- name: delete_vectors
delete from vectors x using unnest(%(scopes)s::integer[], %(contents)s::bigint[]) as g (scope, content)
where x.tenant = (select me()) and x.space = %(space)s and x.scope = g.scope and x.content = g.content

-- name: go_on_pending
update pending p set part = g.part from unnest(%(contents)s::bigint[], %(parts)s::integer[]) as g (content, part)
where p.tenant = (select me()) and p.space = %(space)s and p.content = g.content

-- name: delete_pending
delete from pending where tenant = (select me()) and space = %(space)s and content = any(%(contents)s::bigint[])

-- name: unpend
delete from pending where space = %(space)s

-- name: delete_other_vectors
delete from vectors where space <> %(space)s

-- name: delete_other_pending
delete from pending where space <> %(space)s

-- name: delete_other_spaces
delete from spaces where space <> %(space)s

-- name: store_seq
select seq from tenants where tenant = 0
