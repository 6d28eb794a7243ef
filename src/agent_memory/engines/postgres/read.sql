-- Reads share three conditions:
--   mine:      the scopes of the reader, those that exist, the narrowest first
--   believed:  recorded by the line seq, and at valid_at, if one is asked for
--   visible:   at valid_at strictly, or at now, where a record that only begins later shows its first version
-- Where something rarer is asked for, `scope + 0` and `kind || ''` are compared and not looked up: the database does not
-- know what is rare before it has counted.

-- name: mine
with recursive mine (scope, "user", agent, rank) as materialized (
    select s.scope, s."user", s.agent, r.rank
    from unnest(%(users)s::text[], %(agents)s::text[]) with ordinality as r ("user", agent, rank)
    join scopes s on s.tenant = (select me()) and s."user" = r."user" and s.agent = r.agent
)

-- name: version_columns
select v.version, v.id, v.kind, m."user", m.agent, c.text, c.encoded, c.codec, c.payload, v.key, v.conversation,
    v.repository, v.status, v.importance, v.confidence, v.source, v.valid_from, v.valid_to, v.number, v.record, j.at, e.at

-- name: version_joins
join mine m on m.scope = v.scope + 0
join contents c on c.tenant = v.tenant and c.content = v.content
join journal j on j.tenant = v.tenant and j.seq = v.version
left join journal e on e.tenant = v.tenant and e.seq = v.ended

-- name: standing_at
v.tenant = (select me()) and v.version + 0 <= %(seq)s::bigint and (v.ended is null or v.ended > %(seq)s::bigint)

-- name: believed
{{standing_at}} and (%(valid_at)s::bigint is null
    or (v.valid_from <= %(valid_at)s::bigint and (v.valid_to is null or v.valid_to > %(valid_at)s::bigint)))

-- name: visible
{{standing_at}} and case when %(valid_at)s::bigint is null
    then (v.valid_to is null or v.valid_to > greatest(%(now)s::bigint, v.valid_from))
        and (v.valid_from <= %(now)s::bigint or not exists (
            select 1 from versions w where w.tenant = (select me()) and w.record = v.record
            and w.version <= %(seq)s::bigint and (w.ended is null or w.ended > %(seq)s::bigint)
            and w.valid_from < v.valid_from
            and (w.valid_to is null or w.valid_to > greatest(%(now)s::bigint, w.valid_from))))
    else v.valid_from <= %(valid_at)s::bigint and (v.valid_to is null or v.valid_to > %(valid_at)s::bigint)
    end

-- name: numbered
-- The record with each id, in the narrowest scope that had one by then.
numbered (place, record) as (
    select distinct on (a.place) a.place, v.record from unnest(%(ids)s::text[]) with ordinality as a (id, place)
    cross join lateral (select v.record, v.scope from versions v where v.tenant = (select me()) and v.id = a.id
        and v.record + 0 <= %(seq)s::bigint offset 0) v
    join mine m on m.scope = v.scope
    order by a.place, m.rank
)

-- name: shown
{{mine}}, {{numbered}}
{{version_columns}} from numbered n join versions v on v.tenant = (select me()) and v.record = n.record
{{version_joins}} where {{visible}} order by n.place

-- name: shown_by_key
{{mine}}
{{version_columns}} from versions v {{version_joins}}
where v.key_hash = hashtextextended(%(key)s, 0) and v.key = %(key)s and v.kind || '' = %(kind)s and {{visible}}
order by m.rank, v.valid_from desc limit 1

-- name: current
-- All that is believed of the record, also under another key: what follows may have got a new one.
{{mine}}, named (record) as (
    select v.record from versions v join mine m on m.scope = v.scope + 0 and m.rank = 1
    where v.tenant = (select me()) and v.ended is null and v.kind || '' = %(kind)s and {named} limit 1
)
{{version_columns}} from named n join versions v on v.tenant = (select me()) and v.record = n.record {{version_joins}}
where v.ended is null order by v.valid_from, v.version

-- name: named_by_id
v.id = %(named)s

-- name: named_by_key
v.key_hash = hashtextextended(%(named)s, 0) and v.key = %(named)s

