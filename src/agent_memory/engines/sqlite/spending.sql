-- What models were asked, and what that used.

-- name: spent
select day, model, calls, prompt, completion, reserved, refused from spending

-- name: spent_on
{{spent}} where day = ?

-- name: spent_since
{{spent}} where day >= ? order by day, model

-- name: put_spent
insert or replace into spending (day, model, calls, prompt, completion, reserved, refused, seal)
values (?, ?, ?, ?, ?, ?, ?, ?)
