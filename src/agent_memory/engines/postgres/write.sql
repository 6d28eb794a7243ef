-- The rows of a write: one statement a table.

-- name: insert_scopes
insert into scopes (tenant, scope, "user", agent)
select me(), * from unnest(%(scopes)s::integer[], %(users)s::text[], %(agents)s::text[])

-- name: insert_contents
insert into contents (tenant, content, text, payload, salt, length, terms, vocabulary)
select me(), c.*, coalesce((select vocabulary from vocabularies where active), 0)
from unnest(%(contents)s::bigint[], %(texts)s::text[], %(payloads)s::text[], %(salts)s::bytea[], %(lengths)s::integer[],
    %(terms)s::bytea[]) as c

-- name: insert_fields
insert into fields (tenant, content, name, word, number)
select me(), * from unnest(%(contents)s::bigint[], %(names)s::text[], %(words)s::text[], %(numbers)s::numeric[])

-- name: insert_vectors
insert into vectors (tenant, line, place, space, scope, content, part, start, "end", scale, data, seal)
select me(), * from unnest(%(lines)s::bigint[], %(places)s::integer[], %(spaces)s::integer[], %(scopes)s::integer[],
    %(contents)s::bigint[], %(parts)s::integer[], %(starts)s::integer[], %(ends)s::integer[],
    %(scales)s::double precision[], %(data)s::bytea[], %(seals)s::bytea[])

-- name: insert_pending
insert into pending (tenant, content, space, scope, part)
select me(), * from unnest(%(contents)s::bigint[], %(spaces)s::integer[], %(scopes)s::integer[], %(parts)s::integer[])

-- name: insert_versions
insert into versions (tenant, version, record, id, number, content, scope, kind, key, conversation, position, repository,
    status, importance, confidence, source, valid_from, valid_to, ended)
select me(), * from unnest(%(versions)s::bigint[], %(records)s::bigint[], %(ids)s::text[], %(numbers)s::integer[],
    %(contents)s::bigint[], %(scopes)s::integer[], %(kinds)s::text[], %(keys)s::text[], %(conversations)s::text[],
    %(positions)s::bigint[], %(repositories)s::text[], %(statuses)s::text[], %(importances)s::double precision[],
    %(confidences)s::double precision[], %(sources)s::text[], %(begin)s::bigint[], %(end)s::bigint[], %(ended)s::bigint[])

-- name: end_versions
update versions v set ended = e.line from unnest(%(numbers)s::bigint[], %(lines)s::bigint[]) as e (number, line)
where v.tenant = (select me()) and v.version = e.number

-- name: insert_links
insert into links (tenant, link, source, target, type, scope, weight, properties, salt, ended)
select me(), * from unnest(%(links)s::bigint[], %(sources)s::bigint[], %(targets)s::bigint[], %(types)s::text[],
    %(scopes)s::integer[], %(weights)s::double precision[], %(properties)s::text[], %(salts)s::bytea[],
    %(ended)s::bigint[])

-- name: end_links
update links l set ended = e.line from unnest(%(numbers)s::bigint[], %(lines)s::bigint[]) as e (number, line)
where l.tenant = (select me()) and l.link = e.number

-- name: insert_answers
insert into answers (tenant, scope, key, request, at, answer, seal)
select me(), * from unnest(%(scopes)s::integer[], %(keys)s::text[], %(requests)s::bytea[], %(moments)s::bigint[],
    %(answers)s::text[], %(seals)s::bytea[])

-- name: anything_answered
select exists (select 1 from answers where tenant = (select me()) and at < %(oldest)s)

-- name: expire_answers
delete from answers where tenant = (select me()) and at < %(oldest)s

-- name: line_there
select exists (select 1 from journal where tenant = (select me()) and seq = %(seq)s and chain = %(chain)s)
