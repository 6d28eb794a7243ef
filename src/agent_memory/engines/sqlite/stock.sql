-- What shelves follow, numbered as the tenant's journal numbers it.

-- name: last_adopted
select coalesce(max(number), 0) from journal indexed by journal_adopted where tenant = 0 and operation = 7

-- name: erased_scopes
select distinct scope from journal where tenant = :tenant and number > :seq and operation = 5

-- name: chain_of
select chain from journal where tenant = :tenant and number = :seq

-- name: scope_lines
select operation, record from journal
where tenant = :tenant and number > :since and number <= :until and +scope = :scope

-- name: lines_since
-- Of this tenant, by its index: what others wrote costs nothing.
select line from journal where tenant = :tenant and number > :since and number <= :until

-- name: whole_scope
v.scope = :scope

-- name: since
+v.scope = :scope and v.version in ({{lines_since}})

-- name: stock_versions
select j.number, iif(v.record = v.version, j.number, (select number from journal where line = v.record)),
    iif(v.content = v.version, j.number, (select number from journal where line = v.content)),
    coalesce(v.position, 0), v.importance, v.confidence, v.valid_from, coalesce(v.valid_to, 9223372036854775807),
    iif(v.to_seq is null, 9223372036854775807, (select number from journal where line = v.to_seq)),
    v.kind, v.status, v.conversation, v.repository, v.key
from versions v left join journal j on j.line = v.version where {whose} order by v.version

-- name: stock_words
select j.number, w.length, w.terms from words w left join journal j on j.line = w.content
where w.content in (select v.content from versions v where {whose} and v.content > :after) order by w.content

-- name: stock_fields
select j.number, f.value from fields f left join journal j on j.line = f.content
where f.content in (select v.content from versions v where {whose} and v.content > :after) and +f.name = :name

-- name: stock_vectors
select b.number, iif(x.content = x.vector / :per_line, b.number, (select number from journal where line = x.content)),
    x.scale, x.data
from vectors x left join journal b on b.line = x.vector / :per_line

-- name: stock_all_vectors
{{stock_vectors}} where x.scope = :scope and x.space = :space

-- name: stock_new_vectors
select b.number, iif(x.content = b.line, b.number, (select number from journal where line = x.content)), x.scale, x.data
from journal b cross join vectors x on x.vector >= b.line * :per_line and x.vector < (b.line + 1) * :per_line
where b.tenant = :tenant and b.number > :since and b.number <= :until and +x.scope = :scope and +x.space = :space

-- name: stock_links
select j.number, (select number from journal where line = l.source), (select number from journal where line = l.target),
    l.type, l.weight, iif(l.to_seq is null, 9223372036854775807, (select number from journal where line = l.to_seq))
from links l left join journal j on j.line = l.link where {whose} order by l.link

-- name: links_of_scope
l.scope = :scope

-- name: links_since
+l.scope = :scope and l.link in ({{lines_since}})

-- name: stock_ended_links
select j.number, e.number from links l join journal j on j.line = l.link join journal e on e.line = l.to_seq
where l.to_seq > :after and l.link <= :after and +l.scope = :scope and l.source in (
    select record from journal where tenant = :tenant and number > :since and +scope = :scope
    and operation in (:connect, :disconnect))

-- name: ended_of
select j.number, e.number from versions v join journal j on j.line = v.version join journal e on e.line = v.to_seq
where v.to_seq > :after and (v.id, v.scope) in (
    select id, scope from versions where version in (select value from json_each(:records)))

-- name: name_texts
select name, text from names where name in (select value from json_each(?))

-- name: label_texts
select label, text from labels where label in (select value from json_each(?))

-- name: payloads
select j.number, cast(c.payload as blob) from json_each(:contents) n
cross join journal j on j.tenant = :tenant and j.number = n.value
cross join contents c on c.content = j.line
