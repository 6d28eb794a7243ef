-- When each record was recalled, for as long as receipts are kept; `accesses` has the totals of all time.
-- In `meta`, 'accessed' is the moment before which these rows are gone, once any are.
create table accessed (
    record integer not null, at integer not null, times integer not null,
    primary key (record, at)
) without rowid;
create index accessed_at on accessed (at);
insert into accessed (record, at, times)
select s.record, r.at, count(*) from shown s join receipts r on r.receipt = s.receipt group by s.record, r.at;
insert into meta (name, value) select 'accessed', max(at) - 90 * 86400000000 from receipts having count(*) > 0;
