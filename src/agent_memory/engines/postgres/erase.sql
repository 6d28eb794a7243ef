-- What goes with records, and what is left of them elsewhere. `records` are their numbers.

-- name: words_of
select distinct on (c.content) v.record, c.terms from versions v
join contents c on c.tenant = v.tenant and c.content = v.content
where v.tenant = (select me()) and v.record = any(%(records)s::bigint[])

-- name: contents_of
select content from versions where tenant = (select me()) and record = any(%(records)s::bigint[])

-- name: hold_large
select scope from large_scopes where tenant = (select me()) for update

-- name: erase_large_words
delete from large_words where tenant = (select me()) and record = any(%(records)s::bigint[])

-- name: erase_large_vectors
delete from large_vectors where tenant = (select me()) and record = any(%(records)s::bigint[])

-- name: erase_fields
delete from fields where tenant = (select me()) and content in ({{contents_of}})

-- name: erase_pending
delete from pending where tenant = (select me()) and content in ({{contents_of}})

-- name: erase_vectors
delete from vectors where tenant = (select me()) and content in ({{contents_of}})
and scope in (select scope from versions where tenant = (select me()) and record = any(%(records)s::bigint[]))
and space in (select space from spaces)

-- name: erase_contents
delete from contents where tenant = (select me()) and content in ({{contents_of}})

-- name: erase_versions
delete from versions where tenant = (select me()) and record = any(%(records)s::bigint[])

-- name: erase_links
delete from links where tenant = (select me())
and (source = any(%(records)s::bigint[]) or target = any(%(records)s::bigint[]))

-- name: erase_accesses
delete from accesses where tenant = (select me()) and record = any(%(records)s::bigint[])

-- name: erase_accessed
delete from accessed where tenant = (select me()) and record = any(%(records)s::bigint[])

-- name: erase_receipts_showing
delete from receipts where tenant = (select me()) and told && %(records)s::bigint[]

-- name: insert_tombstones
insert into tombstones (tenant, record, id, scope, line)
select me(), * from unnest(%(records)s::bigint[], %(ids)s::text[], %(scopes)s::integer[], %(lines)s::bigint[])

-- name: asked
-- By whoever sees the scope: its own reader, and where it is shared, all that share it.
select receipt, terms from receipts
where tenant = (select me()) and %(user)s in ("user", %(all)s) and %(agent)s in (agent, %(all)s) and terms <> ''

-- name: erase_receipts
delete from receipts where tenant = (select me()) and receipt = any(%(receipts)s::bigint[])

-- name: answers_of
select a.scope, a.key, a.at, a.answer from answers a join scopes s on s.tenant = a.tenant and s.scope = a.scope
where a.tenant = (select me()) and %(user)s in (s."user", %(all)s) and %(agent)s in (s.agent, %(all)s) and a.answer <> ''

-- name: forget_answers
update answers a set request = '', answer = '', seal = g.seal
from unnest(%(scopes)s::integer[], %(keys)s::text[], %(seals)s::bytea[]) as g (scope, key, seal)
where a.tenant = (select me()) and a.scope = g.scope and a.key = g.key
