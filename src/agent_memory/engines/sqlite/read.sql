-- Reads share two conditions:
--   believed:  recorded by the line :seq, and at :valid_at, if one is asked for
--   visible:   at :valid_at strictly, or at :now, where a record that only begins later shows its first version

-- name: last_line
select coalesce(max(line), 0) from journal

-- name: last_and
-- The last line of all, and what stands at one that was seen before.
select line, cast(chain as blob), (select cast(chain as blob) from journal where line = ?)
from journal order by line desc limit 1

-- name: line_at
-- The last line of a tenant that has at most this number.
select line, number, at from journal where tenant = ? and number <= ? order by number desc limit 1

-- name: numbers
select line, number from journal where line in (select value from json_each(?))

-- name: version_columns
select j.number, v.id, v.kind, v.scope, c.text, c.payload, v.key, conversation.text, repository.text, v.status,
    v.importance, v.confidence, v.source, v.valid_from, v.valid_to, v.number, v.record,
    j.at, e.at, c.codec
from versions v
join contents c on c.content = v.content
join journal j on j.line = v.version
left join journal e on e.line = v.to_seq
left join labels conversation on conversation.label = v.conversation
left join labels repository on repository.label = v.repository

-- name: believed
v.version <= :seq and (v.to_seq is null or v.to_seq > :seq)
and (:valid_at is null or (v.valid_from <= :valid_at and (v.valid_to is null or v.valid_to > :valid_at)))

-- name: visible
v.version <= :seq and (v.to_seq is null or v.to_seq > :seq)
and case when :valid_at is null
    then (v.valid_to is null or v.valid_to > max(:now, v.valid_from))
        and (v.valid_from <= :now or not exists (
            select 1 from versions w where w.id = v.id and w.scope = v.scope and w.version <= :seq
            and (w.to_seq is null or w.to_seq > :seq) and w.valid_from < v.valid_from
            and (w.valid_to is null or w.valid_to > max(:now, w.valid_from))))
    else v.valid_from <= :valid_at and (v.valid_to is null or v.valid_to > :valid_at)
    end

-- name: of_record
(v.id, v.scope) = (select id, scope from versions where version = :record)

-- name: shown
{{version_columns}} where {{of_record}} and {{visible}} order by v.valid_from

-- name: shown_by_key
{{version_columns}} where v.key = :key and v.kind = :kind and v.scope = :scope and {{visible}} order by v.valid_from

-- name: current
{{version_columns}} where {{of_record}} and v.to_seq is null order by v.valid_from, v.version

-- name: history
{{version_columns}} where {{of_record}} and v.version <= :seq order by v.version

-- name: hydrate
{{version_columns}} where j.tenant = :tenant and j.number in (select value from json_each(:handles))
and v.version <= :seq and +v.scope in (select value from json_each(:scopes))

-- name: find
{{version_columns}} where v.scope = :scope and v.kind = :kind and {conditions} and {{visible}}
order by v.valid_from {direction}, v.record {direction} limit :limit

-- name: believed_after
-- In the order of the rows, which is that of seq, whatever index there is for the scopes.
{{version_columns}} where v.version > :last and +v.scope in ({scopes}) and {{believed}} and {conditions}
order by v.version limit :limit

-- name: where_statuses
v.status in ({numbers})

-- name: where_kinds
v.kind in ({numbers})

-- name: where_conversation
v.conversation = :conversation

-- name: where_repository
v.repository = :repository

-- name: where_after
v.valid_from >= :after

-- name: where_before
v.valid_from < :before

-- name: where_min_confidence
v.confidence >= :min_confidence

-- name: where_field
v.content in (select content from fields where name = :name{place} and value = :value{place})

-- name: where_pages
(v.kind != :confined or not exists (select 1 from fields f where f.content = v.content
    and f.name = :place and f.value not in (select value from json_each(:pages))))

-- name: where_older
(v.valid_from, v.record) < (:last_from, :last_record)

-- name: where_newer
(v.valid_from, v.record) > (:last_from, :last_record)

-- name: beginning
select distinct id from versions where id >= ? and id < ? and scope in ({scopes}) and version <= ? order by id limit ?

-- name: next_kind
select min(kind) from versions where scope = ? and kind > ?

-- name: id_and_scope
select id, scope from versions where version = ?

-- name: count_versions
select count(*) from journal j join versions v on v.version = j.line
where j.tenant = :tenant and j.number in (select value from json_each(:handles)) and v.version <= :seq
and +v.scope in (select value from json_each(:scopes))

-- name: edges
select link, source, target, type, weight, properties from links
where (source in ({marks}) or target in ({marks})) and scope in ({scopes})
and link <= ? and (to_seq is null or to_seq > ?)

-- name: agents
select agent from scopes where tenant = ? and user = ? and agent <> ? order by agent

-- name: journal
select j.number, j.at, j.operation, a.text, j.reason, coalesce(r.id, t.id), j.digest, j.chain
from journal j
join actors a on a.actor = j.actor
left join versions r on r.version = j.record
left join tombstones t on t.record = j.record
where j.tenant = :tenant and j.number > :after and +j.scope in ({scopes}) and (:id is null or j.record = :record)
and j.line <= :seq order by j.number limit :limit

-- name: stats_kinds
select n.text, count(distinct v.record) from versions v join names n on n.name = v.kind
where v.scope in ({scopes}) and v.to_seq is null group by v.kind order by n.text

-- name: stats
select (select count(*) from versions where version = record and scope in ({scopes})),
    (select count(*) from versions where scope in ({scopes})),
    (select count(*) from links where scope in ({scopes})),
    (select count(*) from vectors where scope in ({scopes})),
    (select count(*) from receipts where scope in ({scopes})),
    (select count(*) from pending where space = :space and scope in ({scopes}))

-- name: their_contents
select content from versions where scope in ({scopes})

-- name: text_sizes
select count(*), total(codec is not null), total(iif(codec is null, length(cast(text as blob)), 0)),
    total(iif(codec is null, 0, length(text)))
from contents where content in ({{their_contents}})

-- name: encoded_sample
select text, codec from contents where codec is not null and content in ({{their_contents}}) order by content desc limit 256

-- name: encoded_ids
select distinct v.id from versions v join contents c on c.content = v.content
where c.codec is not null and v.to_seq is null and v.scope in ({scopes}) and v.id in (select value from json_each(:ids))

-- name: stats_accesses
select count(*), coalesce(sum(a.count), 0), max(a.last)
from accesses a join versions v on v.version = a.record where v.scope in ({scopes})

-- name: moment_of
select at from journal where line = ?

-- name: tenants
select tenant from tenants

-- name: record_by_id
select record, kind from versions where id = ? and scope = ? limit 1

-- name: record_by_key
select record from versions where key = ? and kind = ? and scope = ? and to_seq is null limit 1
