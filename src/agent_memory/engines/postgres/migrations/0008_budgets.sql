-- What models were asked on a day, by whom and in which operation, and what that used: also money, in millionths, and
-- time. What was counted before is on nobody's account. A program that counts otherwise may not go on beside this one.
alter table spending drop constraint spending_pkey;
alter table spending
    add column tenant text collate "C" not null default '',
    add column "user" text collate "C" not null default '',
    add column agent text collate "C" not null default '',
    add column run text collate "C" not null default '',
    add column operation text collate "C" not null default '',
    add column kind text collate "C" not null default 'chat',
    add column money bigint not null default 0,
    add column held bigint not null default 0,
    add column millis bigint not null default 0;
alter table spending add primary key (day, tenant, "user", agent, run, operation, kind, model);
create index spending_of on spending (run) where run <> '';
-- How much may be used.
create table budgets (
    per text collate "C" not null,
    tenant text collate "C" not null,
    who text collate "C" not null,
    calls bigint,
    tokens bigint,
    money bigint,
    millis bigint,
    primary key (per, tenant, who)
);
alter table budgets enable row level security;
create policy entered on budgets using ((select me()) is not null or (select operating()));
