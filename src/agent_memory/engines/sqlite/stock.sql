-- What shelves follow.

-- name: latest
select coalesce(max(seq), 0), coalesce((select cast(value as integer) from meta where name = 'adopted'), 0) from journal

-- name: scope_lines
select operation, record from journal where seq > :after and scope in (:scope, 0)

-- name: whole_scope
scope = :scope

-- name: since
+scope = :scope and version > :after

-- name: stock_versions
select version, record, content, coalesce(position, 0), importance, confidence,
    valid_from, coalesce(valid_to, 9223372036854775807), coalesce(to_seq, 9223372036854775807),
    kind, status, conversation, repository, key
from versions where {whose} order by version

-- name: stock_words
select content, length, terms from words
where content in (select content from versions where {whose} and content > :after) order by content

-- name: stock_fields
select content, value from fields
where content in (select content from versions where {whose} and content > :after) and +name = :name

-- name: stock_all_vectors
select vector / :per_line, content, scale, data from vectors where scope = :scope and space = :space

-- name: stock_new_vectors
select vector / :per_line, content, scale, data from vectors
where +scope = :scope and +space = :space and vector >= (:after + 1) * :per_line

-- name: stock_links
select link, source, target, type, weight, coalesce(to_seq, 9223372036854775807) from links
where {whose} order by link

-- name: links_of_scope
scope = :scope

-- name: links_since
+scope = :scope and link > :after

-- name: stock_ended_links
select link, to_seq from links where to_seq > :after and link <= :after and +scope = :scope and source in (
    select record from journal where seq > :after and scope = :scope and operation in (:connect, :disconnect))

-- name: ended_of
select version, to_seq from versions where to_seq > :after and (id, scope) in (
    select id, scope from versions where version in (select value from json_each(:records)))

-- name: name_texts
select name, text from names where name in (select value from json_each(?))

-- name: label_texts
select label, text from labels where label in (select value from json_each(?))

-- name: payloads
select content, cast(payload as blob) from contents where content in (select value from json_each(?))
