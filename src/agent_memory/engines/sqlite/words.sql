-- Vocabularies, and making everything derived again.

-- name: vocabularies
select vocabulary, name, digest, active from vocabularies order by active desc, vocabulary desc

-- name: next_vocabulary
select coalesce(max(vocabulary), 0) + 1 from vocabularies

-- name: put_vocabulary
insert or replace into vocabularies (vocabulary, name, digest, active, seal) values (?, ?, ?, ?, ?)

-- name: drop_old_vocabularies
delete from vocabularies where not active

-- name: insert_words
insert or replace into words (content, length, terms, vocabulary)
values (?, ?, ?, coalesce((select vocabulary from vocabularies where active), 0))

-- name: old_words
select c.content, n.tenant, n.text, c.text, c.codec, c.payload from contents c
join versions v on v.version = c.content
join names n on n.name = v.kind
left join words w on w.content = c.content
where c.content > :after and w.vocabulary is not (select vocabulary from vocabularies where active)
order by c.content limit :limit

-- name: old_receipts
select receipt, id, scope, at, seq, terms, body, seal from receipts where receipt > :after order by receipt limit :limit

-- name: put_asked
update receipts set terms = ?, seal = ? where receipt = ?

-- name: drop_loose_words
delete from words where content not in (select content from contents)

-- name: drop_loose_fields
delete from fields where content not in (select content from contents)
