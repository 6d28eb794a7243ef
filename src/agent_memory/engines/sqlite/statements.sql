-- What the SQLite engine says, by name. Reads share two conditions, spelled out where they are used:
--   believed:  v.version <= :seq and (v.to_seq is null or v.to_seq > :seq)
--   holding:   at :valid_at strictly, or at :now, where a record that only begins later shows its first version

-- name: head
select seq, at, chain from journal order by seq desc limit 1

-- name: seq_at
select at from journal where seq = ?

-- name: insert_journal
insert into journal (seq, at, operation, scope, record, other, actor, reason, digest, chain)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_content
insert into contents (content, text, payload, salt) values (?, ?, ?, ?)

-- name: insert_version
insert into versions (version, record, id, number, content, scope, kind, key, conversation, position, repository,
    status, importance, confidence, source, valid_from, valid_to)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: end_version
update versions set to_seq = ? where version = ?

-- name: insert_words
insert into words (content, length, terms) values (?, ?, ?)

-- name: insert_field
insert or ignore into fields (name, value, content) values (?, ?, ?)

-- name: insert_vector
insert into vectors (vector, space, scope, content, part, start, "end", scale, data, seal)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_pending
insert into pending (content, space, scope, part) values (?, ?, ?, ?)

-- name: pend_everything
insert into pending (content, space, scope, part)
select distinct v.content, :space, v.scope, 0 from versions v
where v.content not in (select content from vectors where space = :space)
and v.content not in (select content from pending where space = :space)

-- name: pend_again
insert into pending (content, space, scope, part) select distinct content, ?, scope, 0 from versions
where content not in (select value from json_each(?))

-- name: brought
select vector, space, scope, content, part, start, "end", scale, data, seal from vectors
where space = ? and start = 0 and "end" = 0

-- name: delete_vectors
delete from vectors where scope = ? and space = ? and content = ?

-- name: sample
select v.content, cast(c.text as blob), v.part, v.start, v."end", v.scale, v.data
from vectors v join contents c on c.content = v.content
where v.vector in (select vector from vectors where space = ? and seal is not null and start < "end"
    order by random() limit ?)

-- name: record_by_id
select record, kind from versions where id = ? and scope = ? limit 1

-- name: record_by_key
select record from versions where key = ? and kind = ? and scope = ? and to_seq is null limit 1

-- name: forgotten
select t.id from tombstones t join scopes s on s.scope = t.scope where s.tenant = ? and s.user = ?

-- name: current_versions
select v.version, v.number, v.content, c.text, c.payload, c.salt, v.key, v.conversation, v.position, v.repository, v.status,
    v.importance, v.confidence, v.source, v.valid_from, v.valid_to
from versions v join contents c on c.content = v.content
where (v.id, v.scope) = (select id, scope from versions where version = ?) and v.to_seq is null
order by v.valid_from, v.version

-- name: last_number
select max(v.number) from versions v where (v.id, v.scope) = (select id, scope from versions where version = ?)

-- name: current_link
select link from links where source = ? and target = ? and type = ? and scope = ? and to_seq is null

-- name: insert_link
insert into links (link, source, target, type, scope, weight, properties, salt) values (?, ?, ?, ?, ?, ?, ?, ?)

-- name: end_link
update links set to_seq = ? where link = ?

-- name: version_columns
select v.version, v.id, v.kind, v.scope, c.text, c.payload, v.key, conversation.text, repository.text, v.status,
    v.importance, v.confidence, v.source, v.valid_from, v.valid_to, v.number, v.to_seq, v.record,
    j.at, e.at
from versions v
join contents c on c.content = v.content
join journal j on j.seq = v.version
left join journal e on e.seq = v.to_seq
left join labels conversation on conversation.label = v.conversation
left join labels repository on repository.label = v.repository

-- name: elsewhere
select f.content from fields f
where f.content in (select value from json_each(:contents))
and f.name = :place and f.value not in (select value from json_each(:pages))

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

-- name: steps
-- One direction. `relation` is each type of link at each record, found by hopping over the index, so that a record
-- with very many links of a type costs no more than `most` of them.
with recursive here (version, record) as (
    select v.version, v.record from versions v
    where v.version in (select value from json_each(:handles)) and v.scope in (select value from json_each(:scopes))
    and {visible}
), relation (version, record, type) as (
    select version, record, (select min(type) from links where {near} = record) from here
    union all
    select r.version, r.record, (select min(type) from links where {near} = r.record and type > r.type)
    from relation r where r.type is not null
)
select l.link, r.version, v.version, l.type, l.weight, v.status
from relation r
cross join links l on l.{near} = r.record and l.type = r.type
cross join versions f on f.version = l.{far}
cross join versions v on v.id = f.id and v.scope = f.scope
where r.type is not null and not exists (
    select 1 from links m where m.{near} = r.record and m.type = r.type
    and m.scope in (select value from json_each(:scopes)) and m.link <= :seq and (m.to_seq is null or m.to_seq > :seq)
    limit 1 offset :most)
and l.scope in (select value from json_each(:scopes)) and l.link <= :seq and (l.to_seq is null or l.to_seq > :seq)
and v.scope in (select value from json_each(:scopes)) and {visible}

-- name: shelf_payloads
select content, cast(payload as blob) from contents where content in (select value from json_each(?))

-- name: shelf_versions
select version, record, content, kind, status, coalesce(conversation, 0), coalesce(position, 0),
    coalesce(repository, 0), importance, confidence,
    valid_from, coalesce(valid_to, 9223372036854775807), coalesce(to_seq, 9223372036854775807)
from versions where scope = ? and version > ? order by version

-- name: shelf_words
select w.content, w.length, w.terms from words w
where w.content in (select content from versions where scope = ? and version > ? and content > ?) order by w.content

-- name: shelf_vectors
select vector, content, scale, data from vectors where scope = ? and space = ?

-- name: shelf_new_vectors
select vector, content, scale, data from vectors where +scope = ? and +space = ? and vector >= ?

-- name: shelf_changes
select seq, operation, record from journal where seq > ? and scope in (?, 0)

-- name: ended
select v.version, v.to_seq from versions v where (v.id, v.scope) = (select id, scope from versions where version = ?) and v.to_seq is not null

-- name: spaces
select space, model, version, dimension, active from spaces order by active desc

-- name: adopted
select exists (select 1 from journal where seq > ? and operation = ? and reason = ?)

-- name: unembedded
select p.content, cast(c.text as blob), p.part from pending p join contents c on c.content = p.content

-- name: working_set
insert into working (scope, conversation, key, value, expires_at, seal) values (?, ?, ?, ?, ?, ?)
on conflict do update set value = excluded.value, expires_at = excluded.expires_at, seal = excluded.seal
