-- Words that are stored once.

-- name: name
select name from names where tenant = ? and text = ?

-- name: name_text
select text from names where name = ?

-- name: insert_name
insert into names (tenant, text) values (?, ?) returning name

-- name: label
select label from labels where tenant = ? and text = ?

-- name: insert_label
insert into labels (tenant, text) values (?, ?) returning label

-- name: actor
select actor from actors where tenant = ? and text = ?

-- name: insert_actor
insert into actors (tenant, text) values (?, ?) returning actor

-- name: tenant
select tenant from tenants where name = ?

-- name: insert_tenant
insert into tenants (name, base, salt, genesis) values (?, ?, ?, ?) returning tenant

-- name: genesis
select genesis from tenants where tenant = ?

-- name: scope
select scope from scopes where tenant = ? and user = ? and agent = ?

-- name: scope_row
select scope, tenant, user, agent, number, last, seal from scopes where scope = ?

-- name: touch_scope
update scopes set last = ?, seal = ? where scope = ?

-- name: scope_last
select last from scopes where scope = ?
-- name: scope_number
select number from scopes where scope = ?

-- name: scopes_of
select scope from scopes where tenant = ?

-- name: scope_words
select tenant, user, agent from scopes where scope = ?

-- name: insert_scope
insert into scopes (tenant, user, agent, number)
values (?1, ?2, ?3, (select coalesce(max(number), 0) + 1 from scopes where tenant = ?1)) returning scope, number

-- name: seal_scope
update scopes set seal = ? where scope = ?

-- name: withdraw_scope
delete from scopes where scope = ?
