-- Embedding spaces, and what waits for their vectors.

-- name: spaces
select space, model, version, dimension, active from spaces order by active desc

-- name: adopted
select exists (select 1 from journal indexed by journal_adopted
    where tenant = 0 and operation = 7 and number > ? and reason = ?)

-- name: pend_everything
insert into pending (content, space, scope, part)
select distinct v.content, :space, v.scope, 0 from versions v
where v.content not in (select content from vectors where space = :space)
and v.content not in (select content from pending where space = :space)

-- name: pend_again
insert into pending (content, space, scope, part) select distinct content, ?, scope, 0 from versions
where content not in (select value from json_each(?))

-- name: brought
select vector, space, scope, content, part, start, "end", scale, data, seal from vectors
where space = ? and start = 0 and "end" = 0

-- name: delete_vectors
delete from vectors where scope = ? and space = ? and content = ?

-- name: sample
select s.tenant, j.number, cast(c.text as blob), c.codec, v.part, v.start, v."end", v.scale, v.data
from vectors v join contents c on c.content = v.content join journal j on j.line = v.content
join scopes s on s.scope = v.scope
where v.vector in (select vector from vectors where space = ? and seal is not null and start < "end"
    and typeof(scale) = 'real' and typeof(data) = 'blob'
    order by random() limit ?)

-- name: vectors_of
select j.number, x.part, x.start, x."end", x.scale, x.data
from journal j join versions v on v.version = j.line
join vectors x on x.scope = v.scope and x.space = :space and x.content = v.content
where j.tenant = :tenant and j.number in (select value from json_each(:handles))
and +v.scope in (select value from json_each(:scopes))
and not exists (select 1 from pending p where p.content = v.content and p.space = :space)
order by j.number, x.part

-- name: unembedded
select s.tenant, j.number, cast(c.text as blob), c.codec, p.part
from pending p cross join contents c on c.content = p.content
cross join journal j on j.line = p.content cross join scopes s on s.scope = p.scope
where p.space = ? and {whose} order by p.content desc limit ?

-- name: newest_pending
select s.tenant from pending p cross join scopes s on s.scope = p.scope where p.space = ? order by p.content desc limit 1

-- name: pending_inside
p.scope in ({scopes})

-- name: count_pending
select count(*) from pending p where p.space = ? and {whose}

-- name: go_on_pending
update pending set part = ? where content = ? and space = ?

-- name: delete_pending
delete from pending where content = ? and space = ?

-- name: unpend
delete from pending where space = ?

-- name: next_space
select coalesce(max(space), 0) + 1 from spaces

-- name: space
select space from spaces where model = ? and version = ? and dimension = ?

-- name: put_space
insert or replace into spaces (space, model, version, dimension, active, seal) values (?, ?, ?, ?, ?, ?)

-- name: delete_other_vectors
delete from vectors where space <> ?

-- name: delete_other_pending
delete from pending where space <> ?

-- name: delete_other_spaces
delete from spaces where space <> ?
