-- A row of the access log is a page: the lines of one tenant that were written together.
-- Views of kinds show only what is active: they are made again by whoever opens the tables next.
do $$
declare
    one text;
begin
    for one in select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'record_status'
        where c.relkind = 'v' and c.relnamespace = 'agent_memory'::regnamespace
    loop
        execute format('drop view %I', one);
    end loop;
end $$;
alter table reads rename column at to first;
alter table reads add column last bigint, add column reasons bigint, add column lines text;
update reads set last = first, reasons = (why is not null)::int, lines = jsonb_build_array(jsonb_build_array(first, tenant, "user", agent,
    key, door, operation, to_jsonb(string_to_array(ids, ' ')), shown, why, micros, tokens, money, receipt))::text;
alter table reads alter column last set not null, alter column reasons set not null, alter column lines set not null,
    drop column "user", drop column agent, drop column key, drop column door, drop column operation, drop column ids,
    drop column shown, drop column why, drop column micros, drop column tokens, drop column money, drop column receipt;
