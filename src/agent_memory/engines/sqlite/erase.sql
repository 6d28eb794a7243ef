-- What goes with a record, and what is left of it elsewhere.

-- name: contents_of
select distinct v.content, w.terms from versions v left join words w on w.content = v.content
where v.id = ? and v.scope = ?

-- name: erase_words
delete from words where content = ?

-- name: erase_fields
delete from fields where content = ?

-- name: erase_pending
delete from pending where content = ?

-- name: erase_content
delete from contents where content = ?

-- name: erase_vectors
delete from vectors where scope = ? and space in (select space from spaces) and content = ?

-- name: erase_versions
delete from versions where id = ? and scope = ?

-- name: erase_links
delete from links where source = :record or target = :record

-- name: erase_accesses
delete from accesses where record = ?

-- name: erase_accessed
delete from accessed where record = ?

-- name: receipts_showing
select receipt from shown where record = ?

-- name: erase_receipt
delete from receipts where receipt = ?

-- name: erase_shown
delete from shown where receipt = ?

-- name: insert_tombstone
insert into tombstones (record, id, scope, line) values (?, ?, ?, ?)

-- name: readers
-- The scopes whose readers see this one: its own, and where it is shared, all that share it.
select scope from scopes where tenant = :tenant and :user in (user, :all) and :agent in (agent, :all)

-- name: asked
select receipt, terms from receipts where scope in (select value from json_each(?)) and terms <> x''

-- name: erase_items
delete from lists where scope in (select value from json_each(:scopes)) and json_valid(value)
and json_type(value) = 'object' and json_extract(value, '$.id') in (select value from json_each(:ids))

-- name: erase_values
delete from working where scope in (select value from json_each(:scopes)) and json_valid(value)
and json_type(value) = 'object' and json_extract(value, '$.id') in (select value from json_each(:ids))

-- name: answers_of
select scope, key, at, answer from repeats where scope in (select value from json_each(?)) and answer <> ''

-- name: forget_answer
update repeats set request = x'', answer = '', seal = ? where scope = ? and key = ?

-- name: erase_labels
delete from labels where tenant = ? and not exists (select 1 from versions v where v.conversation = labels.label)
and not exists (select 1 from versions v where v.repository = labels.label)
