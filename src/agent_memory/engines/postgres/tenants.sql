-- Tenants as a whole.

-- name: known_tenants
-- Those that the store holds something of.
select name from tenants w where name is not null and (seq > 0
    or exists (select 1 from receipts r where r.tenant = w.tenant)
    or exists (select 1 from working r where r.tenant = w.tenant)
    or exists (select 1 from lists r where r.tenant = w.tenant)
    or exists (select 1 from namespaces r where r.tenant = w.tenant))
union select tenant from keys order by 1

-- name: tenant_counts
select
    (select count(distinct s."user") from scopes s where s.tenant = w.tenant and s."user" <> '*' and exists (
        select 1 from versions v where v.tenant = w.tenant and v.scope = s.scope)),
    (select count(distinct record) from versions where tenant = w.tenant),
    (select count(*) from versions where tenant = w.tenant),
    (select count(*) from links where tenant = w.tenant),
    (select count(*) from receipts where tenant = w.tenant),
    (select count(*) from namespaces where tenant = w.tenant),
    (select count(*) from keys where tenant = %(name)s)
from (select coalesce((select tenant from tenants where name = %(name)s), -1) as tenant) w

-- name: lock_tenant
-- Writers wait, and then begin anew.
select tenant, seq, at, chain from tenants where name = %(name)s for update

-- name: lines_of_tenant
select count(*), count(old) from journal where tenant = %(tenant)s

-- name: close_old
with scopes_too as (update scopes set old = null where old is not null)
update journal set old = null where old is not null

-- name: rows_of_tenant
delete from {table} where tenant = %(tenant)s

-- name: named_by_tenant
delete from {table} where tenant = %(name)s
