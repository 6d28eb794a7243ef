-- The last journal line about a scope: what is held of it in memory is current if it was read since. Null: there was none
-- since this column came, and only those who know it hold anything. It is sealed with the row when it is set.
alter table scopes add column last integer;
create index links_scope on links (scope);
