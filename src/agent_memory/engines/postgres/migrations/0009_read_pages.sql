-- A row of the access log is a page: the lines of one tenant that were written together.
alter table reads rename column at to first;
alter table reads add column last bigint, add column reasons bigint, add column lines text;
update reads set last = first, reasons = (why is not null)::int, lines = jsonb_build_array(jsonb_build_array(first, tenant, "user", agent,
    key, door, operation, to_jsonb(string_to_array(ids, ' ')), shown, why, micros, tokens, money, receipt))::text;
alter table reads alter column last set not null, alter column reasons set not null, alter column lines set not null,
    drop column "user", drop column agent, drop column key, drop column door, drop column operation, drop column ids,
    drop column shown, drop column why, drop column micros, drop column tokens, drop column money, drop column receipt;
