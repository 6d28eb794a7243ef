-- What models were asked on a day (UTC), and what that used. Tokens are reserved before a call is made.
create table spending (
    day text not null, model text not null, calls integer not null, prompt integer not null, completion integer not null,
    reserved integer not null, refused integer not null, seal blob,
    primary key (day, model)
) without rowid;
