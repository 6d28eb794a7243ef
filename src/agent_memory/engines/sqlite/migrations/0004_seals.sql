-- Rows that change without a journal line carry a checksum of their other columns; null: an older version wrote them.
-- Keys have none: each change of a key is a line of the journal, and those that are there get theirs now.
alter table meta add column seal blob;
alter table scopes add column seal blob;
alter table spaces add column seal blob;
alter table vectors add column seal blob;
alter table receipts add column seal blob;
alter table accesses add column seal blob;
alter table accessed add column seal blob;
alter table working add column seal blob;
alter table lists add column seal blob;
alter table repeats add column seal blob;
alter table namespaces add column seal blob;
alter table refusals add column seal blob;
