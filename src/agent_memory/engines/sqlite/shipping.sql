-- What `migrate` shows: sections in words, of all tenants or of one; and what it writes that nothing else does.

-- name: own
(:tenant is null or t.name = :tenant)

-- name: show_common
select line, old from journal where old is not null order by line desc limit 1

-- name: show_meta
select name, value from meta where name in ('accessed', 'budget zone') order by name

-- name: show_vocabularies
select vocabulary, name, digest, active <> 0 from vocabularies order by vocabulary

-- name: show_spaces
select model, version, dimension, active <> 0 from spaces order by space

-- name: show_places
select name, error from places order by place

-- name: show_tenants
-- Those that have a line; of others a row is made by whoever needs it.
select tenant, name, base, salt, genesis from tenants t
where {{own}} and (tenant = 0 or base > 0 or exists (select 1 from journal where tenant = t.tenant)) order by tenant

-- name: show_scopes
-- Those that have a line or an answer; of others a row is made by whoever needs it.
select t.name, s.number, s.user, s.agent, iif(s.scope in (select scope from journal where old is not null), s.scope, null) as old
from scopes s join tenants t on t.name = s.tenant
where {{own}} and (s.last is not null or s.scope in (select scope from journal) or s.scope in (select scope from repeats))
order by old is null, old, s.scope

-- name: show_journal
select t.name, j.number, j.at, j.operation, s.number, r.number, o.number, a.text, j.reason, j.digest, j.chain, j.old
from tenants t cross join journal j on j.tenant = t.tenant join actors a on a.actor = j.actor
left join scopes s on s.scope = j.scope left join journal r on r.line = j.record left join journal o on o.line = j.other
where t.name is not null and {{own}} order by t.tenant, j.number

-- name: show_store
select j.number, j.at, j.operation, j.record, j.other, a.text, j.reason, j.digest, j.chain, j.old
from journal j join actors a on a.actor = j.actor where j.tenant = 0 order by j.number

-- name: show_contents
select t.name, j.number, iif(c.codec is null, c.text, null), iif(c.codec is null, null, c.text), c.codec, c.payload,
    c.salt, w.vocabulary, w.length, w.terms
from contents c join journal j on j.line = c.content join tenants t on t.tenant = j.tenant join words w on w.content = c.content
where {{own}} order by c.content

-- name: show_fields
select t.name, j.number, n.text, f.value
from fields f join journal j on j.line = f.content join tenants t on t.tenant = j.tenant join names n on n.name = f.name
where {{own}} order by f.content, f.name, f.value

-- name: show_versions
select t.name, j.number, r.number, v.id, v.number, c.number, s.number, kind.text, v.key, conversation.text, v.position,
    repository.text, status.text, v.importance, v.confidence, source.text, v.valid_from, v.valid_to, e.number
from versions v join journal j on j.line = v.version join tenants t on t.tenant = j.tenant
join journal r on r.line = v.record join journal c on c.line = v.content join scopes s on s.scope = v.scope
join names kind on kind.name = v.kind join names status on status.name = v.status join names source on source.name = v.source
left join labels conversation on conversation.label = v.conversation
left join labels repository on repository.label = v.repository left join journal e on e.line = v.to_seq
where {{own}} order by v.version

-- name: show_links
select t.name, j.number, a.number, b.number, n.text, s.number, l.weight, l.properties, l.salt, e.number
from links l join journal j on j.line = l.link join tenants t on t.tenant = j.tenant
join journal a on a.line = l.source join journal b on b.line = l.target join names n on n.name = l.type
join scopes s on s.scope = l.scope left join journal e on e.line = l.to_seq
where {{own}} order by l.link

-- name: show_tombstones
select t.name, r.number, x.id, s.number, j.number
from tombstones x join journal r on r.line = x.record join tenants t on t.tenant = r.tenant
join journal j on j.line = x.line join scopes s on s.scope = x.scope
where {{own}} order by x.record

-- name: show_vectors
select t.name, j.number, x.vector % 65536, p.model || '@' || p.version || '/' || p.dimension, s.number, c.number,
    x.part, x.start, x."end", x.scale, x.data
from vectors x join journal j on j.line = x.vector / 65536 join tenants t on t.tenant = j.tenant
join journal c on c.line = x.content join scopes s on s.scope = x.scope join spaces p on p.space = x.space
where {{own}} order by x.vector

-- name: show_pending
select t.name, j.number, p.model || '@' || p.version || '/' || p.dimension, s.number, x.part
from pending x join journal j on j.line = x.content join tenants t on t.tenant = j.tenant
join scopes s on s.scope = x.scope join spaces p on p.space = x.space
where {{own}} order by x.content, x.space

-- name: show_answers
select t.name, s.number, x.key, x.request, x.at, x.answer
from repeats x join scopes s on s.scope = x.scope join tenants t on t.name = s.tenant
where {{own}} order by x.scope, x.key

