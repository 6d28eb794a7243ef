-- What `verify` reads, damaged or not. A row is known by its line, and told by its number in its tenant's journal.

-- name: all_tenants
select tenant, name, base, cast(salt as blob), cast(genesis as blob) from tenants

-- name: told_of_tenants
select operation, record, other, cast(digest as blob), reason from journal
where tenant = 0 and operation in (9, 10, 11, 12) order by number

-- name: own_scopes
select s.scope from scopes s join tenants t on t.name = s.tenant where t.tenant = :tenant

-- name: proof_lines
select j.line, j.tenant, iif(j.scope = 0, 0, o.number), j.number, j.at, j.operation, o.tenant, o.user, o.agent,
    case when j.tenant = 0 or j.record is null then j.record else coalesce(r.number, 'lost') end,
    case when j.tenant = 0 or j.other is null then j.other else coalesce(e.number, 'lost') end,
    actor.text, j.reason, cast(j.digest as blob), cast(j.chain as blob),
    exists (select 1 from tombstones where record = j.record or record = j.other)
from journal j
left join actors actor on actor.actor = j.actor
left join scopes o on o.scope = j.scope
left join journal r on r.line = j.record
left join journal e on e.line = j.other
where :tenant is null or j.tenant = :tenant
order by j.line

-- name: proof_versions
select v.version, coalesce(r.number, 'lost'), v.id, s.tenant, s.user, s.agent, v.kind, v.number,
    v.valid_from, v.valid_to, v.key, conversation.text, v.position, repository.text, v.status,
    v.importance, v.confidence, v.source, c.text, c.codec, c.payload, cast(c.salt as blob)
from versions v
left join journal r on r.line = v.record
left join contents c on c.content = v.content
left join scopes s on s.scope = v.scope
left join labels conversation on conversation.label = v.conversation
left join labels repository on repository.label = v.repository
where :tenant is null or v.scope in ({{own_scopes}})
order by v.version

-- name: proof_ended_versions
select v.to_seq, j.number, coalesce(r.number, 'lost') from versions v left join journal j on j.line = v.version
left join journal r on r.line = v.record
where typeof(v.to_seq) = 'integer' and (:tenant is null or v.scope in ({{own_scopes}})) order by v.to_seq

-- name: proof_links
select l.{row}, j.number, coalesce(a.number, 'lost'), coalesce(b.number, 'lost'), n.text, s.tenant, s.user, s.agent,
    l.weight, l.properties, cast(l.salt as blob)
from links l
left join journal j on j.line = l.link
left join journal a on a.line = l.source
left join journal b on b.line = l.target
left join names n on n.name = l.type
left join scopes s on s.scope = l.scope
where typeof(l.{row}) = 'integer' and (:tenant is null or l.scope in ({{own_scopes}}))
order by l.{row}

-- name: proof_tombstones
select t.line, coalesce(r.number, 'lost'), t.id, s.tenant, s.user, s.agent from tombstones t
left join journal r on r.line = t.record left join scopes s on s.scope = t.scope
where typeof(t.line) = 'integer' and (:tenant is null or t.scope in ({{own_scopes}})) order by t.line

-- name: proof_common
select j.line, j.at, j.operation, j.scope, j.record, j.other, actor.text, j.reason, cast(j.digest as blob),
    cast(j.old as blob) from journal j left join actors actor on actor.actor = j.actor
where j.old is not null order by j.line

-- name: lost_lines
select before + 1, line from (select line, old, lag(line, 1, 0) over (order by line) as before from journal)
where line <> before + 1 and old is null order by line

-- name: all_names
select name, text from names

-- name: all_labels
select label, text from labels

-- name: all_actors
select actor, text from actors

-- name: proof_contents
select c.content, n.text, c.text, c.codec, c.payload, w.vocabulary, w.length, w.terms from contents c
join versions v on v.version = c.content join names n on n.name = v.kind join words w on w.content = c.content
order by c.content

-- name: proof_fields
select content, name, value from fields where typeof(content) = 'integer' order by content

-- name: rows_of
select {columns} from "{table}"

-- name: rows_where
{{rows_of}} where {conditions}

-- name: count
select count(*) from "{table}"

-- name: shown_by
select record from shown where receipt = ? order by record

-- name: active_spaces
select model || '@' || version || '/' || dimension from spaces where active

-- name: proof_vectors
select v.vector, v.scale, v.data, s.dimension, v.seal is not null from vectors v join spaces s on s.space = v.space
where typeof(v.data) = 'blob' and typeof(v.scale) = 'real' and typeof(s.dimension) = 'integer'

-- name: all_meta
select name, value from meta
