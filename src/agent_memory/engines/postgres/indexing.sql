-- The job that prepares scopes which are too large for memory.

-- name: large_able
-- Whether this role may make the indexes, and pgvector can look for more where a filter lets few through.
select pg_has_role(current_user, c.relowner, 'usage')
    and (select string_to_array(regexp_replace(extversion, '[^0-9.].*', ''), '.')::integer[] >= array[0, 8]
        from pg_extension where extname = 'vector')
from pg_class c where c.oid = 'large_vectors'::regclass

-- name: large_wanted
-- Scopes with more than so many lines: how far each is prepared, those first that nothing is prepared of. `stands`: what is
-- there still counts.
select w.name, s.scope, coalesce(l.line, 0), s.last, coalesce(l.ready, false),
    coalesce(l.adopted = greatest(w.founded, a.adopted) and l.space = a.space, false) as stands
from scopes s join tenants w on w.tenant = s.tenant and w.seq > %(most)s
cross join (select coalesce((select max(seq) from journal where tenant = 0 and operation = 7), 0) as adopted,
    coalesce((select space from spaces where active), 0) as space,
    coalesce((select dimension from spaces where active), 0) as dimension) a
left join large_scopes l on l.tenant = s.tenant and l.scope = s.scope
where s.lines > %(most)s and a.dimension <= %(dimensions)s order by coalesce(l.ready, false), s.tenant, s.scope

-- name: begin_large
-- Where something was prepared before, `line` is below 0 until that is gone: as many lines are still to be emptied.
insert into large_scopes (tenant, scope, space, dimension, adopted)
select me(), %(scope)s, coalesce((select space from spaces where active), 0),
    coalesce((select dimension from spaces where active), 0),
    (select greatest(max(founded), (select coalesce(max(seq), 0) from journal where tenant = 0 and operation = 7))
        from tenants where tenant in ((select me()), 0))
on conflict (tenant, scope) do update set space = excluded.space, dimension = excluded.dimension,
    adopted = excluded.adopted, recent = 0, first = 0, documents = 0, ready = false,
    line = -(select last from scopes where tenant = (select me()) and scope = excluded.scope)

-- name: empty_large_words
delete from large_words where tenant = (select me()) and scope = %(scope)s and record > %(to)s and record <= %(from)s

-- name: empty_large_vectors
delete from large_vectors where tenant = (select me()) and scope = %(scope)s and record > %(to)s and record <= %(from)s

-- name: large_emptied
update large_scopes set line = -%(to)s::bigint where tenant = (select me()) and scope = %(scope)s

-- name: hold_large_scope
-- Whoever erases something waits meanwhile, and finds what was added.
select space, line from large_scopes where tenant = (select me()) and scope = %(scope)s for update

-- name: large_next
select max(seq) from (select seq from journal where tenant = (select me()) and scope = %(scope)s and seq > %(line)s
    order by seq limit %(batch)s) j

-- name: large_new
select c.content, v.record, c.terms from contents c join versions v on v.tenant = c.tenant and v.version = c.content
where c.tenant = (select me()) and c.content > %(line)s and c.content <= %(to)s and v.scope = %(scope)s

-- name: fill_large_words
insert into large_words (tenant, scope, term, content, record)
select me(), %(scope)s, ('x' || encode(substring(n.terms from place * 8 + 1 for 8), 'hex'))::bit(64)::bigint, n.content, n.record
from ({{large_new}}) n cross join lateral generate_series(0, length(n.terms) / 9 - 1) as place

-- name: fill_large_vectors
insert into large_vectors (tenant, scope, space, content, record, embedding)
select me(), x.scope, x.space, x.content, v.record, unpacked(x.data, x.scale)::halfvec
from vectors x join versions v on v.tenant = x.tenant and v.version = x.content
where x.tenant = (select me()) and x.scope = %(scope)s and x.space = %(space)s and x.line > %(line)s and x.line <= %(to)s

-- name: move_large
update large_scopes l set line = %(to)s, documents = l.documents + n.documents,
    first = case when l.first = 0 then coalesce(n.first, 0) else l.first end,
    recent = coalesce((select v.version from versions v where v.tenant = (select me()) and v.scope = %(scope)s
        and v.version = v.content and v.version <= %(to)s order by v.version desc offset %(recent)s limit 1), 0)
from (select count(*) as documents, min(content) as first from ({{large_new}}) f) n
where l.tenant = (select me()) and l.scope = %(scope)s returning n.documents

-- name: large_place
select tenant, space, dimension from large_scopes where tenant = (select me()) and scope = %(scope)s

-- name: ready_large
update large_scopes set ready = true where tenant = (select me()) and scope = %(scope)s

-- name: large_indexes
-- Those whose scope is not there any more, or whose making was ended half-way, are of no use.
select c.relname, i.indisvalid and exists (select 1 from large_scopes l
    where c.relname = 'large_hnsw_' || l.tenant || '_' || l.scope || '_' || l.space) as used
from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = 'large_vectors'::regclass and starts_with(c.relname, 'large_hnsw_')

-- name: large_building
-- Also for a process that was killed: the database goes on for a while.
select exists (select 1 from pg_stat_progress_create_index where datname = current_database() and relid = 'large_vectors'::regclass)

-- name: make_large_index
-- With the schemas of all names, since no transaction tells where to look for them; `schema` is that of pgvector.
create index concurrently if not exists large_hnsw_{tenant}_{scope}_{space} on agent_memory.large_vectors
    using hnsw ((embedding::{schema}.halfvec({dimension})) {schema}.halfvec_ip_ops) where tenant = {tenant} and scope = {scope} and space = {space}

-- name: drop_large_index
drop index concurrently if exists agent_memory.{index}
