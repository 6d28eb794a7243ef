-- What a write says; the other .sql files are about what their names say.

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
