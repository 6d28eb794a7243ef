-- Canonical: scopes, names, labels, contents, versions, links, journal, tombstones.
-- Derived: words, fields, vectors, pending, views. Beside them: receipts, accesses, working, repeats, namespaces.
-- Times are microseconds since 1970 (UTC).
-- Rows are numbered by the journal line that brought them: a record, content, version or link has the seq of its
-- first line as its id. So ids are never used twice, also after an erasure, and a version's own number is the
-- beginning of its recorded interval. The interval is half open; to_seq null: still believed.

create table meta (name text primary key, value text not null) without rowid;

create table scopes (
    scope integer primary key autoincrement,  -- never used again after an erasure: the journal names it
    tenant text not null, user text not null, agent text not null,
    unique (tenant, user, agent)
);

-- words of our own that repeat: kinds, statuses, sources, link types, actors
create table names (name integer primary key, text text not null unique);

-- words of the users that repeat: conversations, repositories; collected when nothing refers to them
create table labels (label integer primary key, text text not null unique);

create table contents (
    content integer primary key,
    text text not null,
    payload text not null,
    salt blob not null
);

-- a record is its versions: they share id and scope, and `record` is the number of the first of them
create table versions (
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
create index versions_id on versions (id, scope);
create index versions_time on versions (scope, kind, valid_from);
create index versions_key on versions (key, kind, scope) where key is not null;
create index versions_conversation on versions (conversation) where conversation is not null;
create index versions_repository on versions (repository) where repository is not null;

create table links (
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
create index links_source on links (source, type);
create index links_target on links (target, type);

-- record: the one that changed, or where a link starts; other: where it ends. Never content, only its salted digest.
create table journal (
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

create table tombstones (record integer primary key, id text not null, scope integer not null, seq integer not null);
create index tombstones_scope on tombstones (scope, seq);

create table words (content integer primary key, length integer not null, terms blob not null);

create table fields (
    name integer not null, value not null, content integer not null,
    primary key (name, value, content)
) without rowid;
create index fields_content on fields (content);

create table spaces (
    space integer primary key,
    model text not null, version text not null, dimension integer not null,
    active integer not null,
    unique (model, version, dimension)
);

-- vector: 65536 times the journal line that brought it, plus its number among those of that line
create table vectors (
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
create index vectors_content on vectors (scope, space, content);

-- contents that lack vectors in a space from passage `part` on
create table pending (
    content integer not null,
    space integer not null,
    scope integer not null,
    part integer not null,
    primary key (content, space)
) without rowid;

-- terms: the words of the query, eight bytes of hash each
create table receipts (
    receipt integer primary key,
    id text not null unique,
    scope integer not null,
    at integer not null,
    seq integer not null,
    terms blob not null,
    body text not null
);
create index receipts_at on receipts (at);
create index receipts_asked on receipts (scope, terms);
create table shown (record integer not null, receipt integer not null, primary key (record, receipt)) without rowid;
create index shown_receipt on shown (receipt);
create table accesses (record integer primary key, count integer not null, last integer not null);

create table working (
    scope integer not null, conversation text not null, key text not null, value text not null,
    expires_at integer not null,
    primary key (scope, conversation, key)
) without rowid;
create table lists (
    item integer primary key,
    scope integer not null, conversation text not null, name text not null, value text not null,
    expires_at integer not null
);
create index lists_name on lists (scope, conversation, name, item);

-- request: a salt and a salted digest; nothing, when what it wrote was erased
create table repeats (
    scope integer not null, key text not null, request blob not null, at integer not null, answer text not null,
    primary key (scope, key)
) without rowid;

create table namespaces (
    namespace text not null, id text not null, scale real not null, data blob not null, metadata text not null,
    primary key (namespace, id)
) without rowid;
