-- What `migrate` shows: sections in words, of all tenants or of one; and how it writes them.

-- name: own
(%(tenant)s::text is null or t.name = %(tenant)s)

-- name: stay
set local idle_in_transaction_session_timeout = 0

-- name: show_heads
select t.name, j.seq, j.chain from tenants t
cross join lateral (select seq, chain from journal where tenant = t.tenant order by seq desc limit 1) j where {{own}}

-- name: show_common
select seq, old from journal where old is not null order by seq desc limit 1

-- name: show_meta
select name, value from meta where name in ('accessed', 'budget zone') order by name

-- name: show_vocabularies
select vocabulary, name, digest, active from vocabularies order by vocabulary

-- name: show_spaces
select model, version, dimension, active from spaces order by space

-- name: show_places
select name, error from places order by name

-- name: show_tenants
-- Those that have a line; of others a row is made by whoever needs it.
select tenant, name, base, salt, genesis from tenants t
where {{own}} and (tenant = 0 or base > 0 or seq > 0) order by tenant

-- name: show_scopes
select t.name, s.scope, s."user", s.agent, s.old from scopes s join tenants t on t.tenant = s.tenant
where {{own}} order by s.old nulls last, s.tenant, s.scope

-- name: show_journal
select t.name, j.seq, j.at, j.operation, j.scope, j.record, j.other, j.actor, j.reason, j.digest, j.chain, j.old
from journal j join tenants t on t.tenant = j.tenant where j.tenant > 0 and {{own}} order by j.tenant, j.seq

-- name: show_store
select seq, at, operation, record, other, actor, reason, digest, chain, old from journal where tenant = 0 order by seq

-- name: show_contents
select t.name, c.content, c.text, c.encoded, c.codec, c.payload, c.salt, c.vocabulary, c.length, c.terms
from contents c join tenants t on t.tenant = c.tenant where {{own}} order by c.tenant, c.content

-- name: show_fields
select t.name, f.content, f.name, f.word, f.number
from fields f join tenants t on t.tenant = f.tenant where {{own}} order by f.tenant, f.content, f.name, f.word, f.number

-- name: show_versions
select t.name, v.version, v.record, v.id, v.number, v.content, v.scope, v.kind, v.key, v.conversation, v.position,
    v.repository, v.status, v.importance, v.confidence, v.source, v.valid_from, v.valid_to, v.ended
from versions v join tenants t on t.tenant = v.tenant where {{own}} order by v.tenant, v.version

-- name: show_links
select t.name, l.link, l.source, l.target, l.type, l.scope, l.weight, l.properties, l.salt, l.ended
from links l join tenants t on t.tenant = l.tenant where {{own}} order by l.tenant, l.link

-- name: show_tombstones
select t.name, x.record, x.id, x.scope, x.line
from tombstones x join tenants t on t.tenant = x.tenant where {{own}} order by x.tenant, x.record

-- name: show_vectors
select t.name, x.line, x.place, p.model || '@' || p.version || '/' || p.dimension, x.scope, x.content, x.part, x.start,
    x."end", x.scale, x.data
from vectors x join tenants t on t.tenant = x.tenant join spaces p on p.space = x.space
where {{own}} order by x.tenant, x.line, x.place

-- name: show_pending
select t.name, x.content, p.model || '@' || p.version || '/' || p.dimension, x.scope, x.part
from pending x join tenants t on t.tenant = x.tenant join spaces p on p.space = x.space
where {{own}} order by x.tenant, x.content, x.space

-- name: show_answers
select t.name, x.scope, x.key, x.request, x.at, x.answer
from answers x join tenants t on t.tenant = x.tenant where {{own}} order by x.tenant, x.scope, x.key

-- name: show_receipts
select t.name, x.id, x."user", x.agent, x.at, x.seq, x.terms, x.body, x.told
from receipts x join tenants t on t.tenant = x.tenant where {{own}} order by x.tenant, x.receipt

-- name: show_accesses
select t.name, x.record, x.count, x.last
from accesses x join tenants t on t.tenant = x.tenant where {{own}} order by x.tenant, x.record

-- name: show_accessed
select t.name, x.record, x.at, x.times
from accessed x join tenants t on t.tenant = x.tenant where {{own}} order by x.tenant, x.record, x.at

-- name: show_values
select t.name, x."user", x.agent, x.conversation, x.key, x.value, x.expires_at
from working x join tenants t on t.tenant = x.tenant where x.conversation is not null and {{own}}
order by x.tenant, x.desk, x.slot

-- name: show_lists
select t.name, x."user", x.agent, x.conversation, x.name,
    row_number() over (partition by x.tenant, x.desk, x.slot order by x.item), x.value, x.expires_at
