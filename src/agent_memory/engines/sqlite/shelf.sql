-- What a shelf follows, and what a search looks up beside it.

-- name: shelf_versions
select version, record, content, kind, status, coalesce(conversation, 0), coalesce(position, 0),
    coalesce(repository, 0), importance, confidence,
    valid_from, coalesce(valid_to, 9223372036854775807), coalesce(to_seq, 9223372036854775807)
from versions where scope = ? and version > ? order by version

-- name: shelf_words
select w.content, w.length, w.terms from words w
where w.content in (select content from versions where scope = ? and version > ? and content > ?) order by w.content

-- name: shelf_payloads
select content, cast(payload as blob) from contents where content in (select value from json_each(?))

-- name: shelf_vectors
select vector, content, scale, data from vectors where scope = ? and space = ?

-- name: shelf_new_vectors
select vector, content, scale, data from vectors where +scope = ? and +space = ? and vector >= ?

-- name: shelf_changes
select seq, operation, record from journal where seq > ? and scope in (?, 0)

-- name: ended
select v.version, v.to_seq from versions v where (v.id, v.scope) = (select id, scope from versions where version = ?) and v.to_seq is not null

-- name: versions_with_key
select version from versions where key = ?

-- name: contents_with_field
select content from fields where name = ? and value = ?

-- name: elsewhere
select f.content from fields f
where f.content in (select value from json_each(:contents))
and f.name = :place and f.value not in (select value from json_each(:pages))
