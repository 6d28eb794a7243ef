-- The file: what it holds, what is owed, and the views for other tools.

-- name: is_empty
select not exists (select 1 from sqlite_schema)

-- name: tables_and_views
select name, type from sqlite_schema where type in ('table', 'view')

-- name: views_of_kinds
select name from sqlite_schema where type = 'view' and sql like '%as record_status%'

-- name: plain_views
select name from sqlite_schema where type = 'view' and sql like '%v.id, s.tenant, s.user, s.agent, c.text, status.text%'

-- name: tables
select name from sqlite_schema where type = 'table' and name not like 'sqlite%' order by name

-- name: columns
select name, lower(type), "notnull", pk from pragma_table_info(?) order by pk

-- name: roots
select rootpage from sqlite_schema where rootpage > 0

-- name: owe
insert or ignore into meta (name, value) values ('scrub', ?)

-- name: owed
select value from meta where name = 'scrub'

-- name: some_change
update meta set value = iif(value like '0_%', substr(value, 2), '0' || value) where name = 'scrub'

-- name: paid
delete from meta where name = 'scrub'

-- name: create_view
create view "{plural}" as
select v.id, s.tenant, s.user, s.agent, case when c.codec is null then c.text end as text,
    status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at{fields}
from versions v
join names k on k.name = v.kind and k.text = '{kind}'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.line = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and status.text = 'active' and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400)