from lists x join tenants t on t.tenant = x.tenant where x.conversation is not null and {{own}}
order by x.tenant, x.desk, x.slot, x.item

-- name: show_namespaces
select x.namespace, x.id, x.embedding::real[], x.metadata, x.model
from namespaces x join tenants t on t.tenant = x.tenant where {{own}} order by x.tenant, x.namespace, x.id

-- name: show_scores
select x.namespace, x.id, x.score, x.at
from scores x join tenants t on t.tenant = x.tenant where {{own}} order by x.tenant, x.namespace, x.id

-- name: show_missed
-- Also of a tenant that is gone: what is elsewhere still has to go.
select x.place, x.namespace, x.id, row_number() over (partition by x.place order by x.number), x.at
from missed x where %(tenant)s::text is null or starts_with(x.namespace, %(tenant)s || chr(31)) order by x.place, x.number

-- name: show_cursors
select t.name, x.job, x.seq, x.chain, row_number() over (partition by x.job order by x.turn, t.name)
from cursors x join tenants t on t.tenant = x.tenant where {{own}} order by x.job, x.turn

-- name: show_debts
select place, whose, "user", agent, id, max(seq), min(at) from debts
where %(tenant)s::text is null or whose = %(tenant)s group by place, whose, "user", agent, id order by 1, 7, 2, 3, 4, 5

-- name: show_keys
select id, digest, label, tenant, "user", permissions, created_at, expires_at, ended_at from keys
where %(tenant)s::text is null or tenant = %(tenant)s order by id

-- name: show_refusals
select row_number() over (order by number), at, tenant, "user", operation, reason, key from refusals
where %(tenant)s::text is null or tenant = %(tenant)s order by number

-- name: show_reads
select lines from reads where %(tenant)s::text is null or tenant = %(tenant)s order by number

-- name: show_spending
{{spent}} where %(tenant)s::text is null order by day, tenant, "user", agent, run, operation, kind, model

-- name: show_budgets
select per, tenant, who, calls, tokens, money, millis from budgets where %(tenant)s::text is null order by per, tenant, who

-- name: holds_anything
select exists (select 1 from tenants where tenant > 0) or exists (select 1 from keys) or exists (select 1 from refusals)
    or exists (select 1 from namespaces) or exists (select 1 from journal where operation <> 7)

-- name: our_tables
select tablename from pg_tables where schemaname = 'agent_memory' and tablename <> 'meta' order by 1

-- name: empty
delete from {table}

-- name: get_meta
select value from meta where name = %(name)s

-- name: hold_meta
{{get_meta}} for update

-- name: keep_meta
insert into meta (name, value) values (%(name)s, %(value)s) on conflict (name) do nothing

-- name: put_meta
insert into meta (name, value) values (%(name)s, %(value)s) on conflict (name) do update set value = excluded.value

-- name: empty_meta
delete from meta where name not in ('schema', 'outside')

-- name: drop_meta
delete from meta where name = %(name)s

-- name: numbers_of_tenants
select name, tenant from tenants where name = any(%(names)s::text[])

-- name: take_vocabularies
insert into vocabularies (vocabulary, name, digest, active)
select * from unnest(%(vocabulary)s::integer[], %(name)s::text[], %(digest)s::text[], %(active)s::boolean[])

-- name: take_spaces
insert into spaces (space, model, version, dimension, active)
select coalesce((select max(space) from spaces), 0) + u.place, u.model, u.version, u.dimension, u.active
from unnest(%(model)s::text[], %(version)s::text[], %(dimension)s::integer[], %(active)s::boolean[]) with ordinality
    as u (model, version, dimension, active, place)

-- name: take_places
insert into places (name, error) select * from unnest(%(name)s::text[], %(error)s::text[])

-- name: take_tenants
insert into tenants (tenant, name, base, salt, genesis, seq, chain)
select u.*, u.base, u.genesis
from unnest(%(number)s::integer[], %(name)s::text[], %(base)s::bigint[], %(salt)s::bytea[], %(genesis)s::bytea[])
    as u (number, name, base, salt, genesis)

-- name: take_scopes
insert into scopes (tenant, scope, "user", agent, old)
select * from unnest(%(tenant)s::integer[], %(number)s::integer[], %(user)s::text[], %(agent)s::text[], %(old)s::bigint[])

-- name: take_journal
insert into journal (tenant, seq, at, operation, scope, record, other, actor, reason, digest, chain, old)
select * from unnest(%(tenant)s::integer[], %(seq)s::bigint[], %(at)s::bigint[], %(operation)s::smallint[],
    %(scope)s::integer[], %(record)s::bigint[], %(other)s::bigint[], %(actor)s::text[], %(reason)s::text[],
    %(digest)s::bytea[], %(chain)s::bytea[], %(old)s::bytea[])

