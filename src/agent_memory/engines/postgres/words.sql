-- Vocabularies, and making everything derived again.

-- name: vocabularies
select vocabulary, name, digest, active from vocabularies order by active desc, vocabulary desc

-- name: written
select name, digest from vocabularies where active

-- name: first_vocabulary
-- Whoever else comes first at the same time is waited for.
insert into vocabularies (vocabulary, name, digest, active) values (1, %(name)s, %(digest)s, true) on conflict do nothing

-- name: end_vocabulary
update vocabularies set active = false where active

-- name: next_vocabulary
insert into vocabularies (vocabulary, name, digest, active)
select coalesce(max(vocabulary), 0) + 1, %(name)s, %(digest)s, true from vocabularies

-- name: drop_old_vocabularies
delete from vocabularies where not active

-- name: tenant_names
select name from tenants where name is not null order by tenant

-- name: count_contents
select count(*) from contents

-- name: old_words
select c.content, v.kind, c.text, c.encoded, c.codec, c.payload from contents c
join versions v on v.tenant = c.tenant and v.version = c.content
where c.tenant = (select me()) and c.content > %(after)s
and c.vocabulary <> (select vocabulary from vocabularies where active)
order by c.content limit %(limit)s

-- name: put_words
update contents c set length = w.length, terms = w.terms, vocabulary = (select vocabulary from vocabularies where active)
from unnest(%(contents)s::bigint[], %(lengths)s::integer[], %(terms)s::bytea[]) as w (content, length, terms)
where c.tenant = (select me()) and c.content = w.content

-- name: drop_fields
delete from fields where tenant = (select me()) and content = any(%(contents)s::bigint[])

-- name: old_receipts
select receipt, id, "user", agent, at, seq, terms, body, told, seal from receipts
where tenant = (select me()) and receipt > %(after)s order by receipt limit %(limit)s

-- name: put_asked
update receipts r set terms = a.terms, seal = a.seal
from unnest(%(receipts)s::bigint[], %(terms)s::bytea[], %(seals)s::bytea[]) as a (receipt, terms, seal)
where r.tenant = (select me()) and r.receipt = a.receipt