-- name: show_receipts
select t.name, x.id, s.user, s.agent, x.at, x.seq, x.terms, x.body,
    (select json_group_array(j.number) from (select record from shown where receipt = x.receipt order by record) r
        join journal j on j.line = r.record)
from receipts x join scopes s on s.scope = x.scope join tenants t on t.name = s.tenant
where {{own}} order by x.receipt

-- name: show_accesses
select t.name, j.number, x.count, x.last
from accesses x join journal j on j.line = x.record join tenants t on t.tenant = j.tenant where {{own}} order by x.record

-- name: show_accessed
select t.name, j.number, x.at, x.times
from accessed x join journal j on j.line = x.record join tenants t on t.tenant = j.tenant where {{own}} order by x.record, x.at

-- name: show_values
select t.name, s.user, s.agent, x.conversation, x.key, x.value, x.expires_at
from working x join scopes s on s.scope = x.scope join tenants t on t.name = s.tenant
where {{own}} order by x.scope, x.conversation, x.key

-- name: show_lists
select t.name, s.user, s.agent, x.conversation, x.name,
    row_number() over (partition by x.scope, x.conversation, x.name order by x.item), x.value, x.expires_at
from lists x join scopes s on s.scope = x.scope join tenants t on t.name = s.tenant
where {{own}} order by x.scope, x.conversation, x.name, x.item

-- name: show_namespaces
select namespace, id, scale, data, metadata, model from namespaces
where :tenant is null or namespace >= :tenant || char(31) and namespace < :tenant || char(32)

-- name: show_scores
select namespace, id, score, at from scores
where :tenant is null or namespace >= :tenant || char(31) and namespace < :tenant || char(32)

-- name: show_missed
select p.name, x.namespace, x.id, row_number() over (partition by x.place order by x.number), x.at
from missed x join places p on p.place = x.place
where :tenant is null or x.namespace >= :tenant || char(31) and x.namespace < :tenant || char(32) order by x.place, x.number

-- name: show_cursors
select x.tenant, x.job, x.seq, x.chain, row_number() over (partition by x.job order by x.turn, x.tenant)
from cursors x where :tenant is null or x.tenant = :tenant order by x.job, x.turn

-- name: show_debts
select p.name, x.tenant, x.user, x.agent, x.id, x.seq, x.at
from debts x join places p on p.place = x.place where :tenant is null or x.tenant = :tenant order by x.place, x.at, x.id

-- name: show_keys
select id, digest, label, tenant, user, permissions, created_at, expires_at, ended_at from keys
where :tenant is null or tenant = :tenant order by id

-- name: show_refusals
select row_number() over (order by number), at, tenant, user, operation, reason, key from refusals
where :tenant is null or tenant = :tenant order by number

-- name: show_reads
select lines from reads where :tenant is null or tenant = :tenant order by number

-- name: show_spending
{{spent}} where :tenant is null order by day, tenant, user, agent, run, operation, kind, model

-- name: show_budgets
select per, tenant, who, calls, tokens, money, millis from budgets where :tenant is null order by per, tenant, who

-- name: show_heads
select t.name, j.number, j.chain from tenants t
cross join journal j on j.tenant = t.tenant and j.number = (select max(number) from journal where tenant = t.tenant)
where {{own}}

-- name: holds_anything
select exists (select 1 from tenants where tenant > 0) or exists (select 1 from keys) or exists (select 1 from refusals)
    or exists (select 1 from namespaces) or exists (select 1 from journal where operation <> 7)

-- name: empty
delete from "{table}"

-- name: line_of
select line from journal where tenant = ? and number = ?

-- name: take_tenant
insert into tenants (tenant, name, base, salt, genesis) values (?, ?, ?, ?, ?)

-- name: take_scope
insert into scopes (scope, tenant, user, agent, number) values (?, ?, ?, ?, ?) returning scope

-- name: scope_within
select scope from scopes where tenant = ? and number = ?

-- name: take_line
insert into journal (line, tenant, number, at, operation, scope, record, other, actor, reason, digest, chain, old)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: take_content
insert into contents (content, text, codec, payload, salt) values (?, ?, ?, ?, ?)

-- name: take_words
insert into words (content, vocabulary, length, terms) values (?, ?, ?, ?)

-- name: take_place
insert into places (place, name, error, seal) values (?, ?, ?, ?)

-- name: next_place
select coalesce(max(place), 0) + 1 from places

-- name: place_of
select place from places where name = ?

-- name: space_of
select space from spaces where model || '@' || version || '/' || dimension = ?

-- name: lasts
select scope, max(number) from journal where scope > 0 group by scope

-- name: move_last
update journal set line = line + ? where line = (select max(line) from journal)

-- name: used_tenants
update sqlite_sequence set seq = max(seq, (select coalesce(max(record), 0) from journal where tenant = 0 and operation = 9))
where name = 'tenants'

-- name: get_meta
select value from meta where name = ?

-- name: drop_meta
delete from meta where name = ?

-- name: take_score
insert into scores (namespace, id, score, at, seal) values (?, ?, ?, ?, ?)
