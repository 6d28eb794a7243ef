-- The rows of a write.

-- name: insert_journal
insert into journal (line, tenant, number, at, operation, scope, record, other, actor, reason, digest, chain)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_content
insert into contents (content, text, payload, salt) values (?, ?, ?, ?)

-- name: codable
select c.content, cast(c.text as blob), c.codec from contents c
where c.content > :after and c.codec is not :codec
and (:before is null or (select at from journal where line = c.content) < :before) order by c.content limit :limit

-- name: recode
update contents set text = iif(:codec is null, cast(:text as text), :text), codec = :codec
where content = :content and codec is :before

-- name: insert_version
insert into versions (version, record, id, number, content, scope, kind, key, conversation, position, repository,
    status, importance, confidence, source, valid_from, valid_to, to_seq)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: end_version
update versions set to_seq = ? where version = ?

-- name: insert_field
insert or ignore into fields (name, value, content) values (?, ?, ?)

-- name: insert_vector
insert into vectors (vector, space, scope, content, part, start, "end", scale, data, seal)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_pending
insert into pending (content, space, scope, part) values (?, ?, ?, ?)

-- name: insert_link
insert into links (link, source, target, type, scope, weight, properties, salt, to_seq)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: end_link
update links set to_seq = ? where link = ?

-- name: insert_answer
insert into repeats (scope, key, request, at, answer, seal) values (?, ?, ?, ?, ?, ?)

-- name: anything_answered
select exists (select 1 from repeats where at < ?)

-- name: expire_answers
delete from repeats where at < ?
