-- Views for other tools, one for each kind.

-- name: relations
select relname, relkind = 'v' from pg_class where relnamespace = 'agent_memory'::regnamespace and relkind in ('r', 'v', 'S')

-- name: drop_view
drop view if exists "{plural}"

-- name: create_view
-- Whoever looks sees what their role and their tenant may see.
create view "{plural}" with (security_invoker = true) as
select v.id, w.name as tenant, s."user", s.agent, case when c.codec is null then c.text end as text,
    v.status as record_status, v.importance, v.confidence, v.source as record_source, v.key,
    v.conversation as conversation_id, to_timestamp(v.valid_from / 1e6) as valid_from,
    to_timestamp(v.valid_to / 1e6) as valid_to, to_timestamp(j.at / 1e6) as recorded_at{fields}
from versions v
join tenants w on w.tenant = v.tenant
join contents c on c.tenant = v.tenant and c.content = v.content
join scopes s on s.tenant = v.tenant and s.scope = v.scope
join journal j on j.tenant = v.tenant and j.seq = v.version
where v.kind = '{kind}' and v.ended is null and v.status = 'active'
and (v.valid_to is null or v.valid_to > extract(epoch from clock_timestamp()) * 1000000)

-- name: codable
select c.tenant, c.content, c.text, c.encoded, c.codec from contents c
where (c.tenant, c.content) > (%(tenant)s, %(after)s) and c.codec is distinct from %(codec)s and (%(before)s::bigint is null
    or (select at from journal j where j.tenant = c.tenant and j.seq = c.content) < %(before)s)
order by c.tenant, c.content limit %(limit)s

-- name: recode
update contents c set text = g.text, encoded = g.encoded, codec = g.codec
from unnest(%(tenants)s::integer[], %(contents)s::bigint[], %(before)s::text[], %(texts)s::text[], %(encoded)s::bytea[],
    %(codecs)s::text[]) as g (tenant, content, before, text, encoded, codec)
where c.tenant = g.tenant and c.content = g.content and c.codec is not distinct from g.before
