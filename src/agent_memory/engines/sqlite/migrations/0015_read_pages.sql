-- A row of the access log is a page: the lines of one tenant that were written together.
create table read_pages (
    number integer primary key, first integer not null, last integer not null, tenant text not null, reasons integer not null,
    lines text not null, seal blob
);
insert into read_pages
select number, at, at, tenant, why is not null, json_array(json_array(at, tenant, user, agent, key, door, operation,
    json(case ids when '' then '[]' else '[' || replace(json_quote(ids), ' ', '","') || ']' end),
    shown, why, micros, tokens, money, receipt)), null
from reads;
drop table reads;
alter table read_pages rename to reads;
create index reads_of on reads (tenant, number);
