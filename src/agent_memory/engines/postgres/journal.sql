-- Journals: each tenant's, and the store's own, which is that of tenant 0.

-- name: lock_head
-- A statement of its own: what is read after it was committed before.
select seq, at, chain from tenants where tenant = %(tenant)s for no key update

-- name: insert_lines
insert into journal (tenant, seq, at, operation, scope, record, other, actor, reason, digest, chain)
select %(tenant)s, * from unnest(%(seq)s::bigint[], %(at)s::bigint[], %(operation)s::smallint[], %(scope)s::integer[],
    %(record)s::bigint[], %(other)s::bigint[], %(actor)s::text[], %(reason)s::text[], %(digest)s::bytea[],
    %(chain)s::bytea[])

-- name: move_head
update tenants set seq = %(seq)s, at = %(at)s, chain = %(chain)s where tenant = %(tenant)s

-- name: touch_scopes
update scopes set last = g.last, lines = scopes.lines + g.lines
from unnest(%(scopes)s::integer[], %(lasts)s::bigint[], %(lines)s::bigint[]) as g (scope, last, lines)
where scopes.tenant = %(tenant)s and scopes.scope = g.scope

-- name: found_tenant
update tenants set founded = (select seq from tenants where tenant = 0) where tenant = %(tenant)s