-- name: history
{{mine}}, {{numbered}}
{{version_columns}} from numbered n join versions v on v.tenant = (select me()) and v.record = n.record
{{version_joins}} where v.version <= %(seq)s::bigint order by v.version

-- name: hydrate
-- By the numbers alone: all versions of a tenant up to a line must not look like fewer than these.
{{mine}}
{{version_columns}} from versions v
{{version_joins}} where v.tenant = (select me()) and v.version = any(%(handles)s::bigint[])
and v.version + 0 <= %(seq)s::bigint

-- name: find
-- For each scope and kind an index gives the right order; the short lists are merged.
{{mine}}, kinds (kind) as (
    select min(v.kind) from versions v where v.tenant = (select me())
    union all
    select (select min(v.kind) from versions v where v.tenant = (select me()) and v.kind > k.kind) from kinds k
    where k.kind is not null
), found as (
    select f.version, f.valid_from, f.record from kinds k cross join mine m cross join lateral (
        select v.version, v.valid_from, v.record from versions v
        where v.scope = m.scope and v.kind = k.kind and {conditions} and {{visible}}
        order by v.valid_from {direction}, v.record {direction} limit %(limit)s) f
    where %(kinds)s::text[] is null or k.kind = any(%(kinds)s::text[])
    order by f.valid_from {direction}, f.record {direction} limit %(limit)s
)
{{version_columns}} from found f join versions v on v.tenant = (select me()) and v.version = f.version
{{version_joins}} order by f.valid_from {direction}, f.record {direction}

-- name: believed_after
{{mine}}
{{version_columns}} from versions v {{version_joins}}
where v.version > %(last)s::bigint and (%(kinds)s::text[] is null or v.kind = any(%(kinds)s::text[]))
and {{believed}} and {conditions}
order by v.version limit %(limit)s

-- name: where_statuses
v.status = any(%(statuses)s::text[])

-- name: where_conversation
v.conversation_hash = hashtextextended(%(conversation)s, 0) and v.conversation = %(conversation)s

-- name: where_repository
v.repository = %(repository)s

-- name: where_after
v.valid_from >= %(after)s

-- name: where_before
v.valid_from < %(before)s

-- name: where_min_confidence
v.confidence >= %(min_confidence)s

-- name: where_word
exists (select 1 from fields f where f.tenant = (select me()) and f.content = v.content and f.name = %(name{place})s
    and f.word = %(value{place})s)

-- name: where_number
exists (select 1 from fields f where f.tenant = (select me()) and f.content = v.content and f.name = %(name{place})s
    and f.number = %(value{place})s)

-- name: where_pages
(v.kind <> %(confined)s or not exists (select 1 from fields f where f.tenant = (select me()) and f.content = v.content
    and f.name = %(place)s and f.word <> all(%(pages)s::text[])))

-- name: where_older
(v.valid_from, v.record) < (%(last_from)s::bigint, %(last_record)s::bigint)

-- name: where_newer
(v.valid_from, v.record) > (%(last_from)s::bigint, %(last_record)s::bigint)

-- name: beginning
{{mine}}
select distinct v.id from versions v join mine m on m.scope = v.scope + 0
where v.tenant = (select me()) and v.id >= %(first)s and v.id < %(last)s and v.version <= %(seq)s::bigint
order by v.id limit %(limit)s

-- name: edges
-- Links at these records, as of the moment, that the reader sees.
edges as (
    select l.link, l.source, l.target, l.type, l.weight, l.properties from links l join mine m on m.scope = l.scope + 0
    where l.tenant = (select me()) and l.link <= %(seq)s::bigint and (l.ended is null or l.ended > %(seq)s::bigint)
    and ({ends})
)

-- name: links_of
-- Both ends shown.
{{mine}}, {{numbered}}, {{edges}}, shown (record, id) as (
    select v.record, v.id from versions v join mine m on m.scope = v.scope + 0
    where v.record in (select source from edges union select target from edges) and {{visible}}
)
select e.link, e.source, s.id, t.id, e.type, e.weight, e.properties from edges e
join shown s on s.record = e.source join shown t on t.record = e.target order by e.link

-- name: at_numbered
l.source = any(array(select record from numbered)) or l.target = any(array(select record from numbered))

