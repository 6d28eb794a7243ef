-- What a write has to know before it can be planned. `scope + 0` and `kind || ''` are compared and not looked up: ids
-- and keys are rarer, which the database does not know before it has counted.

-- name: lock_mine
-- A statement of its own, and before the others: they see what was committed while it waited.
select tenant, seq, at, chain, genesis, founded from tenants where tenant = (select me()) for no key update

-- name: version_held
-- And when: until then, others held the head.
select v.*, (extract(epoch from clock_timestamp()) * 1000000)::bigint from ({{version}}) v

-- name: lock_spaces
-- Writers do not wait for each other here: only for whoever changes what all of them write.
lock table spaces in row share mode

-- name: scopes_named
-- The last row: the highest number there is.
select w."user", w.agent, s.scope from unnest(%(users)s::text[], %(agents)s::text[]) as w ("user", agent)
join scopes s on s.tenant = (select me()) and s."user" = w."user" and s.agent = w.agent
union all
select null, null, coalesce(max(scope), 0) from scopes where tenant = (select me())

-- name: named
with recursive asked (scope, id, told) as materialized (
    select s.scope, a.id, a.told
    from unnest(%(users)s::text[], %(agents)s::text[], %(ids)s::text[], %(told)s::boolean[]) as a ("user", agent, id, told)
    join scopes s on s.tenant = (select me()) and s."user" = a."user" and s.agent = a.agent
), keyed (scope, kind, key, hash) as materialized (
    select s.scope, a.kind, a.key, hashtextextended(a.key, 0)
    from unnest(%(key_users)s::text[], %(key_agents)s::text[], %(kinds)s::text[], %(keys)s::text[])
        as a ("user", agent, kind, key)
    join scopes s on s.tenant = (select me()) and s."user" = a."user" and s.agent = a.agent
), named (record, told) as (
    select record, bool_or(told) from (
        select v.record, a.told from asked a
        join versions v on v.tenant = (select me()) and v.id = a.id and v.scope + 0 = a.scope and v.ended is null
        union all
        select v.record, true from keyed k
        join versions v on v.tenant = (select me()) and v.scope + 0 = k.scope and v.kind || '' = k.kind
            and v.key_hash = k.hash and v.key = k.key and v.ended is null
    ) found group by record
)

-- name: held
{{named}}
select v.record, v.id, s."user", s.agent, v.kind, v.version, v.number, v.content, c.text,
    c.encoded, c.codec, c.payload, c.salt, v.key, v.conversation, v.position, v.repository, v.status, v.importance,
    v.confidence, v.source, v.valid_from, v.valid_to
from named n
join versions v on v.tenant = (select me()) and v.record = n.record and v.ended is null
join scopes s on s.tenant = v.tenant and s.scope = v.scope
left join contents c on c.tenant = v.tenant and c.content = v.content and n.told
order by v.record, v.valid_from, v.version

-- name: standing
{{named}}
select l.link, l.source, l.target, l.type, s."user", s.agent, l.weight, l.properties, l.salt
from named n
join links l on l.tenant = (select me()) and l.source = n.record and l.type = any(%(types)s::text[]) and l.ended is null
join scopes s on s.tenant = l.tenant and s.scope = l.scope
where l.target in (select record from named)

-- name: descended
{{named}}, deriving (scope, "user", agent) as (
    select scope, "user", agent from scopes
    where tenant = (select me()) and ("user" = any(%(own)s) or '*' = any(%(own)s))
), descended (record) as (
    select record from named
    union
    select l.source from descended d
    join links l on l.tenant = (select me()) and l.target = d.record and l.type = any(%(deriving)s)
    join versions v on v.tenant = l.tenant and v.version = l.source and v.scope in (select scope from deriving)
)

-- name: descents
-- All that was ever derived from these records.
{{descended}}
select l.source, v.id, w.scope, w."user", w.agent, v.kind, l.target, s."user", s.agent, l.ended is null
from descended d
join links l on l.tenant = (select me()) and l.target = d.record and l.type = any(%(deriving)s)
join versions v on v.tenant = l.tenant and v.version = l.source
join deriving w on w.scope = v.scope
join scopes s on s.tenant = l.tenant and s.scope = l.scope

-- name: rooted
-- Those of these records, and of what was derived from them, that have a source elsewhere which stands.
{{descended}}
select d.record from descended d where exists (
    select 1 from links o where o.tenant = (select me()) and o.source = d.record and o.type = any(%(deriving)s)
    and o.ended is null and o.target <> o.source and o.target not in (select record from descended))

-- name: forgotten
select w."user", w.id from unnest(%(users)s::text[], %(ids)s::text[]) as w ("user", id)
where exists (
    select 1 from tombstones t join scopes s on s.tenant = t.tenant and s.scope = t.scope and s."user" = w."user"
    where t.tenant = (select me()) and t.id = w.id)

-- name: answered
select w."user", w.agent, w.key, a.request, a.answer
from unnest(%(users)s::text[], %(agents)s::text[], %(keys)s::text[]) as w ("user", agent, key)
join scopes s on s.tenant = (select me()) and s."user" = w."user" and s.agent = w.agent
join answers a on a.tenant = s.tenant and a.scope = s.scope and a.key = w.key
