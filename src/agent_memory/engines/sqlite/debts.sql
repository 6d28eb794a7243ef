-- What places outside must still forget.

-- name: attach
insert into places (name) values (?) on conflict do nothing returning place

-- name: seal_place
update places set seal = ? where place = ?

-- name: is_attached
select 1 from places where name = ?

-- name: detach
delete from places where name = ?

-- name: debts_written_off
delete from debts where place in (select place from places where name = ?)

-- name: places
select place from places

-- name: incur
insert or replace into debts (place, tenant, user, agent, id, seq, at, seal) values (?, ?, ?, ?, ?, ?, ?, ?)

-- name: debts_standing
select p.name, count(nullif(d.id, '')), min(d.at), p.error, count(d.id) - count(nullif(d.id, '')) from places p left join debts d on d.place = p.place
group by p.place order by p.name

-- name: debts_owed
select d.tenant, d.user, d.agent, d.id, d.seq from debts d join places p on p.place = d.place where p.name = ?
order by d.id <> '', d.at, d.seq limit ?

-- name: debt_paid
delete from debts where place in (select place from places where name = ?) and tenant = ? and user = ? and agent = ?
and id = ? and seq <= ?

-- name: other_error
select place from places where name = ? and error is not ?

-- name: place_error
update places set error = ?, seal = ? where place = ?
