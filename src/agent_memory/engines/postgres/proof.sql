-- What `verify` reads, in order, of all tenants or of one. A row is known by its tenant and its number.

-- name: proof_tenants
select tenant, name, base, salt, genesis from tenants order by tenant

-- name: told_of_tenants
select operation, record, other, digest, reason from journal
where tenant = 0 and operation = any(%(operations)s::smallint[]) order by seq

-- name: proof_lines
select j.tenant, j.seq, j.at, j.operation, j.scope, w.name, s."user", s.agent, j.record, j.other, j.actor, j.reason,
    j.digest, j.chain, t.record is not null or u.record is not null
from journal j join tenants w on w.tenant = j.tenant
left join scopes s on s.tenant = j.tenant and s.scope = j.scope
left join tombstones t on t.tenant = j.tenant and t.record = j.record
left join tombstones u on u.tenant = j.tenant and u.record = j.other
where (%(tenant)s::integer is null or j.tenant = %(tenant)s) order by j.tenant, j.seq

-- name: proof_versions
select v.tenant, v.version, v.record, v.id, w.name, s."user", s.agent, v.kind, v.number, v.valid_from, v.valid_to, v.key,
    v.conversation, v.position, v.repository, v.status, v.importance, v.confidence, v.source, c.text, c.encoded, c.codec,
    c.payload, c.salt
from versions v
left join tenants w on w.tenant = v.tenant
left join scopes s on s.tenant = v.tenant and s.scope = v.scope
left join contents c on c.tenant = v.tenant and c.content = v.content
where (%(tenant)s::integer is null or v.tenant = %(tenant)s) order by v.tenant, v.version

-- name: proof_ended_versions
select tenant, ended, version, record from versions v
where ended is not null and (%(tenant)s::integer is null or tenant = %(tenant)s) order by tenant, ended

-- name: proof_links
select l.tenant, l.{row}, l.link, l.source, l.target, l.type, w.name, s."user", s.agent, l.weight, l.properties, l.salt
from links l
left join tenants w on w.tenant = l.tenant
left join scopes s on s.tenant = l.tenant and s.scope = l.scope
where l.{row} is not null and (%(tenant)s::integer is null or l.tenant = %(tenant)s) order by l.tenant, l.{row}

-- name: proof_tombstones
select t.tenant, t.line, t.record, t.id, w.name, s."user", s.agent from tombstones t
left join tenants w on w.tenant = t.tenant
left join scopes s on s.tenant = t.tenant and s.scope = t.scope
where (%(tenant)s::integer is null or t.tenant = %(tenant)s) order by t.tenant, t.line

-- name: proof_common
select j.seq, j.at, j.operation, coalesce(s.old, 0), j.record, j.other, j.actor, j.reason, j.digest, j.old
from journal j left join scopes s on s.tenant = j.tenant and s.scope = j.scope where j.old is not null order by j.seq

-- name: proof_contents
select c.tenant, c.content, v.kind, c.text, c.encoded, c.codec, c.payload, y.name, c.length, c.terms
from contents c
join versions v on v.tenant = c.tenant and v.version = c.content
left join vocabularies y on y.vocabulary = c.vocabulary
order by c.tenant, c.content

-- name: proof_fields
select tenant, content, name, word, number from fields order by tenant, content

-- name: proof_vectors
select v.tenant, v.line, v.place, v.scale, v.data, s.dimension from vectors v join spaces s on s.space = v.space

-- name: active_spaces
select model || '@' || version || '/' || dimension from spaces where active

-- name: sealed_vectors
select line, place, space, scope, content, part, start, "end", scale, data, seal from vectors

-- name: sealed_receipts
select id, "user", agent, at, seq, terms, body, told, seal from receipts

-- name: sealed_answers
select scope, key, request, at, answer, seal from answers
