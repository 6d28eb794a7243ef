-- What models were asked, what that used, and how much may be.

-- name: spent
select day, tenant, user, agent, run, operation, kind, model, calls, prompt, completion, reserved, money, held, millis, refused
from spending

-- name: spent_by
{{spent}} where day = ? and tenant = ? and user = ? and agent = ? and run = ? and operation = ? and kind = ? and model = ?

-- name: spent_since
{{spent}} where day >= ? order by day, tenant, user, agent, run, operation, kind, model

-- name: spent_of_tenant
{{spent}} where tenant = ?

-- name: spent_sum
select coalesce(sum(calls), 0), coalesce(sum(prompt + completion + reserved), 0), coalesce(sum(money + held), 0),
    coalesce(sum(millis), 0)
from spending

-- name: spent_in_day
{{spent_sum}} where day = :day and (:tenant = '' or tenant = :tenant) and (:user = '' or user = :user)
    and (:agent = '' or agent = :agent) and (:operation = '' or operation = :operation) and (:kind = '' or kind = :kind)

-- name: spent_in_run
{{spent_sum}} where run = :run and run <> '' and tenant = :tenant

-- name: put_spent
insert or replace into spending (day, tenant, user, agent, run, operation, kind, model, calls, prompt, completion, reserved,
    money, held, millis, refused, seal)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: budgets
select per, tenant, who, calls, tokens, money, millis from budgets order by per, tenant, who

-- name: put_budget
insert or replace into budgets (per, tenant, who, calls, tokens, money, millis, seal) values (?, ?, ?, ?, ?, ?, ?, ?)

-- name: drop_budget
delete from budgets where per = ? and tenant = ? and who = ?

-- name: drop_budgets_of_tenant
delete from budgets where tenant = :tenant or (per = 'tenant' and who = :tenant)
