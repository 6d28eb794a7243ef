-- One journal for all tenants becomes one for each.

-- name: old_lines
select j.line, j.at, j.operation, j.scope, j.record, j.other, n.text, j.reason, j.digest, j.chain, s.tenant, s.number
from journal j left join names n on n.name = j.actor left join scopes s on s.scope = j.scope
where j.line > :after order by j.line limit :limit

-- name: old_tenants
select tenant from scopes group by tenant order by min(scope)

-- name: number_scopes
update scopes set number = o.place
from (select scope, row_number() over (partition by tenant order by scope) as place from scopes) o
where o.scope = scopes.scope

-- name: old_scopes
select scope, tenant, user, agent, number, seal from scopes

-- name: insert_store
insert into tenants (tenant, name, base, salt, genesis) values (0, null, ?, ?, ?)

-- name: renew_line
update journal set tenant = ?, number = line, actor = ?, old = chain, chain = ? where line = ?

-- name: index_scopes
create unique index scopes_number on scopes (tenant, number)

-- name: index_journal
create unique index journal_number on journal (tenant, number)

-- name: index_adopted
create index journal_adopted on journal (number) where tenant = 0 and operation = 7

-- name: move_labels
insert into own_labels (tenant, text)
select distinct t.tenant, l.text from versions v join scopes s on s.scope = v.scope join tenants t on t.name = s.tenant
join labels l on l.label = v.conversation
union
select distinct t.tenant, l.text from versions v join scopes s on s.scope = v.scope join tenants t on t.name = s.tenant
join labels l on l.label = v.repository

-- name: move_column
update versions set {column} = (
    select n.label from labels l join scopes s on s.scope = versions.scope join tenants t on t.name = s.tenant
    join own_labels n on n.tenant = t.tenant and n.text = l.text where l.label = versions.{column})
where {column} in (select label from labels)

-- name: forget_actors
delete from names where name in (select value from json_each(?)) and name not in (select kind from versions)
and name not in (select status from versions) and name not in (select source from versions)
and name not in (select type from links) and name not in (select name from fields)

-- name: old_name
select name from names where text = ?
