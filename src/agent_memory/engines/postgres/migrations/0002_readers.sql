-- What readers of the database rely on, whatever the tables below look like: what is believed and holds now. Whoever
-- looks sees what their role and their tenant may see; a role that is held to one enters first: select enter('…').

-- The numbers of a vector, out of the bytes that are stored.
create function unpacked(data bytea, scale double precision) returns vector immutable strict parallel safe
    return (select array_agg((((get_byte(data, place) + 128) & 255) - 128) * scale order by place)::real[]::vector
        from generate_series(0, length(data) - 1) as place);

create view holding with (security_invoker = true) as
select v.tenant, w.name as tenant_name, s."user", s.agent, v.version, v.record, v.id, v.kind, v.conversation, v.status,
    v.importance, to_timestamp(v.valid_from / 1e6) as valid_from, to_timestamp(j.at / 1e6) as recorded_at,
    case when c.codec is null then c.text end as text, c.payload, v.content
from versions v
join tenants w on w.tenant = v.tenant
join scopes s on s.tenant = v.tenant and s.scope = v.scope
join contents c on c.tenant = v.tenant and c.content = v.content
join journal j on j.tenant = v.tenant and j.seq = v.version
where v.ended is null and v.valid_from <= extract(epoch from clock_timestamp()) * 1000000
and (v.valid_to is null or v.valid_to > extract(epoch from clock_timestamp()) * 1000000);

create view embedded with (security_invoker = true) as
select distinct on (x.tenant, x.content) x.tenant, x.content, unpacked(x.data, x.scale) as embedding
from vectors x join spaces p on p.space = x.space and p.active order by x.tenant, x.content, x.part;

create view conversation_logs with (security_invoker = true) as
select h.id, h.conversation as conversation_id, said(h.payload, 'index')::integer as turn_index,
    h.valid_from as timestamp, said(h.payload, 'role') as role, h.text as content,
    encode(sha256(convert_to(h.text, 'UTF8')), 'hex') as content_hash,
    said(h.payload, 'token_count')::integer as token_count,
    said(said(h.payload, 'metadata'), 'model') as model, said(h.payload, 'metadata') as metadata,
    e.embedding, h."user" as user_id, h.tenant_name as tenant
from holding h left join embedded e on e.tenant = h.tenant and e.content = h.content
where h.kind = 'turn' and h.status = 'active';

create view memory_timeline with (security_invoker = true) as
select h.id, case h.kind when 'turn' then 'episode' when 'observation' then 'episode' else h.kind end as memory_type,
    null::text as neo4j_node_id, h.valid_from as event_time, h.text as summary,
    e.embedding, h.importance as importance_score,
    coalesce(a.count, 0) as access_count, to_timestamp(a.last / 1e6) as last_accessed,
    h.status = 'archived' as archived, h.payload as metadata, h."user" as user_id, h.tenant_name as tenant
from holding h
left join embedded e on e.tenant = h.tenant and e.content = h.content
left join accesses a on a.tenant = h.tenant and a.record = h.record
where h.kind in ('turn', 'observation', 'fact', 'entity', 'reflection') and h.status in ('active', 'archived');

create view tool_invocations with (security_invoker = true) as
select h.id, h.conversation as conversation_id, said(t.payload, 'index')::integer as turn_index,
    h.valid_from as timestamp, said(h.payload, 'tool_name') as tool_name, said(h.payload, 'tool_input') as tool_input,
    said(h.payload, 'tool_output') as tool_output, said(h.payload, 'success')::boolean as success,
    said(h.payload, 'latency_ms')::double precision as latency_ms,
    case when not said(h.payload, 'success')::boolean then said(h.payload, 'tool_output') end as error_message,
    h."user" as user_id, h.tenant_name as tenant
from holding h
left join holding t on t.tenant = h.tenant and t.kind = 'turn' and t.id = said(h.payload, 'turn_id')
where h.kind = 'tool_call' and h.status = 'active';

create view user_profiles with (security_invoker = true) as
select h."user" as user_id, min(h.recorded_at) as created_at, max(h.recorded_at) as updated_at,
    coalesce(json_object_agg(concat_ws('.', said(h.payload, 'domain'), said(h.payload, 'name')), said(h.payload, 'value'))
        filter (where h.kind = 'preference'), '{}') as preferences,
    coalesce(json_agg(json_build_object('topic', said(h.payload, 'topic'), 'level', said(h.payload, 'level')))
        filter (where h.kind = 'expertise'), '[]') as expertise_areas,
    max(said(h.payload, 'value')) filter (where h.kind = 'preference' and said(h.payload, 'domain') = 'communication')
        as communication_style,
    coalesce(json_agg(said(h.payload, 'topic')) filter (where h.kind = 'interest'), '[]') as metadata,
    h.tenant_name as tenant
from holding h where h.kind in ('preference', 'expertise', 'interest') and h.status = 'active'
group by h.tenant_name, h."user";
