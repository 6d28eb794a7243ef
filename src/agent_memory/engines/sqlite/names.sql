-- Words that are stored once.

-- name: name
select name from names where text = ?

-- name: name_text
select text from names where name = ?

-- name: insert_name
insert or ignore into names (text) values (?)

-- name: label
select label from labels where text = ?

-- name: insert_label
insert into labels (text) values (?) returning label

-- name: scope
select scope from scopes where tenant = ? and user = ? and agent = ?

-- name: scope_row
select scope, tenant, user, agent, last, seal from scopes where scope = ?

-- name: touch_scope
update scopes set last = ?, seal = ? where scope = ?

-- name: scope_last
select last from scopes where scope = ?

-- name: scope_words
select tenant, user, agent from scopes where scope = ?

-- name: insert_scope
insert into scopes (tenant, user, agent) values (?, ?, ?) returning scope

-- name: seal_scope
update scopes set seal = ? where scope = ?
