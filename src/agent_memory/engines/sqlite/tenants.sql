-- Tenants as a whole.

-- name: scopes_inside
select scope from scopes where tenant = :name

-- name: lines_inside
select line from journal where tenant = :tenant

-- name: vectors_inside
namespace >= :name || char(31) and namespace < :name || char(32)

-- name: founded
select coalesce(max(number), 0) from journal indexed by journal_founded where tenant = 0 and operation = 9 and record = ?

-- name: known_tenants
-- Vectors say whose they are in the names of their namespaces, unless they are nobody's: one look into the index for each
-- tenant.
with recursive spaces(namespace) as (
    select min(namespace) from namespaces
    union all select (select min(n.namespace) from namespaces n
        where n.namespace >= iif(instr(spaces.namespace, char(31)) = 0, spaces.namespace || char(1),
            substr(spaces.namespace, 1, instr(spaces.namespace, char(31)) - 1) || char(32)))
    from spaces where spaces.namespace is not null)
select name from tenants where name is not null
union select tenant from keys
union select substr(namespace, 1, instr(namespace, char(31)) - 1) from spaces where instr(namespace, char(31)) > 0

-- name: tenant_counts
select
    (select count(distinct s.user) from scopes s where s.tenant = :name and s.user <> '*'
        and exists (select 1 from versions v where v.scope = s.scope)),
    (select count(distinct record) from versions where scope in ({{scopes_inside}})),
    (select count(*) from versions where scope in ({{scopes_inside}})),
    (select count(*) from links where scope in ({{scopes_inside}})),
    (select count(*) from receipts where scope in ({{scopes_inside}})),
    (select count(*) from namespaces where {{vectors_inside}}),
    (select count(*) from keys where tenant = :name)

-- name: lines_of_tenant
select count(*), count(old) from journal where tenant = ?

-- name: old_end
select line, old from journal where old is not null order by line desc limit 1

-- name: close_old
update journal set old = null where old is not null

-- name: tenant_shown
delete from shown where receipt in (select receipt from receipts where scope in ({{scopes_inside}}))

-- name: tenant_receipts
delete from receipts where scope in ({{scopes_inside}})

-- name: tenant_accesses
delete from accesses where record in ({{lines_inside}})

-- name: tenant_accessed
delete from accessed where record in ({{lines_inside}})

-- name: tenant_working
delete from working where scope in ({{scopes_inside}})

-- name: tenant_lists
delete from lists where scope in ({{scopes_inside}})

-- name: tenant_repeats
delete from repeats where scope in ({{scopes_inside}})

-- name: tenant_vectors
delete from vectors where scope in ({{scopes_inside}})

-- name: tenant_pending
delete from pending where scope in ({{scopes_inside}})

-- name: tenant_words
delete from words where content in ({{lines_inside}})

-- name: tenant_fields
delete from fields where content in ({{lines_inside}})

-- name: tenant_contents
delete from contents where content in ({{lines_inside}})

-- name: tenant_links
delete from links where scope in ({{scopes_inside}})

-- name: tenant_versions
delete from versions where scope in ({{scopes_inside}})

-- name: tenant_tombstones
delete from tombstones where scope in ({{scopes_inside}})

-- name: tenant_names
delete from names where tenant = :tenant

-- name: tenant_labels
delete from labels where tenant = :tenant

-- name: tenant_actors
delete from actors where tenant = :tenant

-- name: tenant_namespaces
delete from namespaces where {{vectors_inside}}

-- name: tenant_scores
delete from scores where {{vectors_inside}}

-- name: tenant_missed
select namespace, id from missed where {{vectors_inside}}

-- name: tenant_cursors
delete from cursors where tenant = :name

-- name: tenant_debts
delete from debts where tenant = :name

-- name: tenant_keys
delete from keys where tenant = :name

-- name: tenant_refusals
delete from refusals where tenant = :name

-- name: tenant_spending
delete from spending where tenant = :name

-- name: tenant_reads
delete from reads where tenant = :name

-- name: tenant_journal
delete from journal where tenant = :tenant

-- name: tenant_scopes
delete from scopes where tenant = :name

-- name: tenant_tenants
delete from tenants where tenant = :tenant

-- name: jobs_saying
select name, token, holder, since, until, ran_at, seconds, did, failed_at from leases where instr(error, ?)

-- name: places_saying
select name from places where instr(error, ?)

-- name: empty_scopes
delete from scopes where tenant = :name and last is null
and scope not in (select scope from journal) and scope not in (select scope from receipts)
and scope not in (select scope from repeats) and scope not in (select scope from working)
and scope not in (select scope from lists)

-- name: empty_tenant
delete from tenants where name = :name and tenant not in (select tenant from journal)
and not exists (select 1 from scopes where tenant = :name)
