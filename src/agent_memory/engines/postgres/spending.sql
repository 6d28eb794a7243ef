-- What models were asked, and what that used.

-- name: spent_lock
-- Of whoever counts: others wait, also those that count another model.
select pg_advisory_xact_lock(7018141438171079014)

-- name: spent
select day, model, calls, prompt, completion, reserved, refused from spending

-- name: spent_on
{{spent}} where day = %(day)s

-- name: spent_since
{{spent}} where day >= %(since)s order by day, model

-- name: put_spent
insert into spending (day, model, calls, prompt, completion, reserved, refused)
values (%(day)s, %(model)s, %(calls)s, %(prompt)s, %(completion)s, %(reserved)s, %(refused)s)
on conflict (day, model) do update set calls = excluded.calls, prompt = excluded.prompt,
    completion = excluded.completion, reserved = excluded.reserved, refused = excluded.refused
