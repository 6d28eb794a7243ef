-- Scopes that are too large for memory. `until`: what came later is on a shelf. Numbers in braces are the engine's own: an
-- index of one scope is found by them alone.

-- name: large_shown
v.scope + 0 = %(scope)s and v.content <= %(until)s::bigint
and (%(kinds)s::text[] is null or v.kind || '' = any(%(kinds)s::text[])) and {conditions} and {shown}

-- name: large_stands
-- Whether what a snapshot tells of is still there: a copy of the store that is behind may not know that it was begun anew.
select 1 from large_scopes where tenant = (select me()) and scope = %(scope)s and ready and adopted = %(adopted)s

-- name: large_few
-- All that there is, where a filter leaves little.
select v.record from versions v where v.scope = %(scope)s and (%(kinds)s::text[] is null or v.kind = any(%(kinds)s::text[]))
and {{large_shown}} limit %(few)s

-- name: large_words
-- The newest contents with each word tell how many there are; those with the most telling words come first. A row without a
-- record tells how many contents have a word, about.
with posted as materialized (
    select a.term, p.* from unnest(%(terms)s::bigint[]) as a (term) cross join lateral (
        select array_agg(content) as contents, array_agg(record) as records, count(*) as seen, min(content) as oldest
        from (select w.content, w.record from large_words w
            where w.tenant = (select me()) and w.scope = %(scope)s and w.term = a.term and w.content <= %(until)s::bigint
            order by w.content desc limit %(depth)s) n) p
    where p.seen > 0
), counted as (
    select *, case when seen < %(depth)s then seen else round(seen::double precision
        * (%(until)s::bigint - %(first)s::bigint + 1) / (%(until)s::bigint - oldest + 1))::bigint end as documents
    from posted
), known as materialized (
    select *, ln(1 + greatest(%(documents)s::bigint - documents, 0)::double precision / (documents + 0.5)) as telling
    from counted
), weighed as (
    select p.content, any_value(p.record) as record, sum(k.telling) as weight
    from known k cross join lateral unnest(k.contents, k.records) as p (content, record) group by p.content
), best as (
    select w.record, w.weight from (select * from weighed order by weight desc, content desc) w cross join lateral (
        select 1 from versions v where v.record = w.record and v.content = w.content and {{large_shown}} limit 1) s
    order by w.weight desc limit %(most)s
)
select null as record, term, documents from known
union all select record, null, null from best

-- name: large_scan
-- Vectors until so many were found that a filter lets through, or so many were looked at. From here on everything is looked
-- up, row by row.
select set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', %(breadth)s, true),
    set_config('hnsw.max_scan_tuples', %(tuples)s, true), set_config('enable_sort', 'off', true),
    set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true)

-- name: large_near
select x.record from large_vectors x cross join lateral (
    select 1 from versions v where v.record = x.record and v.content = x.content and {{large_shown}} limit 1) s
where x.tenant = {tenant} and x.scope = {number} and x.space = {space} and x.content <= %(until)s::bigint
order by (x.embedding::halfvec({dimension})) <#> %(vector)s::text::halfvec({dimension}) limit %(most)s

-- name: large_versions
-- Of these records, of those that something else speaks for, and of the turns beside each.
with chosen (record) as materialized (
    select unnest(%(records)s::bigint[])
    union select v.record from versions v
        where v.tenant = (select me()) and v.scope + 0 = %(scope)s and v.version = any(%(also)s::bigint[])
        and v.content <= %(until)s::bigint
    union select v.record from versions v
        where v.tenant = (select me()) and v.scope + 0 = %(scope)s and v.key_hash = hashtextextended(%(key)s::text, 0)
), around (record) as materialized (
    select record from chosen
    union select n.record from chosen c
    cross join lateral (select v.conversation_hash, v.position from versions v
        where v.tenant = (select me()) and v.record = c.record and v.conversation_hash is not null offset 0) v
    cross join lateral (select n.record, n.scope from versions n
        where n.tenant = (select me()) and n.conversation_hash = v.conversation_hash
        and n.position between v.position - %(reach)s and v.position + %(reach)s offset 0) n
    where n.scope = %(scope)s
)
select v.* from around a cross join lateral ({{stock_columns}} where tenant = (select me()) and record = a.record
    and scope + 0 = %(scope)s and content <= %(until)s::bigint offset 0) v order by v.version

-- name: large_terms
select content, length, terms from contents where tenant = (select me()) and content = any(%(contents)s::bigint[])

-- name: large_embeddings
select line, content, scale, data from vectors where tenant = (select me()) and scope = %(scope)s and space = %(space)s
and content = any(%(contents)s::bigint[])

-- name: large_fields
select content, name, word, number from fields where tenant = (select me()) and content = any(%(contents)s::bigint[])

-- name: large_occurring
select a.term from unnest(%(terms)s::bigint[]) as a (term) where exists (select 1 from large_words w
    where w.tenant = (select me()) and w.scope = %(scope)s and w.term = a.term and w.content <= %(until)s::bigint)

-- name: large_links
-- At these versions, of all scopes of the reader. Of a record with very many in one direction, some tell that there are too
-- many to follow.
{{mine}}, near (record) as (
    select distinct v.record from versions v join mine m on m.scope = v.scope + 0
    where v.tenant = (select me()) and v.version = any(%(handles)s::bigint[])
)
select l.link, l.source, l.target, l.type, l.weight, coalesce(l.ended, 9223372036854775807)
from (
    select l.* from near n cross join lateral (select * from links l where l.tenant = (select me())
        and l.source = n.record limit %(most)s) l
    union select l.* from near n cross join lateral (select * from links l where l.tenant = (select me())
        and l.target = n.record limit %(most)s) l
) l join mine m on m.scope = l.scope order by l.link

-- name: large_ends
{{mine}}
{{stock_columns}} where tenant = (select me()) and scope + 0 in (select scope from mine)
and (record = any(%(records)s::bigint[]) or version = any(%(handles)s::bigint[])) order by version