-- name: take_store
insert into journal (tenant, seq, at, operation, scope, record, other, actor, reason, digest, chain, old)
select 0, seq, at, operation, 0, record, other, actor, reason, digest, chain, old
from unnest(%(seq)s::bigint[], %(at)s::bigint[], %(operation)s::smallint[], %(record)s::bigint[], %(other)s::bigint[],
    %(actor)s::text[], %(reason)s::text[], %(digest)s::bytea[], %(chain)s::bytea[], %(old)s::bytea[])
    as u (seq, at, operation, record, other, actor, reason, digest, chain, old)

-- name: take_contents
insert into contents (tenant, content, text, encoded, codec, payload, salt, vocabulary, length, terms)
select * from unnest(%(tenant)s::integer[], %(content)s::bigint[], %(text)s::text[], %(encoded)s::bytea[],
    %(codec)s::text[], %(payload)s::text[], %(salt)s::bytea[], %(vocabulary)s::integer[], %(length)s::integer[],
    %(terms)s::bytea[])

-- name: take_fields
insert into fields (tenant, content, name, word, number)
select * from unnest(%(tenant)s::integer[], %(content)s::bigint[], %(name)s::text[], %(word)s::text[], %(number)s::numeric[])

-- name: take_versions
insert into versions (tenant, version, record, id, number, content, scope, kind, key, conversation, position, repository,
    status, importance, confidence, source, valid_from, valid_to, ended)
select * from unnest(%(tenant)s::integer[], %(version)s::bigint[], %(record)s::bigint[], %(id)s::text[],
    %(number)s::integer[], %(content)s::bigint[], %(scope)s::integer[], %(kind)s::text[], %(key)s::text[],
    %(conversation)s::text[], %(position)s::bigint[], %(repository)s::text[], %(status)s::text[],
    %(importance)s::double precision[], %(confidence)s::double precision[], %(source)s::text[],
    %(valid_from)s::bigint[], %(valid_to)s::bigint[], %(ended)s::bigint[])

-- name: take_links
insert into links (tenant, link, source, target, type, scope, weight, properties, salt, ended)
select * from unnest(%(tenant)s::integer[], %(link)s::bigint[], %(source)s::bigint[], %(target)s::bigint[], %(type)s::text[],
    %(scope)s::integer[], %(weight)s::double precision[], %(properties)s::text[], %(salt)s::bytea[], %(ended)s::bigint[])

-- name: take_tombstones
insert into tombstones (tenant, record, id, scope, line)
select * from unnest(%(tenant)s::integer[], %(record)s::bigint[], %(id)s::text[], %(scope)s::integer[], %(line)s::bigint[])

-- name: take_vectors
insert into vectors (tenant, line, place, space, scope, content, part, start, "end", scale, data, seal)
select * from unnest(%(tenant)s::integer[], %(line)s::bigint[], %(place)s::integer[], %(space)s::integer[],
    %(scope)s::integer[], %(content)s::bigint[], %(part)s::integer[], %(start)s::integer[], %(end)s::integer[],
    %(scale)s::double precision[], %(data)s::bytea[], %(seal)s::bytea[])

-- name: take_pending
insert into pending (tenant, content, space, scope, part)
select * from unnest(%(tenant)s::integer[], %(content)s::bigint[], %(space)s::integer[], %(scope)s::integer[],
    %(part)s::integer[])

-- name: take_answers
insert into answers (tenant, scope, key, request, at, answer, seal)
select * from unnest(%(tenant)s::integer[], %(scope)s::integer[], %(key)s::text[], %(request)s::bytea[], %(at)s::bigint[],
    %(answer)s::text[], %(seal)s::bytea[])

-- name: take_receipt
insert into receipts (tenant, id, "user", agent, at, seq, terms, body, told, seal)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)

-- name: take_accesses
insert into accesses (tenant, record, count, last)
select * from unnest(%(tenant)s::integer[], %(record)s::bigint[], %(count)s::bigint[], %(last)s::bigint[])

-- name: take_accessed
insert into accessed (tenant, record, at, times)
select * from unnest(%(tenant)s::integer[], %(record)s::bigint[], %(at)s::bigint[], %(times)s::bigint[])

-- name: take_values
insert into working (tenant, desk, slot, "user", agent, conversation, key, value, expires_at)
select * from unnest(%(tenant)s::integer[], %(desk)s::bytea[], %(slot)s::bytea[], %(user)s::text[], %(agent)s::text[],
    %(conversation)s::text[], %(key)s::text[], %(value)s::text[], %(expires_at)s::bigint[])

