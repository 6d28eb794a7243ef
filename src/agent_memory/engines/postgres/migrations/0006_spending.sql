-- expands
-- What models were asked on a day (UTC), and what that used. Tokens are reserved before a call is made.
create table spending (
    day text collate "C" not null,
    model text collate "C" not null,
    calls bigint not null,
    prompt bigint not null,
    completion bigint not null,
    reserved bigint not null,
    refused bigint not null,
    primary key (day, model)
);
alter table spending enable row level security;
create policy entered on spending using ((select me()) is not null or (select operating()));
