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
insert into debts (tenant, place, "user", agent, id, seq, at)
select me(), p.name, %(user)s, %(agent)s, g.id, %(seq)s, %(now)s from places p, unnest(%(ids)s::text[]) as g (id)
on conflict (tenant, place, "user", agent, id) do update set seq = excluded.seq

-- name: debts_standing
select p.name, count(d.id), min(d.at), p.error from places p left join debts d on d.place = p.name
group by p.name, p.error order by p.name

-- name: debts_owed
select w.name, d."user", d.agent, d.id, d.seq from debts d join tenants w on w.tenant = d.tenant
where d.place = %(place)s order by d.at, d.seq limit %(limit)s

-- name: debt_paid
delete from debts d using tenants w where w.name = %(tenant)s and d.tenant = w.tenant and d.place = %(place)s
and d."user" = %(user)s and d.agent = %(agent)s and d.id = %(id)s and d.seq <= %(seq)s

-- name: place_error
update places set error = %(error)s where name = %(place)s and error is distinct from %(error)s
