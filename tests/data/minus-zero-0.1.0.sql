-- Written by 0.1.0: importance, confidence and weight of -0.0, which it sealed as they came and stored as 0.0.
BEGIN TRANSACTION;
CREATE TABLE accessed (
    record integer not null, at integer not null, times integer not null,
    primary key (record, at)
) without rowid;
CREATE TABLE accesses (record integer primary key, count integer not null, last integer not null);
CREATE TABLE contents (
    content integer primary key,
    text text not null,
    payload text not null,
    salt blob not null
);
INSERT INTO "contents" VALUES(2,'not important','{}',X'A2994438D7E28B3914E4355890C740FE');
INSERT INTO "contents" VALUES(3,'not certain','{}',X'08F81F1A0B4BEE5D8CBE223E7D2994A9');
INSERT INTO "contents" VALUES(4,'neither','{}',X'5FEE881C2657C3A98271177D1D488608');
INSERT INTO "contents" VALUES(6,'as usual','{}',X'B705DA9358B265F3D7E51291A5750ECE');
CREATE TABLE fields (
    name integer not null, value not null, content integer not null,
    primary key (name, value, content)
) without rowid;
CREATE TABLE journal (
    seq integer primary key,
    at integer not null,
    operation integer not null,
    scope integer not null,
    record integer,
    other integer,
    actor integer not null,
    reason text,
    digest blob not null,
    chain blob not null
);
INSERT INTO "journal" VALUES(1,0,7,0,NULL,NULL,1,'hashed@1/4',X'',X'80031AB4245742586D00BCEDB0CB5C45DCA2051BFE0E776F8C10FAA2D38EEB39');
INSERT INTO "journal" VALUES(2,1794790793582139,1,1,2,NULL,2,NULL,X'270BDB0ED37FA25F6DE15C47A888653732C4613081B81227401349AEE5B0B344',X'04FC28EB9FE80BF23975D44AAC6BF70B7659F0BBD16523E746FF0F7DA78F1E22');
INSERT INTO "journal" VALUES(3,1794790793588916,1,1,3,NULL,2,NULL,X'CB15EC51350D48404B70B5A9497AC8EC559F34A89200DF71137FAAF314CE8A61',X'C5D0325BA755CBB44BBEB4F65969FAF88881F0B5AC31037589254C38D48D9C88');
INSERT INTO "journal" VALUES(4,1794790793590307,1,1,4,NULL,2,NULL,X'E67A509A6D7FA3F4A20B31DED9613DADBC2E194BF97860F93646812EE501410B',X'63A8D2854ED5691F0CCD125B653C3348EA576D644397F238E6EE126032EDC8FC');
INSERT INTO "journal" VALUES(5,1794790793593833,3,1,2,3,2,NULL,X'34FE3CEAB348A486A2D619C5DD28CE8D9C5779D196642E7B532788BB3A04E2C8',X'220EA93C8BA00F24C7408DACB07EE689739EA59F23EAAB0538AB2A4D141CA998');
INSERT INTO "journal" VALUES(6,1794790793595048,1,1,6,NULL,2,NULL,X'B06D3A10EC99E49140D4C604C966DA0AA78F60CE75EBB913E65C8840E53F47B0',X'20BBC01349F7D187962E822A58DB6F057535E35003AC9DB7418D76D73E786E58');
CREATE TABLE keys (
    id text primary key, digest blob not null, label text not null, tenant text not null, user text,
    permissions text not null, created_at integer not null, expires_at integer, ended_at integer
) without rowid;
CREATE TABLE labels (label integer primary key, text text not null unique);
CREATE TABLE links (
    link integer primary key,
    source integer not null,
    target integer not null,
    type integer not null,
    scope integer not null,
    weight real not null,
    properties text not null,
    salt blob not null,
    to_seq integer
);
INSERT INTO "links" VALUES(5,2,3,6,1,0.0,'{}',X'E4E814405B4D668FCFA43F7498865A2E',NULL);
CREATE TABLE lists (
    item integer primary key,
    scope integer not null, conversation text not null, name text not null, value text not null,
    expires_at integer not null
);
CREATE TABLE meta (name text primary key, value text not null) without rowid;
CREATE TABLE names (name integer primary key, text text not null unique);
INSERT INTO "names" VALUES(1,'agent-memory');
INSERT INTO "names" VALUES(2,'ada');
INSERT INTO "names" VALUES(3,'observation');
INSERT INTO "names" VALUES(4,'active');
INSERT INTO "names" VALUES(5,'user');
INSERT INTO "names" VALUES(6,'about');
CREATE TABLE namespaces (
    namespace text not null, id text not null, scale real not null, data blob not null, metadata text not null,
    primary key (namespace, id)
) without rowid;
CREATE TABLE pending (
    content integer not null,
    space integer not null,
    scope integer not null,
    part integer not null,
    primary key (content, space)
) without rowid;
CREATE TABLE receipts (
    receipt integer primary key,
    id text not null unique,
    scope integer not null,
    at integer not null,
    seq integer not null,
    terms blob not null,
    body text not null
);
CREATE TABLE refusals (
    number integer primary key, at integer not null, tenant text not null, user text not null,
    operation text not null, reason text not null, key text
);
CREATE TABLE repeats (
    scope integer not null, key text not null, request blob not null, at integer not null, answer text not null,
    primary key (scope, key)
) without rowid;
CREATE TABLE scopes (
    scope integer primary key autoincrement,  -- never used again after an erasure: the journal names it
    tenant text not null, user text not null, agent text not null,
    unique (tenant, user, agent)
);
INSERT INTO "scopes" VALUES(1,'default','ada','*');
CREATE TABLE shown (record integer not null, receipt integer not null, primary key (record, receipt)) without rowid;
CREATE TABLE spaces (
    space integer primary key,
    model text not null, version text not null, dimension integer not null,
    active integer not null,
    unique (model, version, dimension)
);
INSERT INTO "spaces" VALUES(1,'hashed','1',4,1);
CREATE TABLE tombstones (record integer primary key, id text not null, scope integer not null, seq integer not null);
CREATE TABLE vectors (
    vector integer primary key,
    space integer not null,
    scope integer not null,
    content integer not null,
    part integer not null,
    start integer not null,
    "end" integer not null,
    scale real not null,
    data blob not null
);
INSERT INTO "vectors" VALUES(131072,1,1,2,0,0,100,5.56776983531441244795e-03,X'7F00007F');
INSERT INTO "vectors" VALUES(196608,1,1,3,0,0,100,5.56776983531441244795e-03,X'7F00007F');
INSERT INTO "vectors" VALUES(262144,1,1,4,0,0,100,7.87401574803149595371e-03,X'7F000000');
INSERT INTO "vectors" VALUES(393216,1,1,6,0,0,100,5.56776983531441244795e-03,X'7F007F00');
CREATE TABLE versions (
    version integer primary key,
    record integer not null,
    id text not null,
    number integer not null,
    content integer not null,
    scope integer not null,
    kind integer not null,
    key text,
    conversation integer,
    position integer,
    repository integer,
    status integer not null,
    importance real not null,
    confidence real not null,
    source integer not null,
    valid_from integer not null,
    valid_to integer,
    to_seq integer
);
INSERT INTO "versions" VALUES(2,2,'a',1,2,1,3,NULL,NULL,NULL,NULL,4,0.0,1.0,5,1794790793582139,NULL,NULL);
INSERT INTO "versions" VALUES(3,3,'b',1,3,1,3,NULL,NULL,NULL,NULL,4,0.5,0.0,5,1794790793588916,NULL,NULL);
INSERT INTO "versions" VALUES(4,4,'c',1,4,1,3,NULL,NULL,NULL,NULL,4,0.0,0.0,5,1794790793590307,NULL,NULL);
INSERT INTO "versions" VALUES(6,6,'d',1,6,1,3,NULL,NULL,NULL,NULL,4,0.5,1.0,5,1794790793595048,NULL,NULL);
CREATE TABLE words (content integer primary key, length integer not null, terms blob not null);
INSERT INTO "words" VALUES(2,1,X'D01207309A9264FE01');
INSERT INTO "words" VALUES(3,1,X'D5B4967E716DBADD01');
INSERT INTO "words" VALUES(4,1,X'8EF3356680374EAB01');
INSERT INTO "words" VALUES(6,1,X'C71321872E13FE3F01');
CREATE TABLE working (
    scope integer not null, conversation text not null, key text not null, value text not null,
    expires_at integer not null,
    primary key (scope, conversation, key)
) without rowid;
CREATE INDEX versions_id on versions (id, scope);
CREATE INDEX versions_time on versions (scope, kind, valid_from);
CREATE INDEX versions_key on versions (key, kind, scope) where key is not null;
CREATE INDEX versions_conversation on versions (conversation) where conversation is not null;
CREATE INDEX versions_repository on versions (repository) where repository is not null;
CREATE INDEX links_source on links (source, type);
CREATE INDEX links_target on links (target, type);
CREATE INDEX tombstones_scope on tombstones (scope, seq);
CREATE INDEX fields_content on fields (content);
CREATE INDEX vectors_content on vectors (scope, space, content);
CREATE INDEX receipts_at on receipts (at);
CREATE INDEX receipts_asked on receipts (scope, terms);
CREATE INDEX shown_receipt on shown (receipt);
CREATE INDEX lists_name on lists (scope, conversation, name, item);
CREATE INDEX accessed_at on accessed (at);
CREATE INDEX refusals_of on refusals (tenant, number);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('scopes',1);
COMMIT;
PRAGMA application_id = 1634159973;
PRAGMA user_version = 3;
