-- What came from a file of 0.1 by `migrate`: the value that a line had in the one journal of all tenants, and the number
-- by which that chained the scope.
alter table journal add column old bytea;
alter table scopes add column old bigint;
create index journal_old on journal (seq) where old is not null;

-- Whose desk it is and what a list is called, in words. Null: it was put there before, and cannot be told to another store.
alter table working add column conversation text collate "C";
alter table lists add column conversation text collate "C", add column name text collate "C";
