-- What places outside must still forget.

-- name: is_attached
select exists (select 1 from places where name = %(place)s)

-- name: attach
insert into places (name) values (%(place)s) on conflict do nothing

-- name: detach
delete from places where name = %(place)s

-- name: debts_written_off
delete from debts where place = %(place)s

-- name: incur
-- Every place outside must forget these, of one scope of the tenant that is in.
insert into debts (tenant, whose, place, "user", agent, id, seq, at)
select me(), %(tenant)s, p.name, %(user)s, %(agent)s, g.id, %(seq)s, %(now)s
from places p, unnest(%(ids)s::text[]) as g (id)
on conflict (tenant, place, "user", agent, id) do update set seq = excluded.seq

-- name: incur_tenant
insert into debts (tenant, whose, place, "user", agent, id, seq, at)
select %(number)s, %(tenant)s, p.name, %(user)s, %(agent)s, '', %(seq)s, %(now)s from places p

-- name: debts_standing
select p.name, count(nullif(d.id, '')), min(d.at), p.error, count(d.id) - count(nullif(d.id, ''))
from places p left join debts d on d.place = p.name group by p.name, p.error order by p.name

-- name: debts_owed
select whose, "user", agent, nullif(id, ''), seq from debts
where place = %(place)s order by id <> '', at, seq limit %(limit)s

-- name: debt_paid
delete from debts where whose = %(tenant)s and place = %(place)s and "user" = %(user)s and agent = %(agent)s
and id = %(id)s and seq <= %(seq)s

-- name: hush_places
update places set error = null where position(%(tenant)s in error) > 0

-- name: place_error
update places set error = %(error)s where name = %(place)s and error is distinct from %(error)s