-- name: take_lists
insert into lists (tenant, desk, slot, "user", agent, conversation, name, value, expires_at)
select u.tenant, u.desk, u.slot, u."user", u.agent, u.conversation, u.name, u.value, u.expires_at
from unnest(%(tenant)s::integer[], %(desk)s::bytea[], %(slot)s::bytea[], %(user)s::text[], %(agent)s::text[],
    %(conversation)s::text[], %(name)s::text[], %(value)s::text[], %(expires_at)s::bigint[]) with ordinality
    as u (tenant, desk, slot, "user", agent, conversation, name, value, expires_at, place) order by u.place

-- name: take_scores
insert into scores (tenant, namespace, id, score, at)
select * from unnest(%(tenant)s::integer[], %(namespace)s::text[], %(id)s::text[], %(score)s::double precision[],
    %(at)s::bigint[])

-- name: take_missed
insert into missed (tenant, place, namespace, id, at)
select u.tenant, u.place, u.namespace, u.id, u.at
from unnest(%(tenant)s::integer[], %(place)s::text[], %(namespace)s::text[], %(id)s::text[], %(turn)s::bigint[],
    %(at)s::bigint[]) as u (tenant, place, namespace, id, turn, at) order by u.place, u.turn

-- name: take_cursors
insert into cursors (tenant, job, seq, chain, turn)
select * from unnest(%(tenant)s::integer[], %(job)s::text[], %(seq)s::bigint[], %(chain)s::text[], %(turn)s::bigint[])

-- name: take_debts
-- A tenant that is gone has a number no more.
insert into debts (tenant, whose, place, "user", agent, id, seq, at)
select coalesce((select t.tenant from tenants t where t.name = u.tenant), 0), u.tenant, u.place, u."user", u.agent, u.id,
    u.seq, u.at
from unnest(%(place)s::text[], %(tenant)s::text[], %(user)s::text[], %(agent)s::text[], %(id)s::text[], %(seq)s::bigint[],
    %(at)s::bigint[]) as u (place, tenant, "user", agent, id, seq, at)

-- name: take_refusals
insert into refusals (number, at, tenant, "user", operation, reason, key)
select * from unnest(%(number)s::bigint[], %(at)s::bigint[], %(tenant)s::text[], %(user)s::text[], %(operation)s::text[],
    %(reason)s::text[], %(key)s::text[])

-- name: take_reads
insert into reads (number, first, last, tenant, reasons, lines)
select * from unnest(%(number)s::bigint[], %(first)s::bigint[], %(last)s::bigint[], %(tenant)s::text[], %(reasons)s::bigint[],
    %(lines)s::text[])

-- name: take_spending
insert into spending (day, tenant, "user", agent, run, operation, kind, model, calls, prompt, completion, reserved, money, held,
    millis, refused)
select * from unnest(%(day)s::text[], %(tenant)s::text[], %(user)s::text[], %(agent)s::text[], %(run)s::text[],
    %(operation)s::text[], %(kind)s::text[], %(model)s::text[], %(calls)s::bigint[], %(prompt)s::bigint[],
    %(completion)s::bigint[], %(reserved)s::bigint[], %(money)s::bigint[], %(held)s::bigint[], %(millis)s::bigint[],
    %(refused)s::bigint[])

-- name: take_budgets
insert into budgets (per, tenant, who, calls, tokens, money, millis)
select * from unnest(%(per)s::text[], %(tenant)s::text[], %(who)s::text[], %(calls)s::bigint[], %(tokens)s::bigint[],
    %(money)s::bigint[], %(millis)s::bigint[])

-- name: used_tenants
select setval('tenant_numbers', greatest(1, (select last_value from tenant_numbers), (select max(tenant) from tenants),
    (select max(record) from journal where tenant = 0 and operation = 9)))

-- name: used_refusals
select setval(pg_get_serial_sequence('refusals', 'number'), max(number)) from refusals having max(number) is not null

-- name: used_reads
select setval(pg_get_serial_sequence('reads', 'number'), max(number)) from reads having max(number) is not null

-- name: used_turns
select setval('cursor_turns', max(turn)) from cursors having max(turn) is not null

-- name: count_table
analyze {table}

-- name: finish_heads
update tenants t set seq = j.seq, at = j.at, chain = j.chain
from (select distinct on (tenant) tenant, seq, at, chain from journal order by tenant, seq desc) j where j.tenant = t.tenant

-- name: finish_founded
update tenants t set founded = f.seq
from (select record, max(seq) as seq from journal where tenant = 0 and operation = 9 group by record) f
where f.record = t.tenant

-- name: finish_scopes
update scopes s set last = j.seq, lines = j.lines
from (select tenant, scope, max(seq) as seq, count(*) as lines from journal group by tenant, scope) j
where j.tenant = s.tenant and j.scope = s.scope
