-- Rows that should not be there, each by what it is.

-- name: versions in a conversation or repository that has no name
select version from versions where conversation is not null and conversation not in (select label from labels) or
    repository is not null and repository not in (select label from labels)

-- name: versions in a conversation or repository of another tenant
select v.version from versions v join scopes s on s.scope = v.scope join tenants t on t.name = s.tenant
    join labels l on l.label in (v.conversation, v.repository) where l.tenant <> t.tenant

-- name: versions with a kind, status or source of another tenant
select v.version from versions v join scopes s on s.scope = v.scope join tenants t on t.name = s.tenant
    join names n on n.name in (v.kind, v.status, v.source) where n.tenant <> t.tenant

-- name: links with a type of another tenant
select l.link from links l join scopes s on s.scope = l.scope join tenants t on t.name = s.tenant
    join names n on n.name = l.type where n.tenant <> t.tenant

-- name: fields with a name of another tenant
select f.content from fields f join versions v on v.version = f.content join scopes s on s.scope = v.scope
    join tenants t on t.name = s.tenant join names n on n.name = f.name where n.tenant <> t.tenant

-- name: journal lines of another tenant than their scope
select j.line from journal j left join scopes s on s.scope = j.scope left join tenants t on t.name = s.tenant
    where j.tenant <> coalesce(t.tenant, 0)

-- name: journal lines with an actor of another tenant
select j.line from journal j left join actors a on a.actor = j.actor where a.tenant is not j.tenant

-- name: scopes of no tenant
select scope from scopes where tenant not in (select name from tenants where name is not null)

-- name: contents without a version
select content from contents where content not in (select content from versions)

-- name: versions without a content
select version from versions where content not in (select content from contents)

-- name: contents without words
select content from contents where content not in (select content from words)

-- name: words of no content
select content from words where content not in (select content from contents)

-- name: words of a vocabulary that is not there
select content from words where vocabulary not in (select vocabulary from vocabularies) and exists (select 1 from vocabularies)

-- name: vocabularies of which none, or more than one, is written
select count(*) from vocabularies having sum(active <> 0) <> 1

-- name: fields of no content
select content from fields where content not in (select content from contents)

-- name: vectors of no space
select vector from vectors where space not in (select space from spaces)

-- name: contents that wait for a space that is not there
select content from pending where space not in (select space from spaces)

-- name: contents that wait for other vectors than those that lack
select content from pending p where part <> 0 and part <> (select count(*) from vectors where (scope, space, content)
    = (p.scope, p.space, p.content))

-- name: no content, waiting for vectors
select content from pending where content not in (select content from contents)

-- name: receipts of no scope
select receipt from receipts where scope not in (select scope from scopes)

-- name: records that a lost receipt showed
select record from shown where receipt not in (select receipt from receipts)

-- name: working values of no scope
select key from working where scope not in (select scope from scopes)

-- name: working lists of no scope
select name from lists where scope not in (select scope from scopes)

-- name: answers of no scope
select key from repeats where scope not in (select scope from scopes)

-- name: vectors of no content
select content from vectors where content not in (select content from contents)

-- name: vectors in another scope than their content
select x.content from vectors x join versions v on v.version = x.content where v.scope <> x.scope

-- name: contents that wait for vectors in another scope than their own
select p.content from pending p join versions v on v.version = p.content where v.scope <> p.scope

-- name: contents with neither vector nor a place in the queue
select content from contents where exists (select space from spaces where active) and content not in (select content
    from vectors where space in (select space from spaces where active)) and content not in (select content from
    pending where space in (select space from spaces where active))

-- name: debts of a place that is not there
select id from debts where place not in (select place from places)

-- name: missed vectors of a place that is not there
select id from missed where place not in (select place from places)

-- name: scores of no vector
select s.id from scores s left join namespaces n on n.namespace = s.namespace and n.id = s.id where n.id is null
