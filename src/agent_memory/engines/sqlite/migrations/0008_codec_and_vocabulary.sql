-- codec: how the text is encoded, which is a blob then; null: it is the text as it stands. Seals are over the text.
alter table contents add column codec text;

-- How words are made. The active one is written; rows of the others are those that a rebuild has still to make again.
-- A rebuild has a number of its own, also in the same words.
create table vocabularies (
    vocabulary integer primary key,
    name text not null, digest text not null,
    active integer not null,
    seal blob
);
alter table words add column vocabulary integer not null default 0;
insert into vocabularies (vocabulary, name, digest, active) select 0, 'words-1', '', 1 where exists (select 1 from words);
