-- What a write has to know before it can be planned.

-- name: head
select max(t.base, coalesce(j.number, 0)), coalesce(j.at, 0), coalesce(j.chain, t.genesis) from tenants t
left join journal j on j.tenant = t.tenant and j.number = (select max(number) from journal where tenant = t.tenant)
where t.tenant = ?

-- name: held
with named (id, told) as (
    select value, value in (select value from json_each(:told)) from json_each(:ids)
    union all
    select v.id, 1 from json_each(:keys) k
    cross join versions v on v.key = k.value ->> 1 and v.kind = k.value ->> 0 and v.scope = :scope and v.to_seq is null
), wanted (id, told) as (select id, max(told) from named group by id)
select v.record, r.number, v.id, v.kind, v.version, j.number, v.number, v.content, b.number,
    c.text, c.codec, c.payload, c.salt,
    v.key, conversation.text, v.position, repository.text, v.status, v.importance, v.confidence, v.source,
    v.valid_from, v.valid_to
from wanted
cross join versions v on v.id = wanted.id and v.scope = :scope and v.to_seq is null
left join journal j on j.line = v.version
left join journal r on r.line = v.record
left join journal b on b.line = v.content
left join contents c on c.content = v.content and wanted.told
left join labels conversation on conversation.label = v.conversation and wanted.told
left join labels repository on repository.label = v.repository and wanted.told
order by v.record, v.valid_from, v.version

-- name: believed_id
select 1 from versions where id = ? and scope = ? and to_seq is null limit 1

-- name: id_by_key
select id from versions where key = ? and kind = ? and scope = ? and to_seq is null limit 1

-- name: standing
select l.link, j.number, l.source, l.target, l.type, l.scope, l.weight, l.properties, l.salt
from json_each(:records) r
cross join json_each(:types) t
cross join links l on l.source = r.value and l.type = t.value
left join journal j on j.line = l.link
where l.to_seq is null and l.target in (select value from json_each(:records))
and l.scope in (select value from json_each(:scopes))

-- name: descended
with recursive descended (record) as (
    select value from json_each(:records)
    union
    select l.source from descended d cross join links l on l.target = d.record and l.type in (select value from json_each(:types))
    cross join versions v on v.version = l.source
    cross join scopes s on s.scope = v.scope and (s.user in (select value from json_each(:users)) or :everybody)
)

-- name: descents
-- All that was ever derived from these records.
{{descended}}
select v.record, r.number, v.id, v.scope, v.kind, l.target, t.number, l.scope, l.to_seq is null
from descended d
cross join links l on l.target = d.record and l.type in (select value from json_each(:types))
cross join versions v on v.version = l.source
cross join scopes s on s.scope = v.scope and (s.user in (select value from json_each(:users)) or :everybody)
left join journal r on r.line = v.record
left join journal t on t.line = l.target

-- name: rooted
-- Those of these records, and of what was derived from them, that have a source elsewhere which stands.
{{descended}}
select j.number from descended d join journal j on j.line = d.record where exists (
    select 1 from links o where o.source = d.record and o.type in (select value from json_each(:types)) and o.to_seq is null
    and o.target <> o.source and o.target not in (select record from descended))

-- name: forgotten
select t.id from scopes s cross join tombstones t on t.scope = s.scope
where s.tenant = :tenant and s.user = :user and t.id in (select value from json_each(:ids))

-- name: answer
select request, answer from repeats where scope = ? and key = ?

-- name: lacking
select p.content, j.number, p.scope, p.part from json_each(:contents) c
cross join journal j on j.tenant = :tenant and j.number = c.value
cross join pending p on p.content = j.line and p.space = :space
