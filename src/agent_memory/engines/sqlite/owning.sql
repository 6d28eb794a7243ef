-- Names that all tenants had together become each tenant's own.

-- name: names_used
create temp table names_in_use as
select distinct t.tenant, u.scope, u.name from (
    select scope, kind as name from versions
    union select scope, status from versions
    union select scope, source from versions
    union select scope, type from links
    union select v.scope, f.name from fields f join versions v on v.version = f.content
) u join scopes s on s.scope = u.scope join tenants t on t.name = s.tenant

-- name: names_kept
insert into own_names (name, tenant, text)
select n.name, min(u.tenant), n.text from names_in_use u join names n on n.name = u.name group by n.name

-- name: names_made
insert into own_names (tenant, text)
select distinct u.tenant, n.text from names_in_use u join names n on n.name = u.name where true
on conflict do nothing

-- name: names_moved
create temp table names_to_move as
select u.scope, u.name, o.name as own from names_in_use u join names n on n.name = u.name
join own_names o on o.tenant = u.tenant and o.text = n.text where o.name <> u.name

-- name: move_names
update {table} set {column} = (
    select m.own from names_to_move m where m.scope = {table}.scope and m.name = {table}.{column})
where (scope, {column}) in (select scope, name from names_to_move)

-- name: move_fields
update fields set name = (
    select m.own from versions v join names_to_move m on m.scope = v.scope
    where v.version = fields.content and m.name = fields.name)
where exists (
    select 1 from versions v join names_to_move m on m.scope = v.scope
    where v.version = fields.content and m.name = fields.name)

-- name: views
select name, sql from sqlite_schema where type = 'view'

-- name: drop_view
drop view "{name}"

-- name: drop_table
drop table {table}

-- name: rename_table
alter table {table} rename to {name}
