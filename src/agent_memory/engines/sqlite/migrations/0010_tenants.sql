-- A tenant can be erased whole, so that no row of it may be another's, too: kinds, statuses, sources, types of links and
-- fields become each tenant's own, as `names` once all that is there has moved.
create table own_names (
    name integer primary key autoincrement,  -- never used again after an erasure: processes remember it
    tenant integer not null, text text not null,
    unique (tenant, text)
);
-- Lines of the store's journal by what they tell: that there ever was a key, and since when there is a tenant.
create index journal_keys on journal (number) where tenant = 0 and operation = 8;
create index journal_founded on journal (record) where tenant = 0 and operation = 9;
