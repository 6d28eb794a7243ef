-- What models were asked, what that used, and how much may be.

-- name: spent_lock
-- Of whoever counts: others wait, also those that count another model.
select pg_advisory_xact_lock(7018141438171079014)

-- name: spent
select day, tenant, "user", agent, run, operation, kind, model, calls, prompt, completion, reserved, money, held, millis,
    refused
from spending

-- name: spent_by
{{spent}} where day = %(day)s and tenant = %(tenant)s and "user" = %(user)s and agent = %(agent)s and run = %(run)s
    and operation = %(operation)s and kind = %(kind)s and model = %(model)s

-- name: spent_since
{{spent}} where day >= %(since)s order by day, tenant, "user", agent, run, operation, kind, model

-- name: spent_of_tenant
{{spent}} where tenant = %(name)s

-- name: spent_sum
select coalesce(sum(calls), 0)::bigint, coalesce(sum(prompt + completion + reserved), 0)::bigint,
    coalesce(sum(money + held), 0)::bigint, coalesce(sum(millis), 0)::bigint
from spending

-- name: spent_in_day
{{spent_sum}} where day = %(day)s and (%(tenant)s::text = '' or tenant = %(tenant)s)
    and (%(user)s::text = '' or "user" = %(user)s) and (%(agent)s::text = '' or agent = %(agent)s)
    and (%(operation)s::text = '' or operation = %(operation)s) and (%(kind)s::text = '' or kind = %(kind)s)

-- name: spent_in_run
{{spent_sum}} where run = %(run)s and run <> '' and tenant = %(tenant)s

-- name: put_spent
insert into spending (day, tenant, "user", agent, run, operation, kind, model, calls, prompt, completion, reserved, money, held,
    millis, refused)
values (%(day)s, %(tenant)s, %(user)s, %(agent)s, %(run)s, %(operation)s, %(kind)s, %(model)s, %(calls)s, %(prompt)s,
    %(completion)s, %(reserved)s, %(money)s, %(held)s, %(millis)s, %(refused)s)
on conflict (day, tenant, "user", agent, run, operation, kind, model) do update set calls = excluded.calls,
    prompt = excluded.prompt, completion = excluded.completion, reserved = excluded.reserved, money = excluded.money,
    held = excluded.held, millis = excluded.millis, refused = excluded.refused

-- name: budgets
select per, tenant, who, calls, tokens, money, millis from budgets order by per, tenant, who

-- name: put_budget
insert into budgets (per, tenant, who, calls, tokens, money, millis)
values (%(per)s, %(tenant)s, %(who)s, %(calls)s, %(tokens)s, %(money)s, %(millis)s)
on conflict (per, tenant, who) do update set calls = excluded.calls, tokens = excluded.tokens, money = excluded.money,
    millis = excluded.millis

-- name: drop_budget
delete from budgets where per = %(per)s and tenant = %(tenant)s and who = %(who)s

-- name: drop_budgets_of_tenant
delete from budgets where tenant = %(name)s or (per = 'tenant' and who = %(name)s)