-- name: links_from
-- Whether or not the other end holds now.
{{mine}}, {{edges}}
select e.link, e.source, s.id, t.id, e.type, e.weight, e.properties from edges e
join versions s on s.tenant = (select me()) and s.version = e.source
join versions t on t.tenant = (select me()) and t.version = e.target
where s.scope in (select scope from mine) and t.scope in (select scope from mine) order by e.link

-- name: at_records
l.source = any(%(records)s::bigint[])

-- name: journal
{{mine}}, {{numbered}}
select j.seq, j.at, j.operation, j.actor, j.reason, coalesce(r.id, t.id), j.digest, j.chain
from journal j join mine m on m.scope = j.scope
left join versions r on r.tenant = j.tenant and r.version = j.record
left join tombstones t on t.tenant = j.tenant and t.record = j.record
where j.tenant = (select me()) and j.seq > %(after)s::bigint and j.seq <= %(seq)s::bigint
and (cardinality(%(ids)s::text[]) = 0 or j.record in (select record from numbered))
order by j.seq limit %(limit)s

-- name: agents
select agent from scopes where tenant = (select me()) and "user" = %(user)s and agent <> %(shared)s order by agent

-- name: seq_at
-- Recorded times only grow with the numbers: halved until it is found, whichever numbers are nobody's.
with recursive search (low, high) as (
    select 0::bigint, seq from tenants where tenant = (select me())
    union all
    select case when j.at <= %(moment)s then m.middle else s.low end,
        case when j.at <= %(moment)s then s.high else coalesce(j.seq, 1) - 1 end
    from search s cross join lateral (select (s.low + s.high + 1) / 2 as middle) m
    left join lateral (select seq, at from journal where tenant = (select me()) and seq <= m.middle
        order by seq desc limit 1) j on true
    where s.low < s.high
)
select coalesce(max(seq), 0) from journal
where tenant = (select me()) and seq <= (select min(low) from search where low >= high)

-- name: stats
{{mine}}
select (select count(*) from versions v join mine m on m.scope = v.scope where v.tenant = (select me()) and v.version = v.record),
    (select count(*) from versions v join mine m on m.scope = v.scope where v.tenant = (select me())),
    (select count(*) from links l join mine m on m.scope = l.scope where l.tenant = (select me())),
    (select count(*) from vectors x join mine m on m.scope = x.scope where x.tenant = (select me())),
    (select count(*) from receipts r join unnest(%(users)s::text[], %(agents)s::text[]) as m ("user", agent)
        on m."user" = r."user" and m.agent = r.agent where r.tenant = (select me())),
    (select seq from tenants where tenant = (select me())),
    (select sum(pg_total_relation_size(oid))::bigint from pg_class
        where relnamespace = 'agent_memory'::regnamespace and relkind = 'r')

-- name: stats_kinds
{{mine}}
select v.kind, count(distinct v.record) from versions v join mine m on m.scope = v.scope
where v.tenant = (select me()) and v.ended is null group by v.kind order by v.kind

-- name: their_contents
select v.content from versions v join mine m on m.scope = v.scope where v.tenant = (select me())

-- name: text_sizes
{{mine}}
select count(*), count(codec), coalesce(sum(octet_length(text)), 0)::bigint, coalesce(sum(octet_length(encoded)), 0)::bigint
from contents where tenant = (select me()) and content in ({{their_contents}})

-- name: encoded_sample
{{mine}}
select encoded, codec from contents where tenant = (select me()) and codec is not null and content in ({{their_contents}})
order by content desc limit 256

-- name: encoded_ids
{{mine}}
select distinct v.id from versions v join mine m on m.scope = v.scope
join contents c on c.tenant = v.tenant and c.content = v.content
where v.tenant = (select me()) and c.codec is not null and v.ended is null and v.id = any(%(ids)s::text[])

-- name: stats_accesses
{{mine}}
select count(*), coalesce(sum(a.count), 0)::bigint, max(a.last) from accesses a
join versions v on v.tenant = a.tenant and v.version = a.record join mine m on m.scope = v.scope
where a.tenant = (select me())

-- name: my_pending
{{mine}}
select count(*) from pending p join mine m on m.scope = p.scope where p.tenant = (select me())
and p.space = (select space from spaces where model = %(model)s and version = %(version)s and dimension = %(dimension)s)
