-- Receipts, and what they say was accessed.

-- name: anything_expired
select exists (select 1 from receipts where at < :oldest) or exists (select 1 from accessed where at < :oldest)

-- name: asked_between
select exists (select 1 from receipts where at between ? and ?)

-- name: receipt
select body from receipts where id = ? and scope in ({scopes})

-- name: receipts_since
select r.id, s.tenant, s.user, s.agent, r.at, r.body from receipts r join scopes s on s.scope = r.scope
where {whose} and r.at >= :moment order by r.at desc, r.receipt desc limit :limit

-- name: of_tenant
s.tenant = :tenant

-- name: of_scopes
r.scope in ({scopes})

-- name: next_receipt
select coalesce(max(receipt), 0) + 1 from receipts

-- name: insert_receipt
insert into receipts (receipt, id, scope, at, seq, terms, body, seal) values (?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_shown
insert into shown (record, receipt) values (?, ?)

-- name: record_of_version
select v.record from journal j join versions v on v.version = j.line where j.tenant = ? and j.number = ?

-- name: accesses_of
select v.record, a.count, a.last from versions v left join accesses a on a.record = v.record
where v.id = ? and v.scope = ? limit 1

-- name: accesses
select record, count, last, seal from accesses where record = ?

-- name: put_accesses
insert or replace into accesses (record, count, last, seal) values (?, ?, ?, ?)

-- name: accessed
select record, at, times, seal from accessed where record = ? and at = ?

-- name: put_accessed
insert or replace into accessed (record, at, times, seal) values (?, ?, ?, ?)

-- name: accessed_until
select coalesce(sum(times) filter (where at > :until), 0), max(at) filter (where at <= :until)
from accessed where record = :record

-- name: expire_receipts
delete from receipts where at < ?

-- name: expire_shown
delete from shown where receipt not in (select receipt from receipts)

-- name: expire_accessed
delete from accessed where at < ?

-- name: accessed_since
select value from meta where name = 'accessed'

-- name: keep_meta
insert or ignore into meta (name, value, seal) values (?, ?, ?)

-- name: put_meta
insert or replace into meta (name, value, seal) values (?, ?, ?)

-- name: last_erasure
select number from journal where line = (select max(line) from tombstones where scope = ?)
