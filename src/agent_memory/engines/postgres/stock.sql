-- What shelves follow. Without the line `after`, all of a scope.

-- name: heads
-- A tenant's and the store's; since when nothing that was read before counts any more; and what stands at two lines that
-- were seen before.
select coalesce(m.seq, 0), coalesce(m.chain, ''), s.seq, s.chain,
    greatest(m.founded, s.founded, (select coalesce(max(seq), 0) from journal where tenant = 0 and operation = 7)),
    (select chain from journal where tenant = (select me()) and seq = %(held)s),
    (select chain from journal where tenant = 0 and seq = %(store_held)s)
from tenants s left join tenants m on m.tenant = (select me()) where s.tenant = 0

-- name: my_seq
select seq from tenants where tenant = (select me())

-- name: erased_since
-- Of tenants, each with a line: the head, what stands at that line, and the scopes in which something was erased since.
select h.name, w.seq, w.chain, (select chain from journal where tenant = w.tenant and seq = h.seq), e."user", e.agent
from unnest(%(names)s::text[], %(seqs)s::bigint[]) as h (name, seq)
join tenants w on w.name = h.name
left join lateral (
    select distinct s."user", s.agent from journal j join scopes s on s.tenant = j.tenant and s.scope = j.scope
    where j.tenant = w.tenant and j.seq > h.seq and j.operation = 5) e on true

-- name: lasts
{{mine}}
select m."user", m.agent, s.last, (select count(*) from pending p where p.tenant = (select me()) and p.scope = m.scope
    and p.space = (select space from spaces where active)), l.line, l.recent, l.documents, l.adopted, l.tenant, l.scope, l.space, l.dimension, l.first
from mine m join scopes s on s.tenant = (select me()) and s.scope = m.scope
left join large_scopes l on l.tenant = s.tenant and l.scope = s.scope and l.ready and s.lines > %(most)s
order by m.rank

-- name: active_pending
{{mine}}
select count(*) from pending p join mine m on m.scope = p.scope
where p.tenant = (select me()) and p.space = (select space from spaces where active)

-- name: scope_number
select scope from scopes where tenant = (select me()) and "user" = %(user)s and agent = %(agent)s

-- name: scope_lines
select operation, record from journal
where tenant = (select me()) and scope = ({{scope_number}}) and seq > %(after)s and seq <= %(until)s and %(after)s > 0

-- name: stock_columns
select version, record, content, coalesce(position, 0), importance, confidence, valid_from,
    coalesce(valid_to, 9223372036854775807), coalesce(ended, 9223372036854775807), kind, status, conversation,
    repository, key
from versions

-- name: stock_versions
{{stock_columns}} where tenant = (select me()) and scope = ({{scope_number}})
and version > %(after)s and version <= %(until)s order by version

-- name: stock_named
{{stock_columns}} where tenant = (select me()) and scope = ({{scope_number}})
and version > %(after)s and version <= %(until)s and kind = any(%(kinds)s::text[]) order by version

-- name: stock_words
select c.content, c.length, c.terms from contents c
where c.tenant = (select me()) and c.content in (select v.content from versions v where v.tenant = (select me())
    and v.scope = ({{scope_number}}) and v.version > %(after)s and v.version <= %(until)s and v.content > %(after)s)
order by c.content

-- name: stock_fields
select f.content, f.word, f.number from fields f
where f.tenant = (select me()) and f.name = %(name)s and f.content in (
    select v.content from versions v where v.tenant = (select me())
    and v.scope = ({{scope_number}}) and v.version > %(after)s and v.content > %(after)s)

-- name: stock_vectors
select x.line, x.content, x.scale, x.data from vectors x
where x.tenant = (select me()) and x.scope = ({{scope_number}}) and x.space = (select space from spaces where active)
and x.line > %(after)s and x.line <= %(until)s

-- name: stock_ended
select version, ended from versions
where tenant = (select me()) and scope = ({{scope_number}}) and ended > %(after)s and version <= %(after)s

-- name: stock_links
select link, source, target, type, weight, coalesce(ended, 9223372036854775807) from links
where tenant = (select me()) and scope = ({{scope_number}}) and link > %(after)s order by link

-- name: stock_ended_links
select link, ended from links
where tenant = (select me()) and scope = ({{scope_number}}) and ended > %(after)s and link <= %(after)s

-- name: payloads
select content, payload from contents where tenant = (select me()) and content = any(%(contents)s::bigint[])
