-- Rows that should not be there, each by what it is.

-- name: heads that are not the last line of their journal
select w.tenant from tenants w left join lateral (
    select seq, at, chain from journal j where j.tenant = w.tenant order by seq desc limit 1) j on true
where (w.seq, w.at, w.chain) is distinct from (coalesce(j.seq, w.base), coalesce(j.at, 0), coalesce(j.chain, w.genesis))

-- name: journal lines of a scope that is not there
select j.seq from journal j left join scopes s on s.tenant = j.tenant and s.scope = j.scope
where j.scope <> 0 and s.scope is null

-- name: scopes that changed later than they say
select s.scope from scopes s
where s.last < (select max(j.seq) from journal j where j.tenant = s.tenant and j.scope = s.scope)

-- name: contents without a version
select c.content from contents c where not exists (
    select 1 from versions v where v.tenant = c.tenant and v.version = c.content)
and not exists (select 1 from versions v where v.tenant = c.tenant and v.content = c.content)

-- name: versions without a content
select v.version from versions v left join contents c on c.tenant = v.tenant and c.content = v.content
where c.content is null

-- name: words of a vocabulary that is not there
select c.content from contents c left join vocabularies y on y.vocabulary = c.vocabulary
where y.vocabulary is null and exists (select 1 from vocabularies)

-- name: vocabularies of which none, or more than one, is written
select count(*) from vocabularies having count(*) > 0 and count(*) filter (where active) <> 1

-- name: fields of no content
select f.content from fields f left join contents c on c.tenant = f.tenant and c.content = f.content
where c.content is null

-- name: vectors of no space
select x.content from vectors x left join spaces s on s.space = x.space where s.space is null

-- name: contents that wait for a space that is not there
select p.content from pending p left join spaces s on s.space = p.space where s.space is null

-- name: no content, waiting for vectors
select p.content from pending p left join contents c on c.tenant = p.tenant and c.content = p.content
where c.content is null

-- name: vectors of no content
select x.content from vectors x left join contents c on c.tenant = x.tenant and c.content = x.content
where c.content is null

-- name: vectors in another scope than their content
select x.content from vectors x join versions v on v.tenant = x.tenant and v.version = x.content
where v.scope <> x.scope

-- name: contents with neither vector nor a place in the queue
select c.content from contents c, spaces s where s.active
and not exists (select 1 from vectors x where x.tenant = c.tenant and x.content = c.content and x.space = s.space)
and not exists (select 1 from pending p where p.tenant = c.tenant and p.content = c.content and p.space = s.space)

-- name: answers of no scope
select a.key from answers a left join scopes s on s.tenant = a.tenant and s.scope = a.scope where s.scope is null

-- name: debts of a place that is not there
select d.id from debts d left join places p on p.name = d.place where p.name is null

-- name: missed vectors of a place that is not there
select m.id from missed m left join places p on p.name = m.place where p.name is null

-- name: scores of no vector
select s.id from scores s left join namespaces n on n.tenant = s.tenant and n.namespace = s.namespace and n.id = s.id
where n.id is null

-- name: rows of a tenant that is not there
select r.tenant from (
    select tenant from journal
    union select tenant from scopes
    union select tenant from contents
    union select tenant from versions
    union select tenant from links
    union select tenant from tombstones
    union select tenant from fields
    union select tenant from vectors
    union select tenant from pending
    union select tenant from receipts
    union select tenant from accesses
    union select tenant from accessed
    union select tenant from answers
    union select tenant from working
    union select tenant from lists
    union select tenant from namespaces
    union select tenant from scores
    union select tenant from cursors
) r left join tenants w on w.tenant = r.tenant where w.tenant is null
