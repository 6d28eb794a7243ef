-- What models were asked on a day, by whom and in which operation, and what that used: also money, in millionths, and
-- time. What was counted before is on nobody's account.
create table spending_by_account (
    day text not null, tenant text not null, user text not null, agent text not null, run text not null,
    operation text not null, kind text not null, model text not null, calls integer not null, prompt integer not null,
    completion integer not null, reserved integer not null, money integer not null, held integer not null,
    millis integer not null, refused integer not null, seal blob,
    primary key (day, tenant, user, agent, run, operation, kind, model)
) without rowid;
insert into spending_by_account
select day, '', '', '', '', '', 'chat', model, calls, prompt, completion, reserved, 0, 0, 0, refused, null from spending;
drop table spending;
alter table spending_by_account rename to spending;
create index spending_of on spending (run) where run <> '';
-- How much may be used.
create table budgets (
    per text not null, tenant text not null, who text not null, calls integer, tokens integer, money integer,
    millis integer, seal blob,
    primary key (per, tenant, who)
) without rowid;
