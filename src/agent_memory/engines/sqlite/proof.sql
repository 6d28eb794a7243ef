-- What `verify` reads, damaged or not.

-- name: all_tenants
select tenant, name, base, cast(salt as blob), cast(genesis as blob) from tenants

-- name: told_of_tenants
select operation, record, other, cast(digest as blob), reason from journal
where tenant = 0 and operation in (9, 10, 11, 12) order by number

-- name: lines_and_versions
select j.line, j.tenant, j.number, j.at, j.operation, j.scope, o.number, j.record, r.number, j.other, e.number,
    actor.text, j.reason, cast(j.digest as blob), cast(j.chain as blob), cast(j.old as blob),
    v.content, v.id, v.kind, s.tenant, s.user, s.agent, v.number, c.text, c.payload, cast(c.salt as blob),
    v.valid_from, v.valid_to, v.key, conversation.text, v.position, repository.text, v.status,
    v.importance, v.confidence, v.source, c.codec
from journal j
left join actors actor on actor.actor = j.actor
left join scopes o on o.scope = j.scope
left join journal r on r.line = j.record
left join journal e on e.line = j.other
left join versions v on v.version = j.line and v.record = j.record and v.scope = j.scope
left join contents c on c.content = v.content
left join scopes s on s.scope = v.scope
left join labels conversation on conversation.label = v.conversation
left join labels repository on repository.label = v.repository
where :tenant is null or j.tenant = :tenant
order by j.line

-- name: link_of_line
select cast(l.salt as blob), n.text, l.weight, l.properties
from links l join names n on n.name = l.type where l.link = ? and l.source = ? and l.target = ? and l.scope = ?

-- name: tombstone_of_line
select id from tombstones where record = ? and line = ? and scope = ?

-- name: erased
select record from tombstones

-- name: all_names
select name, text from names

-- name: all_labels
select label, text from labels

-- name: all_actors
select actor, text from actors

-- name: ended_versions
select v.to_seq, v.version, j.number from versions v left join journal j on j.line = v.version
where v.to_seq is not null

-- name: ended_links
select l.to_seq, l.link, j.number from links l left join journal j on j.line = l.link where l.to_seq is not null

-- name: contents_and_words
select c.content, n.text, c.text, c.codec, c.payload, w.vocabulary, w.length, w.terms from contents c
join versions v on v.version = c.content join names n on n.name = v.kind join words w on w.content = c.content

-- name: fields_of
select n.text, f.value from fields f join names n on n.name = f.name where f.content = ?

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

-- name: vectors_and_dimensions
select v.vector, v.scale, v.data, s.dimension, v.seal from vectors v join spaces s on s.space = v.space
where typeof(v.data) = 'blob' and typeof(v.scale) = 'real' and typeof(s.dimension) = 'integer'

-- name: all_meta
select name, value from meta
